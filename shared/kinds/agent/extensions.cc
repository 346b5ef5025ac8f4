#include "shared/kinds/agent/extensions.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "shared/base/json_members.h"
#include "shared/base/limits.h"
#include "shared/base/mutant.h"
#include "shared/journal/json_patch.h"

namespace acl::agent {

namespace {

constexpr std::size_t kMostCode = 60, kMostMessage = 1'000, kMostOperations = 200;

Error Bad(const std::string& what) { return Error{Code::kInvalid, what}; }

// One JSON Pointer stands above the other, or is it.
bool Meets(const std::string& a, const std::string& b) {
  const auto& [shorter, longer] = a.size() <= b.size() ? std::tie(a, b) : std::tie(b, a);
  return longer.starts_with(shorter) && (longer.size() == shorter.size() || shorter.empty() || longer[shorter.size()] == '/');
}

class AskFirst final : public BuiltInExtension {
 public:
  Answer LookIn(Phase phase, const Json& config, const Json&, const Json& draft) const override {
    Answer answer;
    if (phase != Phase::kBeforeAction || !config.contains("capabilities") || !config["capabilities"].is_array()) return answer;
    for (const Json& pattern : config["capabilities"])
      if (pattern.is_string() && Matches(pattern.get<std::string>(), TextOrNone(draft, "capability")))
        answer.ask = "the agent's extension asks a person before " + pattern.get<std::string>();
    return answer;
  }
};

class Budget final : public BuiltInExtension {
 public:
  Answer LookIn(Phase phase, const Json& config, const Json& snapshot, const Json&) const override {
    Answer answer;
    const char* what = phase == Phase::kBeforeRequest ? "requests" : phase == Phase::kBeforeAction ? "actions" : nullptr;
    if (what == nullptr || !config.contains(what) || !config[what].is_number_integer()) return answer;
    const auto most = config[what].get<std::int64_t>();
    if (NumberIn(snapshot.at("standing"), what) >= most) {
      answer.stop_code = "budget";
      answer.stop_message = fmt::format("the session has made its {} {}", most, what);
    }
    return answer;
  }
};

class Prune final : public BuiltInExtension {
 public:
  Answer LookIn(Phase phase, const Json& config, const Json&, const Json& draft) const override {
    Answer answer;
    const std::int64_t kept = config.is_object() ? NumberIn(config, "past_turns") : 0;
    if (phase != Phase::kBeforePlan || !draft.contains("past") || std::int64_t(draft["past"].size()) <= kept) return answer;
    const Json& past = draft["past"];
    Json left = Json::array();
    for (std::size_t i = past.size() - std::size_t(std::max<std::int64_t>(kept, 0)); i < past.size(); ++i) left.push_back(past[i]);
    answer.patch.push_back({{"op", "replace"}, {"path", "/past"}, {"value", std::move(left)}});
    return answer;
  }
};

class Redact final : public BuiltInExtension {
 public:
  Answer LookIn(Phase phase, const Json& config, const Json&, const Json& draft) const override {
    Answer answer;
    if (phase != Phase::kBeforeRequest || !config.contains("patterns") || !config["patterns"].is_array()) return answer;
    for (const Json& pattern : config["patterns"]) {
      if (!pattern.is_string()) continue;
      const re2::RE2 expression(pattern.get<std::string>(), re2::RE2::Quiet);
      if (!expression.ok()) {
        answer.stop_code = "bad-pattern";
        answer.stop_message =
            "the pattern '" + pattern.get<std::string>().substr(0, kMostCode) + "' is no regular expression: " + expression.error();
        return answer;
      }
      Walk(draft, "", expression, answer.patch);
    }
    return answer;
  }

 private:
  // Of every text below; of one that two patterns meet, the patch of the second would undo the first: each text is patched once.
  static void Walk(const Json& value, const std::string& path, const re2::RE2& expression, Json& patch) {
    if (value.is_string()) return Clean(value, path, expression, patch);
    if (value.is_object())
      for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) Walk(member, path + "/" + Escaped(key), expression, patch);
    if (value.is_array())
      for (std::size_t i = 0; i < value.size(); ++i) Walk(value[i], path + "/" + std::to_string(i), expression, patch);
  }
  static void Clean(const Json& value, const std::string& path, const re2::RE2& expression, Json& patch) {
    for (Json& operation : patch)
      if (operation["path"] == path) {
        auto text = operation["value"].get<std::string>();
        if (re2::RE2::GlobalReplace(&text, expression, "[redacted]") > 0) operation["value"] = text;
        return;
      }
    auto text = value.get<std::string>();
    if (re2::RE2::GlobalReplace(&text, expression, "[redacted]") > 0) patch.push_back({{"op", "replace"}, {"path", path}, {"value", text}});
  }
  static std::string Escaped(const std::string& key) {
    std::string out;
    for (const char c : key) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return out;
  }
};

}  // namespace

