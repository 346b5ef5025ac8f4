#pragma once
// Structured logs: one JSON object a line on stderr: ts, level, msg, component, then the fields in order. Field names that people
// search for are in names.h-style words: run_id, step, attempt, token, trace_id, worker, queue, error.
//
//   Logger log("claimer");
//   Logger run_log = log.With({{"run_id", id.ToString()}, {"token", token.value}});
//   run_log.Info("step completed", {{"step", step_id}, {"attempt", 2}, {"duration_ms", ms}});
//
// Safe from any thread. Values under secret names are masked, as are passwords inside texts (shared/base/redact.h); bytes that are
// not UTF-8 become U+FFFD, so a line always parses.

#include <concepts>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/ids.h"
#include "shared/base/json.h"
#include "shared/base/result.h"

namespace acl {

enum class LogLevel { kDebug, kInfo, kWarn, kError, kOff };
std::string_view LogLevelName(LogLevel level);                 // "debug" "info" "warn" "error" "off"
std::optional<LogLevel> ParseLogLevel(std::string_view name);  // "warning" too

// A field: text, whole number, decimal number, truth value, an id, a token, an error or any JSON.
struct LogField {
  std::string key;
  Json value;

  LogField(std::string_view k, std::string_view v) : key(k), value(std::string(v)) {}
  LogField(std::string_view k, const char* v) : key(k), value(std::string(v)) {}
  LogField(std::string_view k, const std::string& v) : key(k), value(v) {}
  LogField(std::string_view k, bool v) : key(k), value(v) {}
  template <class Number>
  requires(std::integral<Number> && !std::same_as<Number, bool>) LogField(std::string_view k, Number v) : key(k), value(v) {}
  LogField(std::string_view k, double v) : key(k), value(v) {}
  LogField(std::string_view k, Json v) : key(k), value(std::move(v)) {}
  LogField(std::string_view k, Token v) : key(k), value(v.value) {}
  template <class Tag>
  LogField(std::string_view k, const Id<Tag>& v) : key(k), value(v.ToString()) {}
  LogField(std::string_view k, const Error& v) : key(k), value(std::string(CodeName(v.code)) + ": " + v.message) {}
};

// One record as its line, without the newline. Pure.
std::string FormatLogRecord(WallTime ts, LogLevel level, std::string_view component, std::string_view message,
                            const std::vector<LogField>& bound, std::initializer_list<LogField> fields);

// What is below is not written. Info until set.
void SetLogLevel(LogLevel level);
LogLevel GetLogLevel();
// Where lines go instead of stderr (a file of `./dev up`, a test's vector); empty = stderr again. The sink is called under a lock.
void SetLogSink(std::function<void(LogLevel, const std::string& line)> sink);
// A further rule by key name, asked besides IsSecretName: true = the value is masked. Set before threads start.
void SetLogRedaction(std::function<bool(std::string_view key)> is_secret);
// Waits until what was written is out.
void FlushLog();

class Logger {
 public:
  using Fields = std::initializer_list<LogField>;

  explicit Logger(std::string component) : component_(std::move(component)) {}

  // A logger that adds these fields to every record.
  Logger With(Fields fields) const;

  void Debug(std::string_view message, Fields fields = {}) const { Write(LogLevel::kDebug, message, fields); }
  void Info(std::string_view message, Fields fields = {}) const { Write(LogLevel::kInfo, message, fields); }
  void Warn(std::string_view message, Fields fields = {}) const { Write(LogLevel::kWarn, message, fields); }
  void Error(std::string_view message, Fields fields = {}) const { Write(LogLevel::kError, message, fields); }
  void Write(LogLevel level, std::string_view message, Fields fields) const;

 private:
  std::string component_;
  std::vector<LogField> bound_;
};

}  // namespace acl
