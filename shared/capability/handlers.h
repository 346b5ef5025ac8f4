#pragma once
// Inside of the module: what the files of capabilities share. Each Add... registers one theme.

#include <memory>
#include <string>
#include <utility>

#include "shared/capability/capability.h"
#include "shared/capability/config.h"
#include "shared/capability/workspace.h"

namespace acl {

using ConfigPtr = std::shared_ptr<const CapabilityConfig>;

void AddFileReaders(CapabilityRegistry& registry);                        // fs_read.cc
void AddFileWriters(CapabilityRegistry& registry);                        // fs_write.cc
void AddFileMovers(CapabilityRegistry& registry);                         // fs_tree.cc
void AddInfo(CapabilityRegistry& registry, const ConfigPtr& config);      // info.cc
void AddExec(CapabilityRegistry& registry, const ConfigPtr& config);      // exec.cc
void AddArchive(CapabilityRegistry& registry, const ConfigPtr& config);   // archive.cc
void AddHttp(CapabilityRegistry& registry, const ConfigPtr& config);      // http.cc
void AddJson(CapabilityRegistry& registry);                               // json_capabilities.cc
void AddText(CapabilityRegistry& registry);                               // text.cc
void AddTestHelpers(CapabilityRegistry& registry);                        // test_capabilities.cc
void AddApproval(CapabilityRegistry& registry);                           // approval.cc
void AddLlm(CapabilityRegistry& registry, const ConfigPtr& config);       // llm.cc
void AddProjects(CapabilityRegistry& registry, const ConfigPtr& config);  // projects.cc

// ---- results

inline StepResult Done(Json outputs) {
  StepResult result;
  result.outputs = std::move(outputs);
  return result;
}

inline StepResult Failed(std::string error, bool retryable = false) {
  StepResult result;
  result.outcome = StepResult::Outcome::kFailed;
  result.error = std::move(error);
  result.retryable = retryable;
  return result;
}

// What may pass by itself is worth another attempt; bad input is not.
// What the worker has not got is no failure of the step: while nothing was begun, it is given back.
inline StepResult Failed(const Error& error) {
  if (error.code == Code::kExhausted) {
    StepResult result;
    result.outcome = StepResult::Outcome::kNotStarted;
    result.error = result.short_of = error.message;
    return result;
  }
  bool passes = error.code == Code::kUnavailable || error.code == Code::kTimeout;
  StepResult result = Failed(error.message, passes);
  if (error.code == Code::kCorrupt) result.damaged = error.message;
  return result;
}

inline StepResult Ended(StepResult::Outcome outcome, std::string error) {
  StepResult result;
  result.outcome = outcome;
  result.error = std::move(error);
  return result;
}

// Asked in each slice of what computes for long: it stops there. `doing`: "packing".
inline std::optional<StepResult> Late(const CallContext& context, std::string_view doing) {
  if (context.stop.stopped()) return Ended(StepResult::Outcome::kCancelled, "stopped while " + std::string(doing));
  if (std::chrono::steady_clock::now() >= context.deadline)
    return Ended(StepResult::Outcome::kTimedOut, "timed out while " + std::string(doing));
  return std::nullopt;
}
inline StepResult TooMuchOutput() {
  return Failed("the result becomes larger than " + std::to_string(limits::kStepOutputBytes) +
                " bytes; write large results to a file of the run");
}

// ---- checked parameters (CheckParameters and WithDefaults ran before)

inline std::string StringOf(const Json& parameters, const char* name) {
  auto it = parameters.find(name);
  return it != parameters.end() && it->is_string() ? it->get<std::string>() : std::string();
}
inline bool FlagOf(const Json& parameters, const char* name) {
  auto it = parameters.find(name);
  return it != parameters.end() && it->is_boolean() && it->get<bool>();
}
inline double NumberOf(const Json& parameters, const char* name, double otherwise) {
  auto it = parameters.find(name);
  return it != parameters.end() && it->is_number() ? it->get<double>() : otherwise;
}

// ---- fields that many capabilities have

// Of a number that must be more than 0 and at most so many.
template <int kMost>
std::string BadSeconds(const Json& value) {
  const double seconds = value.is_number() ? value.get<double>() : 1;
  return seconds > 0 && seconds <= kMost ? "" : "must be more than 0 and at most " + std::to_string(kMost) + " seconds";
}
template <int kLeast, int kMost>
std::string OutOfRange(const Json& value) {
  const double number = value.is_number() ? value.get<double>() : kLeast;
  return number >= kLeast && number <= kMost ? "" : "must be " + std::to_string(kLeast) + " to " + std::to_string(kMost);
}
inline FieldDefinition PathField(std::string name, std::string description) {
  FieldDefinition field{std::move(name), "string", std::move(description), true};
  return field;
}
inline FieldDefinition Flag(std::string name, bool otherwise, std::string description) {
  return FieldDefinition{std::move(name), "boolean", std::move(description), false, Json(otherwise)};
}
// A result that is there whenever the call succeeds; one that is there only then and when.
inline FieldDefinition Out(std::string name, std::string type, std::string description) {
  return FieldDefinition{std::move(name), std::move(type), std::move(description), true};
}
inline FieldDefinition OutIf(std::string name, std::string type, std::string description) {
  return FieldDefinition{std::move(name), std::move(type), std::move(description), false};
}
inline FieldDefinition OutSuccess() { return Out("success", "boolean", "true"); }

}  // namespace acl
