#include "shared/kinds/project/forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "shared/base/ids.h"
#include "shared/base/utf8.h"

namespace acl::project {

namespace {

Error Bad(std::string_view field, const std::string& what) { return {Code::kInvalid, fmt::format("{}: {}", field, what)}; }

bool IsBlank(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c) != 0; });
}

bool EndsSentence(std::string_view text, std::size_t at, std::size_t& length) {
  length = 1;
  const char c = text[at];
  if (c == '.' || c == '!' || c == '?') return at + 1 == text.size() || text[at + 1] == ' ' || text[at + 1] == '\n';
  for (std::string_view wide : {"。", "！", "？", "…"}) {
    if (text.substr(at).starts_with(wide)) {
      length = wide.size();
      return true;
    }
  }
  return false;
}

bool IsHex(std::string_view text, std::size_t length) {
  return text.size() == length && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
}

bool IsNumber(std::string_view text) {
  return !text.empty() && text.size() < 19 && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

struct ReferenceForm {
  std::string_view kind, example;
  bool (*fits)(std::string_view rest);
};

const std::array<ReferenceForm, 8> kReferences{{
    {"run", "run:RUN_ID", [](std::string_view rest) { return Uuid::Parse(rest).has_value(); }},
    {"event", "event:RUN_ID/12",
     [](std::string_view rest) {
       const std::size_t slash = rest.find('/');
       return slash != std::string_view::npos && Uuid::Parse(rest.substr(0, slash)).has_value() && IsNumber(rest.substr(slash + 1));
     }},
    {"file", "file:docs/plan.md@sha256:HEX",
     [](std::string_view rest) {
       const std::size_t at = rest.rfind("@sha256:");
       return at != std::string_view::npos && at > 0 && IsHex(rest.substr(at + 8), 64);
     }},
    {"git", "git:COMMIT:path",
     [](std::string_view rest) {
       const std::size_t colon = rest.find(':');
       return colon != std::string_view::npos && colon >= 7 && IsHex(rest.substr(0, colon), colon) && colon + 1 < rest.size();
     }},
    {"goal", "goal:g1", [](std::string_view rest) { return rest.starts_with('g') && IsNumber(rest.substr(1)); }},
    {"task", "task:t1", [](std::string_view rest) { return rest.starts_with('t') && IsNumber(rest.substr(1)); }},
    {"url", "url:https://example.com/page",
     [](std::string_view rest) {
       return (rest.starts_with("https://") || rest.starts_with("http://")) && rest.find(' ') == std::string_view::npos;
     }},
    {"memory", "memory:KEY", [](std::string_view rest) { return !IsBlank(rest); }},
}};

constexpr std::array<std::string_view, 4> kEvidence{"person", "run", "artifact", "check"};

bool HasText(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() && !IsBlank(found->get_ref<const std::string&>());
}

}  // namespace

Status CheckText(std::string_view field, std::string_view text, std::size_t most, bool lines) {
  if (IsBlank(text)) return Bad(field, "is missing: say it in a few words");
  if (text.size() > most) return Bad(field, fmt::format("is {} bytes long, {} at most: shorten it, or refer to a file", text.size(), most));
  if (!IsUtf8(text)) return Bad(field, "is not UTF-8");
  for (unsigned char c : text) {
    if (c == '\n' && lines) continue;
    if (c == '\n' || c == '\r') return Bad(field, "has more than one line: one line");
    if (c < 0x20 || c == 0x7F) return Bad(field, "holds a control character: remove it");
  }
  return {};
}

Status CheckReason(std::string_view field, std::string_view text) {
  if (text.empty()) return {};
  return CheckText(field, text, kMostReasonBytes, true);
}

int CountSentences(std::string_view text) {
  int count = 0;
  bool said = false;  // something since the last end
  for (std::size_t i = 0; i < text.size();) {
    std::size_t length = 1;
    if (EndsSentence(text, i, length)) {
      if (said) ++count;
      said = false;
    } else if (std::isspace(static_cast<unsigned char>(text[i])) == 0) {
      said = true;
    }
    i += length;
  }
  return count + (said ? 1 : 0);
}

