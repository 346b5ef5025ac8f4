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
#include <string_view>

#include "shared/base/json_object.h"

namespace acl {

inline constexpr std::string_view kCallCapability = "capability";
inline constexpr std::string_view kCallInputs = "inputs";
inline constexpr std::string_view kCallError = "error";

struct CapabilityCall {
  std::string capability;
  Json inputs = Json::object();
  std::string error;  // not empty: nothing to call, this is why
};

inline Json CallToJson(CapabilityCall call) {
  Json json = ObjectFor(2);
  AddMember(json, kCallCapability, std::move(call.capability));
  if (call.error.empty()) {
    AddMember(json, kCallInputs, std::move(call.inputs));
  } else {
    AddMember(json, kCallError, std::move(call.error));
  }
  return json;
}

// What a call says, where it says it: nothing is copied. Anything that is not such a call comes back with `error` set.
struct CallView {
  std::string_view capability, error;
  const Json* inputs = nullptr;  // an object
};
inline CallView ViewOfCall(const Json& json) {
  CallView call;
  if (json.is_object()) {
    for (const auto& [key, value] : json.get_ref<const Json::object_t&>()) {
      if (key == kCallCapability && value.is_string()) call.capability = value.get_ref<const std::string&>();
      if (key == kCallError && value.is_string()) call.error = value.get_ref<const std::string&>();
      if (key == kCallInputs && value.is_object()) call.inputs = &value;
    }
  }
  if (call.capability.empty() && call.error.empty()) call.error = "the call names no capability";
  return call;
}
inline CapabilityCall CallFromJson(const Json& json) {
  const CallView view = ViewOfCall(json);
  CapabilityCall call{std::string(view.capability), Json::object(), std::string(view.error)};
  if (view.inputs != nullptr) call.inputs = *view.inputs;
  return call;
}

}  // namespace acl
