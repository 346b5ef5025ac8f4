#include "shared/telemetry/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "shared/base/redact.h"
#include "shared/base/terminal_text.h"

namespace acl {
namespace {

struct State {
  std::atomic<LogLevel> level{LogLevel::kInfo};
  std::mutex mutex;
  std::function<void(LogLevel, const std::string&)> sink;
  std::function<bool(std::string_view)> is_secret;
  std::shared_ptr<spdlog::sinks::stderr_sink_mt> stderr_sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();

  State() { stderr_sink->set_formatter(std::make_unique<spdlog::pattern_formatter>("%v")); }
};

// Never destroyed: threads may log while the process ends.
State& GetState() {
  static State& state = *new State;
  return state;
}

bool Secret(std::string_view key) {
  const auto& extra = GetState().is_secret;
  return IsSecretName(key) || (extra && extra(key));
}

void Mask(Json& value) {
  if (value.is_string()) {
    value = RedactText(value.get_ref<const std::string&>());
  } else if (value.is_array()) {
    for (auto& item : value) Mask(item);
  } else if (value.is_object()) {
    for (auto it = value.begin(); it != value.end(); ++it) {
      if (Secret(it.key())) {
        it.value() = std::string(kRedacted);
      } else {
        Mask(it.value());
      }
    }
  }
}

std::string Dump(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

void Append(std::string& line, const LogField& field) {
  Json value = field.value;
  if (Secret(field.key)) {
    value = std::string(kRedacted);
  } else {
    Mask(value);
  }
  line += ',';
  line += Dump(Json(field.key));
  line += ':';
  line += Dump(value);
}

spdlog::level::level_enum SpdLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarn: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
    case LogLevel::kOff: break;
  }
  return spdlog::level::off;
}

}  // namespace

std::string_view LogLevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "debug";
    case LogLevel::kInfo: return "info";
    case LogLevel::kWarn: return "warn";
    case LogLevel::kError: return "error";
    case LogLevel::kOff: break;
  }
  return "off";
}

std::optional<LogLevel> ParseLogLevel(std::string_view name) {
  for (auto level : {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarn, LogLevel::kError, LogLevel::kOff}) {
    if (name == LogLevelName(level)) return level;
  }
  if (name == "warning") return LogLevel::kWarn;
  return std::nullopt;
}

std::string FormatLogRecord(WallTime ts, LogLevel level, std::string_view component, std::string_view message,
                            const std::vector<LogField>& bound, std::initializer_list<LogField> fields) {
  std::string line = R"({"ts":")" + FormatWallTime(ts) + R"(","level":")" + std::string(LogLevelName(level)) + R"(","msg":)";
  line += Dump(Json(RedactText(message)));
  line += R"(,"component":)";
  line += Dump(Json(std::string(component)));
  for (const auto& field : bound) Append(line, field);
  for (const auto& field : fields) Append(line, field);
  line += '}';
  return TerminalJson(std::move(line));  // a log is read on terminals too
}

void SetLogLevel(LogLevel level) { GetState().level.store(level, std::memory_order_relaxed); }
LogLevel GetLogLevel() { return GetState().level.load(std::memory_order_relaxed); }

void SetLogSink(std::function<void(LogLevel, const std::string&)> sink) {
  std::lock_guard lock(GetState().mutex);
  GetState().sink = std::move(sink);
}

void SetLogRedaction(std::function<bool(std::string_view)> is_secret) { GetState().is_secret = std::move(is_secret); }
void FlushLog() { GetState().stderr_sink->flush(); }

Logger Logger::With(Fields fields) const {
  Logger child = *this;
  child.bound_.insert(child.bound_.end(), fields.begin(), fields.end());
  return child;
}

void Logger::Write(LogLevel level, std::string_view message, Fields fields) const {
  if (level < GetLogLevel() || level == LogLevel::kOff) return;
  State& state = GetState();
  const std::string line = FormatLogRecord(SystemClock().Wall(), level, component_, message, bound_, fields);
  {
    std::lock_guard lock(state.mutex);
    if (state.sink) {
      state.sink(level, line);
      return;
    }
  }
  state.stderr_sink->log(spdlog::details::log_msg(component_, SpdLevel(level), line));
}

}  // namespace acl
