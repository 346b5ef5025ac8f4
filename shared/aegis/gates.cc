#include "shared/aegis/gates.h"

#include <algorithm>

#include "shared/base/canonical_json.h"
#include "shared/base/sha256.h"
#include "shared/base/utf8.h"

namespace acl::aegis {

namespace {

bool IsDigitByte(char c) { return c >= '0' && c <= '9'; }
bool IsLetterByte(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool IsPlainId(std::string_view id) {
  constexpr std::size_t kLongest = 200;
  return !id.empty() && id.size() <= kLongest && std::all_of(id.begin(), id.end(), [](char c) {
    return IsLetterByte(c) || IsDigitByte(c) || std::string_view("_.:/#@-").find(c) != std::string_view::npos;
  });
}

// "2026-01-08T", "2026-01-08 ", "Jan  8 12:", "12:34:56", "<13>", "[  12.345]", "INFO ", "ERROR:": how lines of logs begin.
bool BeginsLikeLog(std::string_view line) {
  const auto digits = [&](std::size_t at, std::size_t count) {
    return line.size() >= at + count &&
           std::all_of(line.begin() + std::ptrdiff_t(at), line.begin() + std::ptrdiff_t(at + count), IsDigitByte);
  };
  if (!line.empty() && (line[0] == '[' || line[0] == '<')) line.remove_prefix(1);
  while (!line.empty() && line[0] == ' ') line.remove_prefix(1);
  if (digits(0, 4) && line.size() > 10 && line[4] == '-' && digits(5, 2) && line[7] == '-' && digits(8, 2)) return true;
  if (digits(0, 2) && line.size() > 8 && line[2] == ':' && digits(3, 2) && line[5] == ':' && digits(6, 2)) return true;
  if (digits(0, 1)) {  // a number and '.', '>' or ']': seconds since the start, a syslog priority
    std::size_t i = 0;
    while (i < line.size() && (IsDigitByte(line[i]) || line[i] == '.')) ++i;
    if (i < line.size() && (line[i] == ']' || line[i] == '>')) return true;
  }
  static constexpr std::array<std::string_view, 12> kMonths = {"Jan ", "Feb ", "Mar ", "Apr ", "May ", "Jun ",
                                                               "Jul ", "Aug ", "Sep ", "Oct ", "Nov ", "Dec "};
  if (line.size() > 10 && std::any_of(kMonths.begin(), kMonths.end(), [&](std::string_view month) { return line.starts_with(month); }))
    return IsDigitByte(line[4]) || IsDigitByte(line[5]);
  static constexpr std::array<std::string_view, 7> kLevels = {"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "NOTICE"};
  return std::any_of(kLevels.begin(), kLevels.end(), [&](std::string_view level) {
    return line.starts_with(level) && line.size() > level.size() && !IsLetterByte(line[level.size()]);
  });
}

// Besides its time: a list of times is no log.
bool HasWords(std::string_view line) {
  const auto letters = [](char a, char b) { return IsLetterByte(a) && IsLetterByte(b); };
  line.remove_prefix(std::min<std::size_t>(4, line.size()));  // "Jan "
  return std::adjacent_find(line.begin(), line.end(), letters) != line.end();
}

// Eight lines or more, three in five of which begin like a log's.
bool IsLogDump(std::string_view text) {
  std::size_t lines = 0, like_log = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    ++lines;
    like_log += BeginsLikeLog(line) && HasWords(line) ? 1 : 0;
  }
  return lines >= 8 && like_log * 5 >= lines * 3;
}

// Not text, or a run of so many letters, digits, + / = without a blank that it is an encoded file.
bool IsBinary(std::string_view text) {
  constexpr std::size_t kEncodedRun = 512;
  std::size_t run = 0;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t' && c != '\r') || byte == 0x7f) return true;
    const bool encoded = IsLetterByte(c) || IsDigitByte(c) || c == '+' || c == '/' || c == '=' || c == '-' || c == '_';
    run = encoded ? run + 1 : 0;
    if (run >= kEncodedRun) return true;
  }
  return !IsUtf8(text);
}

constexpr std::size_t kMostLabels = 32;

// A topic, a subject, a status: one short line.
bool IsLabel(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  const bool line = std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  return text.size() <= kLongest && line && IsUtf8(text);
}

std::string_view KindOfSource(std::string_view source) {
  const std::size_t colon = source.find(':');
  if (colon == std::string_view::npos || colon + 1 == source.size() || !IsPlainId(source)) return {};
  return source.substr(0, colon);
}

// Every text of an artifact that a prompt or a record may hold.
std::string AllTexts(const Artifact& artifact) {
  std::string all = artifact.id + "\n" + artifact.source + "\n" + artifact.text + "\n" + artifact.subject;
  for (const std::string& topic : artifact.topics) all += "\n" + topic;
  for (const std::string& id : artifact.contradicts) all += "\n" + id;
  for (const std::string* text : {&artifact.hash, &artifact.confidence, &artifact.status, &artifact.session, &artifact.speaker})
    all += "\n" + *text;
  return all;
}

void Strip(Artifact* artifact) {
  artifact->text.clear();
  artifact->value = nullptr;
  artifact->topics.clear();
  artifact->subject.clear();
  artifact->contradicts.clear();
  artifact->hash.clear();
  artifact->confidence.clear();
  artifact->status.clear();
  artifact->session.clear();
  artifact->speaker.clear();
}

// The strings of a value, keys too: what a secret may hide in as it is, not as JSON writes it.
void AppendStrings(const Json& value, std::string* out) {
  if (value.is_string()) *out += value.get_ref<const std::string&>() + "\n";
  if (value.is_array())
    for (const Json& item : value) AppendStrings(item, out);
  if (!value.is_object()) return;
  for (const auto& [key, member] : value.items()) {
    *out += key + (member.is_string() ? ": " : "\n");  // "password: ..." as a person would write it
    AppendStrings(member, out);
  }
}

Verdict CheckEvidenceValue(const Json& value) {
  if (value.is_null()) return std::nullopt;
  std::string strings;
  AppendStrings(value, &strings);
  if (auto refused = CheckEvidenceText(strings)) return refused;
  if (!CheckStorable(value).ok() || CanonicalJson(value).size() > kEvidenceBytes) return "evidence_blob_disallowed";
  return std::nullopt;
}

}  // namespace

Verdict CheckSourced(const Artifact& artifact) {
  const std::string_view kind = KindOfSource(artifact.source);
  bool fits = kind == "turn" || kind == "ledger" || kind == "tool" || kind == "event";
  switch (artifact.type) {
    case ArtifactType::kLedgerFact: fits = kind == "ledger"; break;
    case ArtifactType::kObservation: fits = kind == "tool"; break;
    case ArtifactType::kTurn: fits = kind == "turn"; break;
    default: break;
  }
  return fits && IsPlainId(artifact.id) ? Verdict() : "not_sourced";
}

Verdict CheckStanding(const Artifact& artifact) {
  if (artifact.type == ArtifactType::kLedgerFact && artifact.status != "ratified") return "not_ratified";
  if (artifact.type == ArtifactType::kDriftwatch && artifact.status != "open") return "not_open";
  return std::nullopt;
}

Verdict CheckAuthority(const Artifact& artifact, const Kernel& kernel) {
  const int from = std::max(artifact.tier, kernel.artifact_from_tier[std::size_t(artifact.type)]);
  return from > kernel.tier ? Verdict("authority_incompatible") : std::nullopt;
}

Verdict CheckEvidenceText(std::string_view text) {
  if (text.size() > kEvidenceBytes || IsBinary(text) || IsLogDump(text)) return "evidence_blob_disallowed";
  return std::nullopt;
}

Verdict CheckEvidenceBlob(const Artifact& artifact) {
  if (auto refused = CheckEvidenceText(artifact.text)) return refused;
  const auto label = [](const std::string& text) { return IsLabel(text); };
  const bool labels = std::all_of(artifact.topics.begin(), artifact.topics.end(), label) &&
                      std::all_of(artifact.contradicts.begin(), artifact.contradicts.end(), label) && label(artifact.subject) &&
                      label(artifact.hash) && label(artifact.confidence) && label(artifact.status) && label(artifact.session) &&
                      label(artifact.speaker);
  if (!labels || artifact.topics.size() > kMostLabels || artifact.contradicts.size() > kMostLabels) return "evidence_blob_disallowed";
  return CheckEvidenceValue(artifact.value);
}

Verdict CheckSensitive(const Artifact& artifact, const FindsSecret& finds_secret) {
  std::string all = AllTexts(artifact) + "\n";
  AppendStrings(artifact.value, &all);
  return finds_secret && finds_secret(all) ? Verdict("sensitive_content") : std::nullopt;
}

void Refuse(ScreenedArtifact* candidate, std::string_view reason) {
  candidate->refused = reason;
  Strip(&candidate->artifact);
}

ScreenedArtifact Screen(Artifact artifact, const FindsSecret& finds_secret) {
  ScreenedArtifact candidate;
  Verdict refused = CheckSourced(artifact);
  if (!refused) refused = CheckStanding(artifact);
  if (!refused) refused = CheckSensitive(artifact, finds_secret);
  if (!refused) refused = CheckEvidenceBlob(artifact);
  candidate.artifact = std::move(artifact);
  if (!refused) return candidate;
  const auto has_secret = [&](const std::string& text) { return finds_secret && finds_secret(text); };
  std::string& id = candidate.artifact.id;
  id = has_secret(id) ? std::string("unnamed:sensitive") : ShownId(id);  // a hash of a short secret can be guessed
  if (std::string& source = candidate.artifact.source; has_secret(source) || !IsPlainId(source)) source.clear();
  Refuse(&candidate, *refused);
  return candidate;
}

ToolOutput ScreenOutput(ToolOutput output, const FindsSecret& finds_secret) {
  std::string all = output.tool + "\n" + output.execution + "\n" + output.reason + "\n";
  for (const std::string& unknown : output.unknowns) all += unknown + "\n";
  AppendStrings(output.values, &all);
  if (finds_secret && finds_secret(all))
    output.refused = "sensitive_content";
  else if (CheckEvidenceValue(output.values) || CheckEvidenceText(all))
    output.refused = "evidence_blob_disallowed";
  if (output.refused.empty()) return output;
  output.values = Json::object();
  output.unknowns.clear();
  output.reason = "tool_error";
  output.available = false;
  if (output.refused == "sensitive_content") output.execution.clear();
  return output;
}

std::string ShownId(std::string_view id) {
  if (IsPlainId(id)) return std::string(id);
  constexpr std::size_t kDigits = 16;
  return "unnamed:" + ToHex(Sha256(id)).substr(0, kDigits);
}

}  // namespace acl::aegis