Result<Answer> AnswerFrom(const Json& json) {
  if (!json.is_object()) return Bad("its answer is no JSON object");
  Answer answer;
  for (const auto& [key, value] : json.get_ref<const Json::object_t&>()) {
    if (key == "patch") {
      if (!value.is_array() || value.size() > kMostOperations) return Bad("'patch' is no list of at most 200 operations (RFC 6902)");
      answer.patch = value;
    } else if (key == "stop") {
      if (!value.is_object() || TextOrNone(value, "code").empty() || TextOrNone(value, "message").empty())
        return Bad("'stop' needs a code and a message: {\"stop\": {\"code\": \"not-now\", \"message\": \"...\"}}");
      answer.stop_code = TextOrNone(value, "code").substr(0, kMostCode);
      answer.stop_message = TextOrNone(value, "message").substr(0, kMostMessage);
    } else if (key == "ask") {
      if (!value.is_object() || TextOrNone(value, "message").empty()) return Bad("'ask' needs a message");
      answer.ask = TextOrNone(value, "message").substr(0, kMostMessage);
    } else if (key == "draft") {
      return Bad("a whole draft is not taken: send what you change, as 'patch' (RFC 6902), so that nothing else is lost");
    } else {
      return Bad("'" + key.substr(0, kMostCode) + "' is no part of an answer; it may hold patch, stop and ask");
    }
  }
  return answer;
}

BuiltInExtensions StandardExtensions() {
  return {{"ask_first", std::make_shared<AskFirst>()},
          {"budget", std::make_shared<Budget>()},
          {"prune", std::make_shared<Prune>()},
          {"redact", std::make_shared<Redact>()}};
}

std::string WrongConfig(const std::string& builtin, const Json& config) {
  const auto number = [&](const char* key) { return config.contains(key) && config[key].is_number_integer() && config[key] >= 0; };
  const auto texts = [&](const char* key) {
    if (!config.contains(key) || !config[key].is_array() || config[key].empty()) return false;
    return std::all_of(config[key].begin(), config[key].end(), [](const Json& one) { return one.is_string(); });
  };
  if (builtin == "ask_first") return texts("capabilities") ? "" : "'ask_first' needs config: {capabilities: [io.fs.delete]}";
  if (builtin == "budget") return number("requests") || number("actions") ? "" : "'budget' needs config: {requests: 100} or {actions: 100}";
  if (builtin == "prune") return number("past_turns") ? "" : "'prune' needs config: {past_turns: 3}";
  if (builtin != "redact") return "";
  if (!texts("patterns")) return "'redact' needs config: {patterns: ['[0-9]{16}']}";
  for (const Json& pattern : config["patterns"]) {
    const re2::RE2 expression(pattern.get<std::string>(), re2::RE2::Quiet);
    if (!expression.ok())
      return fmt::format("'{}' is no regular expression: {}", pattern.get<std::string>().substr(0, kMostCode), expression.error());
  }
  return "";
}

Status ApplyAnswer(Phase phase, const std::string& extension, const Answer& answer, Json& draft, Json& touched) {
  if (!answer.ask.empty() && phase != Phase::kBeforeAction) return Bad("a person can be asked at before_action alone");
  if (answer.patch.empty()) return {};
  if (RuleOf(phase).draft.empty() && !Mutant("agent_observer_changes_draft"))
    return Bad(fmt::format("at {} there is nothing to change: it may only look on", NameOf(phase)));
  for (const Json& operation : answer.patch) {
    const std::string path = TextOrNone(operation, "path");
    for (const Json& before : touched)
      if (TextIn(before, "by") != extension && Meets(TextIn(before, "path"), path) && TextOrNone(operation, "op") != "test")
        return Bad(fmt::format("it changes '{}', which the extension '{}' has changed before it", path, TextIn(before, "by")));
  }
  auto patched = ApplyPatch(draft, answer.patch);
  if (!patched) return Bad("its patch does not fit the draft: " + patched.message());
  if (Status storable = CheckStorable(*patched); !storable) return Bad("its patch cannot be stored: " + storable.message());
  draft = std::move(*patched);
  for (const Json& operation : answer.patch)
    if (TextOrNone(operation, "op") != "test") touched.push_back({{"path", TextOrNone(operation, "path")}, {"by", extension}});
  return {};
}

}  // namespace acl::agent
