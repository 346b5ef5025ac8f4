#include "cli/session.h"

#include "cli/format.h"
#include "shared/base/read_file.h"
#include "shared/base/trace_context.h"
#include "shared/capability/standard.h"
#include "shared/config/settings.h"
#include "shared/kernel/subject_part.h"
#include "shared/objectstore/open_store.h"

namespace acl::cli {

int ExitCodeOf(Code code) {
  switch (code) {
    case Code::kInvalid: return kExitUsage;
    case Code::kNotFound: return kExitNotFound;
    case Code::kDenied: return kExitDenied;
    case Code::kConflict: return kExitConflict;
    case Code::kTimeout: return kExitTimeout;
    default: return kExitFailure;
  }
}

void Session::Fail(const Error& error) { Fail(ExitCodeOf(error.code), error.message); }

void Session::Fail(int code, const Shown& message) {
  Note("airun: " + message);
  exit_code = code;
}

void Session::Note(const Shown& message) { environment.err << message.bytes() << "\n"; }
void Session::Progress(const Shown& line) { environment.err << "\r" << line.bytes() << std::flush; }
void Session::Print(const Shown& text) { environment.out << text.bytes() << "\n"; }
void Session::Write(const Shown& text) { environment.out << text.bytes(); }
void Session::PrintJson(const Json& value) {
  environment.out << TerminalJson(value.dump(2, ' ', false, Json::error_handler_t::replace)) << "\n";
}
void Session::PrintJsonLine(const Json& value) { environment.out << TerminalJson(DumpJson(value)) << "\n"; }
void Session::WriteBytes(const std::string& bytes) { environment.out << (environment.out_is_terminal ? TerminalText(bytes) : bytes); }
void Session::Flush() { environment.out.flush(); }

void Session::ClearScreen() {
  if (environment.out_is_terminal) environment.out << "\033[H\033[2J";
}

Shown Session::Paint(Colour colour, const std::string& text) const {
  bool on = environment.out_is_terminal && environment.environment("TERM") != "dumb";
  if (!environment.environment("FORCE_COLOR").empty()) on = true;
  if (options.no_color || !environment.environment("NO_COLOR").empty() || json()) on = false;
  static constexpr const char* kCodes[] = {"", "31", "32", "33", "34", "2"};
  return Shown(on ? kCodes[static_cast<int>(colour)] : "", text);
}

std::string Session::DatabaseUrl() const {
  if (!options.database_url.empty()) return options.database_url;
  const std::string from_environment = environment.environment("ACL_DATABASE_URL");
  return from_environment.empty() ? Settings{}.database_url : from_environment;
}

Result<std::shared_ptr<S3Store>> Session::Objects() {
  static const SystemClock clock;
  std::map<std::string, std::string> values;
  for (const SettingInfo& setting : SettingsOf(Program::kCli)) {
    const std::string value = setting.name.starts_with("s3_") ? environment.environment(setting.environment) : "";
    if (!value.empty()) values[setting.environment] = value;
  }
  auto parsed = ParseSettings(Program::kCli, {}, values);
  if (!parsed) return parsed.error();
  return OpenObjectStore(parsed->settings, clock, nullptr);
}

Result<ApiClient*> Session::Api() {
  if (api_) return api_.get();
  std::string server = options.server.empty() ? environment.environment("ACL_SERVER") : options.server;
  if (server.empty()) server = Settings{}.server;
  while (server.ends_with('/')) server.pop_back();
  if (!server.starts_with("http://") && !server.starts_with("https://"))
    return Error{Code::kInvalid, "the server '" + server + "' is no URL; write http://HOST:PORT (--server or ACL_SERVER)"};
  std::string key = environment.environment("ACL_API_KEY");
  if (!options.api_key_file.empty()) {
    auto text = ReadFile(options.api_key_file, 64 << 10);
    if (!text) return Error{Code::kInvalid, "the API key file: " + text.message()};
    key = text->substr(0, text->find('\n'));
    while (!key.empty() && std::isspace(static_cast<unsigned char>(key.back()))) key.pop_back();
    if (key.empty()) return Error{Code::kInvalid, "the API key file " + options.api_key_file + " holds no key in its first line"};
  }
  // Who calls airun within a trace says so in its environment, as OpenTelemetry's command line tools do.
  std::string traceparent = environment.environment("TRACEPARENT");
  if (!ParseTraceparent(traceparent)) traceparent.clear();
  api_ = std::make_unique<ApiClient>(environment.connect(server), server, key, traceparent);
  return api_.get();
}

Result<std::string> Session::RunId(const std::string& text) {
  if (const auto whole = SubjectId::Parse(text)) return whole->ToString();
  if (auto part = SubjectPart(text)) return *part;
  return Error{Code::kInvalid,
               "'" + text + "' is no run id: write the id or any part of it, at least 6 hex digits (airun workflow list shows them)"};
}

const CapabilityRegistry& Session::Capabilities() {
  if (!capabilities_) {
    capabilities_ = std::make_unique<CapabilityRegistry>();
    RegisterStandardCapabilities(*capabilities_, CapabilityConfig{});
  }
  return *capabilities_;
}

Session::Colour StatusColour(const std::string& status) {
  if (status == "COMPLETED" || status == "ok" || status == "alive") return Session::Colour::kGreen;
  if (status == "FAILED" || status == "ROLLED_BACK" || status == "QUARANTINED" || status == "UNCERTAIN" || status == "dead" ||
      status == "lost")
    return Session::Colour::kRed;
  if (status == "PAUSED" || status == "RETRY_WAIT" || status == "WAITING" || status == "CANCELLED" || status == "warning")
    return Session::Colour::kYellow;
  if (status == "RUNNING" || status == "leased") return Session::Colour::kBlue;
  return Session::Colour::kNone;
}

}  // namespace acl::cli
