#include "shared/capability/dispatch_format.h"

#include <fmt/format.h>

#include "shared/capability/manifest.h"
#include "shared/journal/json_patch.h"

namespace acl {

namespace {

using Outcome = StepResult::Outcome;

constexpr std::pair<Outcome, std::string_view> kOutcomes[] = {
    {Outcome::kSucceeded, "succeeded"}, {Outcome::kFailed, "failed"},          {Outcome::kTimedOut, "timed_out"},
    {Outcome::kCancelled, "cancelled"}, {Outcome::kNotStarted, "not_started"}, {Outcome::kUnknown, "unknown"},
};
constexpr std::string_view kLost = "lost";

std::string Text(const Json& json, const char* key) {
  auto it = json.find(key);
  return it != json.end() && it->is_string() ? it->get<std::string>() : std::string();
}
std::int64_t Number(const Json& json, const char* key) {
  auto it = json.find(key);
  return it != json.end() && it->is_number_integer() ? it->get<std::int64_t>() : 0;
}
bool Flag(const Json& json, const char* key, bool otherwise) {
  auto it = json.find(key);
  return it != json.end() && it->is_boolean() ? it->get<bool>() : otherwise;
}

// `found` is the checksum of what the attempt found at the path: the merge compares it (FindConflict).
Json ChangeToJson(const FileChange& change) {
  Json json = {{"path", change.path}};
  if (!change.hash && !change.is_dir) {
    json["deleted"] = true;
  } else {
    json["entry"] = FileEntryToJson(EntryOf(change));
  }
  if (change.found) json["found"] = ToHex(*change.found);
  if (change.whole) json["whole"] = true;
  return json;
}

Result<FileChange> ChangeFromJson(const Json& json) {
  if (!json.is_object()) return Error{Code::kInvalid, "a file change is an object"};
  FileChange change;
  change.path = Text(json, "path");
  auto path = NormalisePath(change.path);
  if (!path || path->empty() || *path != change.path)
    return Error{Code::kInvalid, fmt::format("'{}' is no path of a run's file", change.path)};
  if (json.contains("found")) {
    change.found = HashFromHex(Text(json, "found"));
    if (!change.found) return Error{Code::kInvalid, fmt::format("file '{}': \"found\" is no checksum", change.path)};
  }
  change.whole = Flag(json, "whole", false);
  if (Flag(json, "deleted", false)) return change;
  auto entry = json.find("entry");
  if (entry == json.end()) return Error{Code::kInvalid, fmt::format("file '{}' has neither an entry nor a deletion", change.path)};
  auto parsed = FileEntryFromJson(*entry);
  if (!parsed) return Error{Code::kInvalid, fmt::format("file '{}': {}", change.path, parsed.message())};
  change.is_dir = parsed->is_dir;
  change.mode = parsed->mode;
  change.size = parsed->size;
  if (!parsed->is_dir) change.hash = parsed->hash;
  return change;
}

}  // namespace

std::string OfferToText(const StartStep& step, const TraceContext& trace, const Json& files) {
  Json json = {{"v", kDispatchVersion}, {"call", step.call}, {"effect", EffectName(step.effect)}, {"key", step.idempotency_key}};
  json["timeout_ms"] = step.timeout.count();
  if (!trace.trace_id.empty()) json["trace"] = {{"trace_id", trace.trace_id}, {"span_id", trace.span_id}, {"sampled", trace.sampled}};
  if (!files.empty()) json["files"] = files;
  return DumpJson(json);
}

Result<DispatchOffer> OfferFromText(const std::string& step_id, const std::string& text) {
  auto json = ParseJson(text, kStoredJson);
  if (!json || !json->is_object() || !json->contains("call"))
    return Error{Code::kInvalid, fmt::format("the dispatch of step '{}' cannot be read", step_id)};
  if (Number(*json, "v") > kDispatchVersion) {
    return Error{Code::kInvalid, fmt::format("the dispatch of step '{}' has version {}, this worker knows {}: a newer program wrote it",
                                             step_id, Number(*json, "v"), kDispatchVersion)};
  }
  auto effect = ParseEffect(Text(*json, "effect"));
  if (!effect) return Error{Code::kInvalid, fmt::format("the dispatch of step '{}' names no effect class", step_id)};
  DispatchOffer offer;
  offer.step.step_id = step_id;
  offer.step.effect = *effect;
  offer.step.call = json->at("call");
  offer.step.idempotency_key = Text(*json, "key");
  offer.step.timeout = milliseconds(Number(*json, "timeout_ms"));
  if (auto trace = json->find("trace"); trace != json->end() && trace->is_object()) {
    offer.trace = {Text(*trace, "trace_id"), Text(*trace, "span_id"), Flag(*trace, "sampled", true)};
  }
  if (auto files = json->find("files"); files != json->end() && files->is_object()) {
    Json patch = Json::array();
    for (auto it = files->begin(); it != files->end(); ++it) patch.push_back(PatchAdd({FileKey(it.key())}, it.value()));
    if (Status applied = offer.files.Apply(patch); !applied) return Error{Code::kInvalid, applied.message()};
  }
  return offer;
}

std::string ResultToText(const DispatchResult& result) {
  Json json = {{"step_id", result.step_id}, {"attempt", result.attempt_id}};
  for (const auto& [outcome, name] : kOutcomes) {
    if (outcome == result.result.outcome) json["outcome"] = name;
  }
  if (result.lost) {
    json["outcome"] = kLost;
    json["counted"] = result.counted;
  }
  if (!result.result.outputs.empty()) json["outputs"] = result.result.outputs;
  if (!result.result.error.empty()) json["error"] = result.result.error;
  if (!result.result.retryable) json["retryable"] = false;
  if (result.result.retry_after.count() > 0) json["retry_after_ms"] = result.result.retry_after.count();
  json["duration_ms"] = result.result.duration.count();
  if (!result.result.files.empty()) {
    Json& files = json["files"] = Json::array();
    for (const FileChange& change : result.result.files) files.push_back(ChangeToJson(change));
  }
  if (!result.result.damaged.empty()) {
    json["damaged"] = result.result.damaged;
    json["repeatable"] = result.repeatable;
  }
  if (!result.worker.empty()) json["worker"] = result.worker;
  if (result.token > 0) json["token"] = result.token;
  return DumpJson(json);
}

std::string DamageIn(const Json& result) { return result.is_object() ? Text(result, "damaged") : std::string(); }

void AcknowledgeDamage(Json& result) {
  if (DamageIn(result).empty()) return;
  result.erase("damaged");
  if (Flag(result, "repeatable", false)) result["outcome"] = "not_started";
}

Result<DispatchResult> ResultFromJson(const Json& json) {
  if (!json.is_object()) return Error{Code::kInvalid, "a dispatch's result is an object"};
  DispatchResult result;
  result.step_id = Text(json, "step_id");
  result.attempt_id = int(Number(json, "attempt"));
  result.worker = Text(json, "worker");
  result.token = Number(json, "token");
  result.counted = Flag(json, "counted", true);
  const std::string outcome = Text(json, "outcome");
  result.lost = outcome == kLost;
  bool known = result.lost;
  for (const auto& [value, name] : kOutcomes) {
    if (name != outcome) continue;
    result.result.outcome = value;
    known = true;
  }
  if (!known || result.step_id.empty() || result.attempt_id < 1)
    return Error{Code::kInvalid, "a dispatch's result names step, attempt and outcome"};
  if (auto outputs = json.find("outputs"); outputs != json.end()) result.result.outputs = *outputs;
  result.result.error = Text(json, "error");
  result.result.damaged = Text(json, "damaged");
  result.repeatable = Flag(json, "repeatable", false);
  result.result.retryable = Flag(json, "retryable", true);
  result.result.duration = milliseconds(Number(json, "duration_ms"));
  result.result.retry_after = milliseconds(Number(json, "retry_after_ms"));
  if (auto files = json.find("files"); files != json.end() && files->is_array()) {
    for (const Json& file : *files) {
      auto change = ChangeFromJson(file);
      if (!change) return change.error();
      result.result.files.push_back(std::move(*change));
    }
  }
  return result;
}

}  // namespace acl
