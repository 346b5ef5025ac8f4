#include "cli/session.h"

#include <fstream>

#include "cli/format.h"
#include "shared/base/trace_context.h"
#include "shared/capability/standard.h"
#include "shared/config/settings.h"
#include "shared/objectstore/open_store.h"

namespace acl::cli {

int ExitCodeOf(Code code) {
  switch (code) {
    case Code::kNotFound: return kExitNotFound;
    case Code::kDenied: return kExitDenied;
    case Code::kConflict: return kExitConflict;
    case Code::kTimeout: return kExitTimeout;
    default: return kExitFailure;
  }
}

void Session::Fail(const Error& error) { Fail(ExitCodeOf(error.code), error.message); }

void Session::Fail(int code, const std::string& message) {
  world.err << "airun: " << message << "\n";
  exit_code = code;
}

void Session::Note(const std::string& message) { world.err << message << "\n"; }
void Session::Print(const std::string& text) { world.out << text << "\n"; }
void Session::PrintJson(const Json& value) { world.out << value.dump(2, ' ', false, Json::error_handler_t::replace) << "\n"; }

std::string Session::Paint(Colour colour, const std::string& text) const {
  bool on = world.out_is_terminal && world.environment("TERM") != "dumb";
  if (!world.environment("FORCE_COLOR").empty()) on = true;
  if (options.no_color || !world.environment("NO_COLOR").empty() || json()) on = false;
  static constexpr const char* kCodes[] = {"", "31", "32", "33", "34", "2"};
  if (!on || colour == Colour::kNone || text.empty()) return text;
  return std::string("\033[") + kCodes[static_cast<int>(colour)] + "m" + text + "\033[0m";
}

std::string Session::DatabaseUrl() const {
  if (!options.database_url.empty()) return options.database_url;
  const std::string from_environment = world.environment("ACL_DATABASE_URL");
  return from_environment.empty() ? Settings{}.database_url : from_environment;
}

Result<std::shared_ptr<S3Store>> Session::Objects() {
  static const SystemClock clock;
  std::map<std::string, std::string> environment;
  for (const SettingInfo& setting : SettingsOf(Program::kCli)) {
    const std::string value = setting.name.starts_with("s3_") ? world.environment(setting.environment) : "";
    if (!value.empty()) environment[setting.environment] = value;
  }
  auto parsed = ParseSettings(Program::kCli, {}, environment);
  if (!parsed) return parsed.error();
  return OpenObjectStore(parsed->settings, clock, nullptr);
}

Result<ApiClient*> Session::Api() {
  if (api_) return api_.get();
  std::string server = options.server.empty() ? world.environment("ACL_SERVER") : options.server;
  if (server.empty()) server = Settings{}.server;
  while (server.ends_with('/')) server.pop_back();
  if (!server.starts_with("http://") && !server.starts_with("https://"))
    return Error{Code::kInvalid, "the server '" + server + "' is no URL; write http://HOST:PORT (--server or ACL_SERVER)"};
  std::string key = world.environment("ACL_API_KEY");
  if (!options.api_key_file.empty()) {
    std::ifstream in(options.api_key_file);
    if (!in) return Error{Code::kInvalid, "cannot read the API key file " + options.api_key_file};
    std::getline(in, key);
    while (!key.empty() && std::isspace(static_cast<unsigned char>(key.back()))) key.pop_back();
    if (key.empty()) return Error{Code::kInvalid, "the API key file " + options.api_key_file + " holds no key in its first line"};
  }
  // Who calls airun within a trace says so in its environment, as OpenTelemetry's command line tools do.
  std::string traceparent = world.environment("TRACEPARENT");
  if (!ParseTraceparent(traceparent)) traceparent.clear();
  api_ = std::make_unique<ApiClient>(world.connect(server), server, key, traceparent);
  return api_.get();
}

Result<std::string> Session::RunId(const std::string& text) {
  std::string wanted = text;
  for (char& c : wanted) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (wanted.size() >= 4 && wanted.size() <= 36 && wanted.find_first_not_of("0123456789abcdef-") == std::string::npos) return wanted;
  return Error{Code::kInvalid,
               "'" + text + "' is no run id; write the whole id or at least its first 4 characters (airun workflow list shows them)"};
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
