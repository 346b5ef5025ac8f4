#pragma once
// What StartStep.call holds when a kind wants a capability called: the agreement between a kind (shared/workflow) and the runner
// (shared/capability). The kernel itself never looks into it.
//
//   {"capability": "io.fs.write_file", "inputs": {"path": "a.txt", "content": "..."}}
//   {"capability": "io.fs.write_file", "error": "input 'path': ..."}
//
// `inputs` are resolved (templates expanded) but not checked and without the capability's defaults: the runner does that. With `error`
// nothing may be called: the runner answers kFailed with that text, not retryable.

#include <string>

#include "shared/base/json.h"

namespace acl {

inline constexpr std::string_view kCallCapability = "capability";
inline constexpr std::string_view kCallInputs = "inputs";
inline constexpr std::string_view kCallError = "error";

struct CapabilityCall {
  std::string capability;
  Json inputs = Json::object();
  std::string error;  // not empty: nothing to call, this is why
};

inline Json CallToJson(const CapabilityCall& call) {
  Json json{{kCallCapability, call.capability}};
  if (call.error.empty()) {
    json[std::string(kCallInputs)] = call.inputs;
  } else {
    json[std::string(kCallError)] = call.error;
  }
  return json;
}

// Anything that is not such a call comes back with `error` set.
inline CapabilityCall CallFromJson(const Json& json) {
  CapabilityCall call;
  auto text = [&json](std::string_view key) {
    auto it = json.find(std::string(key));
    return it != json.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  if (json.is_object()) {
    call.capability = text(kCallCapability);
    call.error = text(kCallError);
    if (auto it = json.find(std::string(kCallInputs)); it != json.end() && it->is_object()) call.inputs = *it;
  }
  if (call.capability.empty() && call.error.empty()) call.error = "the call names no capability";
  return call;
}

}  // namespace acl