Status CheckWhereWeLeftOff(std::string_view text) {
  if (Status fits = CheckText("where_we_left_off", text, kMostTextBytes, true); !fits) return fits;
  const int sentences = CountSentences(text);
  if (sentences <= kMostSentences) return {};
  return Bad("where_we_left_off",
             fmt::format("has {} sentences, {} at most: where it stands, not how it came to it", sentences, kMostSentences));
}

Status CheckNextStep(std::string_view text) {
  if (Status fits = CheckText("next_step", text, kMostStepBytes); !fits) return fits;
  const bool list =
      text.starts_with("- ") || text.starts_with("* ") ||
      (text.size() > 2 && std::isdigit(static_cast<unsigned char>(text[0])) != 0 && (text[1] == '.' || text[1] == ')') && text[2] == ' ');
  if (list) return Bad("next_step", "is a list: one action; what follows it is the next checkpoint's");
  if (CountSentences(text) > 1) return Bad("next_step", "has more than one sentence: one action");
  for (std::string_view joint : {" and then ", "; ", ", then "}) {
    if (text.find(joint) != std::string_view::npos) {
      return Bad("next_step", fmt::format("says two actions (\"{}\"): say the first; what follows it is the next checkpoint's", joint));
    }
  }
  return {};
}

std::string_view KindOfReference(std::string_view reference) { return reference.substr(0, reference.find(':')); }

Status CheckReference(std::string_view field, std::string_view reference) {
  if (Status fits = CheckText(field, reference, kMostTextBytes); !fits) return fits;
  const std::string_view kind = KindOfReference(reference);
  const auto form = std::find_if(kReferences.begin(), kReferences.end(), [&](const ReferenceForm& one) { return one.kind == kind; });
  if (form == kReferences.end() || kind.size() == reference.size()) {
    std::string kinds;
    for (const ReferenceForm& one : kReferences) kinds += (kinds.empty() ? "" : ", ") + std::string(one.example);
    return Bad(field, fmt::format("\"{}\" is no reference; there are: {}", reference, kinds));
  }
  if (!form->fits(reference.substr(kind.size() + 1))) {
    return Bad(field, fmt::format("\"{}\" is not as a reference of this kind is written: {}", reference, form->example));
  }
  return {};
}

bool IsEvidenceKind(std::string_view kind) { return std::find(kEvidence.begin(), kEvidence.end(), kind) != kEvidence.end(); }

std::string EvidenceKinds() { return fmt::format("{}", fmt::join(kEvidence, ", ")); }

Status CheckEvidence(std::string_view field, const Json& evidence) {
  if (!evidence.is_object() || !HasText(evidence, "kind"))
    return Bad(field, "is no evidence: an object with \"kind\" (" + EvidenceKinds() + ")");
  const std::string kind = evidence.at("kind");
  if (!IsEvidenceKind(kind)) return Bad(field, fmt::format("there is no evidence of kind \"{}\"; there are: {}", kind, EvidenceKinds()));
  const auto missing = [&](std::string_view what) { return Bad(field, fmt::format("evidence of kind {} says {}", kind, what)); };
  if (kind == "person" && (!HasText(evidence, "by") || !HasText(evidence, "said"))) return missing("\"by\" and \"said\"");
  if (kind == "run" && (!HasText(evidence, "run_id") || !Uuid::Parse(evidence.at("run_id").get_ref<const std::string&>()))) {
    return missing("\"run_id\", the id of a run");
  }
  if (kind == "artifact" && (!HasText(evidence, "sha256") || !IsHex(evidence.at("sha256").get_ref<const std::string&>(), 64) ||
                             !evidence.contains("bytes") || !evidence.at("bytes").is_number_unsigned())) {
    return missing("\"sha256\" (64 hex digits) and \"bytes\"");
  }
  if (kind == "check" &&
      (!HasText(evidence, "command") || !evidence.contains("exit_code") || !evidence.at("exit_code").is_number_integer())) {
    return missing("\"command\" and \"exit_code\"");
  }
  if (kind == "check" && evidence.at("exit_code") != 0) return Bad(field, "the check failed: exit code " + evidence.at("exit_code").dump());
  return {};
}

}  // namespace acl::project
