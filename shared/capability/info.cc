#include <fmt/format.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <ctime>

#include "shared/base/clock.h"
#include "shared/base/time_zone.h"
#include "shared/base/utf8.h"
#include "shared/capability/handlers.h"

namespace acl {

namespace {

StepResult GetOs(const Json& parameters, CallContext&) {
  utsname names{};
  if (::uname(&names) != 0) return Failed("the system does not say what it is", true);
  Json outputs{{"os_name", "linux"}, {"version", names.release}, {"architecture", names.machine}};
  if (FlagOf(parameters, "verbose")) {
    outputs["platform"] = fmt::format("{}-{}-{}", names.sysname, names.release, names.machine);
    outputs["python_version"] = "";  // there is no Python in the worker; the key is expected by files of the earlier runtime
  }
  return Done(std::move(outputs));
}

StepResult GetEnvVar(const CapabilityConfig& config, const Json& parameters) {
  std::string name = StringOf(parameters, "var_name");
  auto otherwise = parameters.find("default_value");
  Json fallback = otherwise == parameters.end() ? Json("") : *otherwise;
  const auto& readable = config.readable_env;
  if (std::find(readable.begin(), readable.end(), name) == readable.end()) {
    return Done({{"value", fallback},
                 {"found", false},
                 {"error_message", fmt::format("environment variable '{}' is not in the worker's list of readable ones", name)}});
  }
  const char* value = std::getenv(name.c_str());
  if (!value) return Done({{"value", fallback}, {"found", false}});
  return Done({{"value", StorableText(value)}, {"found", true}});
}

std::string BadZone(const Json& name) {
  const auto offset = OffsetOf(name.is_string() ? name.get<std::string>() : "utc", 0);
  return !offset && offset.code() == Code::kInvalid ? "does not work: " + offset.message() : "";
}

StepResult GetTime(const Json& parameters, CallContext&) {
  std::string format = StringOf(parameters, "format"), zone = StringOf(parameters, "timezone");
  WallTime now = SystemClock().Wall();
  auto seconds = MicrosOf(now) / 1'000'000, micros = MicrosOf(now) % 1'000'000;
  auto answer = [&](std::string text) { return Done({{"timestamp", std::move(text)}, {"timezone", zone}}); };
  if (format == "unix") return answer(std::to_string(seconds));
  auto offset = OffsetOf(zone, seconds);
  if (!offset) return Failed(offset.error());
  std::time_t shifted = std::time_t(seconds + offset->seconds);
  std::tm parts{};
  ::gmtime_r(&shifted, &parts);
  std::string text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                                 parts.tm_hour, parts.tm_min, parts.tm_sec);
  if (format == "iso8601") text += fmt::format(".{:06}", micros);
  return answer(text + offset->suffix);
}

}  // namespace

void AddInfo(CapabilityRegistry& registry, const ConfigPtr& config) {
  CapabilityDefinition os;
  os.id = "sys.info.get_os";
  os.summary = "What system the worker runs on.";
  os.docs = "Of the worker that happens to run the step.";
  os.parameters = {Flag("verbose", false, "more of it")};
  os.results = {Out("os_name", "string", "linux"), Out("version", "string", "of the kernel"),
                Out("architecture", "string", "x86_64, aarch64 ..."), OutIf("platform", "string", "verbose only"),
                OutIf("python_version", "string", "verbose only; always empty")};
  os.effect = EffectClass::kRead;
  os.quick = true;
  registry.Add(std::move(os), GetOs);

  CapabilityDefinition env;
  env.id = "sys.info.get_env_var";
  env.summary = "An environment variable of the worker.";
  env.docs = "Only those in the worker's list of readable ones; anything else counts as not found.";
  env.parameters = {{.name = "var_name", .type = "string", .description = "its name", .required = true},
                    {.name = "default_value", .type = "any", .description = "the value if it is not found"}};
  env.results = {Out("value", "any", "text; if not found the default, or \"\""), Out("found", "boolean", "set and readable"),
                 OutIf("error_message", "string", "if it is not readable")};
  env.effect = EffectClass::kRead;
  env.false_success = FalseSuccess::kResult;
  registry.Add(std::move(env), [config](const Json& parameters, CallContext&) { return GetEnvVar(*config, parameters); });

  CapabilityDefinition time;
  time.id = "sys.info.get_time";
  time.summary = "The time.";
  time.docs =
      "iso8601 has microseconds, rfc3339 whole seconds, unix is digits. utc (any case) ends in Z; an IANA name (Europe/Berlin) in its "
      "offset; "
      "`local` is the worker's zone, without one.";
  time.parameters = {{.name = "format",
                      .type = "string",
                      .description = "form",
                      .default_value = Json("iso8601"),
                      .allowed = {"iso8601", "unix", "rfc3339"}},
                     {.name = "timezone",
                      .type = "string",
                      .description = "utc, local or an IANA name",
                      .default_value = Json("utc"),
                      .check_literal = BadZone}};
  time.results = {Out("timestamp", "string", "the time"), Out("timezone", "string", "as given")};
  time.effect = EffectClass::kRead;
  time.quick = true;
  registry.Add(std::move(time), GetTime);
}

}  // namespace acl
