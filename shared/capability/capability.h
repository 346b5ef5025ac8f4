#pragma once
// A capability: one named thing a step can do (document 002, "Runtime Engine"; ids and behaviour:
// docs/reference/other-runtimes.md#capabilities). A registry row says everything the rest of the system needs to know without running it.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/ids.h"
#include "shared/base/json.h"
#include "shared/journal/document.h"
#include "shared/kernel/kind.h"
#include "shared/kernel/step_runner.h"

namespace acl {

enum class RiskLevel { kLow, kMedium, kHigh, kCritical };
std::string_view RiskName(RiskLevel risk);                  // "LOW" ...
std::optional<RiskLevel> ParseRisk(std::string_view name);  // upper case only

// JSON types by the words of the handler format: string integer float boolean array object any.
struct FieldDefinition {
  std::string name;
  std::string type;
  std::string description;
  bool required = false;
  std::optional<Json> default_value;
  std::vector<std::string> aliases;  // other names real files use (file_path for path)
  std::vector<std::string> allowed;  // enum of strings; empty = any
  // What is wrong with a value of the right type, "must be ..."; empty: nothing. Null: nothing is checked.
  std::string (*check)(const Json& value) = nullptr;
  // The same of a value that stands in a workflow file as it is, where the call itself finds out: it would fail at every run.
  std::string (*check_literal)(const Json& value) = nullptr;
};

// What `success: false` in the outputs means (docs/reference/other-runtimes.md#k22).
enum class FalseSuccess { kFailure, kResult };

// How a completed call is undone when the file names no compensation.
enum class UndoKind {
  kNone,
  kFiles,  // files of the run: the old manifest entries come back (the engine does it, no call is made)
};

struct CapabilityDefinition {
  std::string id;  // "io.fs.write_file"
  std::string version = "1.0.0";
  std::string summary;  // one line
  std::string docs;     // what a person needs, with an example
  std::vector<FieldDefinition> parameters;
  std::vector<FieldDefinition> results;  // `required`: there whenever the call succeeds; the runner checks both names and types
  bool open_results = false;             // it may answer more than `results` names
  EffectClass effect = EffectClass::kPure;
  RiskLevel risk = RiskLevel::kLow;
  bool honours_key = false;  // its receiver honours the idempotency key: may be repeated after an unknown outcome
  FalseSuccess false_success = FalseSuccess::kFailure;
  UndoKind undo = UndoKind::kNone;
  std::chrono::seconds default_timeout{300};
  std::chrono::milliseconds retry_delay{0};  // before the second attempt of a step that names no `retry`; doubles each time
  bool needs_confirmation = false;
  bool quick = false;  // it computes on small values and never waits: many are run one after the other on one thread
};

// What one call may use.
struct CallContext {
  StepCall call;  // subject, token, attempt, idempotency key
  std::chrono::steady_clock::time_point deadline;
  std::chrono::milliseconds timeout{0};  // that the deadline was made of: for what waits for its turn and counts anew
  StopToken stop;
  class Workspace* workspace = nullptr;  // the run's files, a layer for this attempt
  std::string traceparent = {};          // W3C, for whatever is called; empty: none
};

// Runs with checked, defaulted parameters. Returns outputs, or how it failed. May throw nothing.
using CapabilityHandler = std::function<StepResult(const Json& parameters, CallContext& context)>;
// For what mostly waits for somebody else: begins the call and returns. `done` is called once, from any thread, and must be called also
// when the call is stopped or late; the context lives until then, the parameters do not. Many more calls can be on their way than there are
// threads.
using CapabilityDone = std::function<void(StepResult)>;
using CapabilityStarter = std::function<void(const Json& parameters, CallContext& context, CapabilityDone done)>;

class CapabilityRegistry {
 public:
  // Ids are unique: a second Add of one id is a programmer's error.
  void Add(CapabilityDefinition definition, CapabilityHandler handler);
  void AddStarter(CapabilityDefinition definition, CapabilityStarter starter);
  const CapabilityDefinition* Find(std::string_view id) const;
  // Each capability has the one or the other.
  const CapabilityHandler* Handler(std::string_view id) const;
  const CapabilityStarter* Starter(std::string_view id) const;
  std::vector<const CapabilityDefinition*> All() const;  // sorted by id
  // The known id nearest in spelling (or the one that documents call by this other name), for "did you mean"; empty if none is near.
  std::string Nearest(std::string_view id) const;

 private:
  struct Entry {
    CapabilityDefinition definition;
    CapabilityHandler handler;
    CapabilityStarter starter;
  };
  void Put(Entry entry);
  std::map<std::string, Entry, std::less<>> entries_;
};

// Everything wrong with the parameters, one line each, empty if they fit. `literal_only`: values that still hold a template are skipped.
std::vector<std::string> CheckParameters(const CapabilityDefinition& definition, const Json& parameters, bool literal_only);
// Parameters that the capability does not know and would ignore (real files have some): one line each, with "did you mean".
struct UnknownParameter {
  std::string line;
  bool slip = false;  // one or two slips away from a parameter, or that in another spelling (followRedirects): it is meant
};
std::vector<UnknownParameter> UnknownParameters(const CapabilityDefinition& definition, const Json& parameters);
// Whether it is the name, or another name, of a parameter.
bool HasParameter(const CapabilityDefinition& definition, std::string_view name);
// What the outputs of a call are not though `results` says so: one line each, empty if they fit. Outputs it does not name are let through.
std::vector<std::string> CheckResults(const CapabilityDefinition& definition, const Json& outputs);
// With aliases renamed and defaults filled in; a null for an optional parameter counts as absent.
Json WithDefaults(const CapabilityDefinition& definition, const Json& parameters);

}  // namespace acl
