#include "shared/definition/source_tree.h"

#include <charconv>
#include <cmath>

namespace acl {

namespace {

// Byte offset of the first byte that is not well-formed UTF-8 (overlong forms and surrogates included), or npos.
std::size_t FirstBadUtf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    auto byte = [&](std::size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u; };
    unsigned first = byte(i);
    std::size_t length = first < 0x80                       ? 1
                         : (first >= 0xC2 && first <= 0xDF) ? 2
                         : (first & 0xF0) == 0xE0           ? 3
                         : (first >= 0xF0 && first <= 0xF4) ? 4
                                                            : 0;
    if (length == 0) return i;
    for (std::size_t k = 1; k < length; ++k)
      if ((byte(i + k) & 0xC0) != 0x80) return i;
    unsigned second = byte(i + 1);
    bool bad = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || (first == 0xF0 && second < 0x90) ||
               (first == 0xF4 && second > 0x8F);
    if (bad) return i;
    i += length;
  }
  return std::string_view::npos;
}

SourceMark MarkOfOffset(std::string_view text, std::size_t offset) {
  SourceMark mark{1, 1};
  for (std::size_t i = 0; i < offset && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++mark.line;
      mark.column = 1;
    } else {
      ++mark.column;
    }
  }
  return mark;
}

bool AllOf(std::string_view text, bool (*test)(char)) { return !text.empty() && std::all_of(text.begin(), text.end(), test); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsOctal(char c) { return c >= '0' && c <= '7'; }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

PlainScalar IntegerOf(const std::string& text, std::string_view digits, int base, bool negative) {
  PlainScalar out{SourceNode::Kind::kInteger, nullptr, {}};
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  constexpr std::uint64_t kMinMagnitude = std::uint64_t{1} << 63;
  if (error != std::errc() || end != digits.data() + digits.size() || (negative && value > kMinMagnitude)) {
    out.error = "the integer " + text.substr(0, 40) + " does not fit into 64 bits; quote it to keep it as text";
    out.value = text;
  } else if (negative) {
    out.value = static_cast<std::int64_t>(~value + 1);
  } else if (value >= kMinMagnitude) {
    out.value = value;
  } else {
    out.value = static_cast<std::int64_t>(value);
  }
  return out;
}

// [0-9]* with optional fraction and exponent, at least one digit before or after the point.
bool LooksLikeFloat(std::string_view text) {
  std::size_t i = 0, whole = 0, fraction = 0;
  while (i < text.size() && IsDigit(text[i])) ++i, ++whole;
  if (i < text.size() && text[i] == '.') {
    ++i;
    while (i < text.size() && IsDigit(text[i])) ++i, ++fraction;
  }
  if (whole + fraction == 0) return false;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (i == text.size()) return false;
    while (i < text.size() && IsDigit(text[i])) ++i;
  }
  return i == text.size();
}

}  // namespace

const SourceEntry* SourceNode::Find(std::string_view key) const {
  for (const SourceEntry& entry : entries)
    if (entry.key == key) return &entry;
  return nullptr;
}

std::string_view KindName(SourceNode::Kind kind) {
  switch (kind) {
    case SourceNode::Kind::kNull: return "null";
    case SourceNode::Kind::kBoolean: return "a boolean";
    case SourceNode::Kind::kInteger: return "an integer";
    case SourceNode::Kind::kFloat: return "a number with a fraction";
    case SourceNode::Kind::kString: return "a string";
    case SourceNode::Kind::kList: return "a list";
    case SourceNode::Kind::kMap: return "a map";
  }
  return "?";
}

Json ToJson(const SourceNode& node) {
  if (node.is_list()) {
    Json list = Json::array();
    for (const SourceNode& item : node.items) list.push_back(ToJson(item));
    return list;
  }
  if (node.is_map()) {
    // ordered_json searches linearly on insertion; keys are distinct here, so they go straight into the underlying vector.
    Json map = Json::object();
    auto& object = map.get_ref<Json::object_t&>();
    object.reserve(node.entries.size());
    for (const SourceEntry& entry : node.entries) object.Container::emplace_back(entry.key, ToJson(entry.value));
    return map;
  }
  return node.scalar;
}

PlainScalar ResolvePlain(const std::string& text) {
  using Kind = SourceNode::Kind;
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return {Kind::kNull, nullptr, {}};
  if (text == "true" || text == "True" || text == "TRUE") return {Kind::kBoolean, true, {}};
  if (text == "false" || text == "False" || text == "FALSE") return {Kind::kBoolean, false, {}};
  std::string_view body = text;
  if (body.starts_with("0o") && AllOf(body.substr(2), IsOctal)) return IntegerOf(text, body.substr(2), 8, false);
  if (body.starts_with("0x") && AllOf(body.substr(2), IsHex)) return IntegerOf(text, body.substr(2), 16, false);
  bool negative = body.front() == '-';
  if (negative || body.front() == '+') body.remove_prefix(1);
  if (AllOf(body, IsDigit)) return IntegerOf(text, body, 10, negative);
  if (body == ".inf" || body == ".Inf" || body == ".INF" || text == ".nan" || text == ".NaN" || text == ".NAN")
    return {Kind::kFloat, text, text + " has no JSON form; quote it to keep it as text"};
  if (LooksLikeFloat(body)) {
    // Not from_chars: libstdc++ 12 tells an overflow from an underflow by nothing. The C locale is never changed by us.
    const double value = std::strtod(std::string(body).c_str(), nullptr);
    if (!std::isfinite(value))
      return {Kind::kFloat, text, "the number " + text.substr(0, 40) + " is out of range; quote it to keep it as text"};
    return {Kind::kFloat, negative ? -value : value, {}};
  }
  return {Kind::kString, text, {}};
}

void AddError(std::vector<Finding>* findings, SourceMark mark, std::string code, std::string message) {
  AddFinding(findings, {Finding::Severity::kError, std::move(code), std::move(message), mark});
}

void AddFinding(std::vector<Finding>* findings, Finding finding) {
  const bool warning = finding.severity == Finding::Severity::kWarning;
  if (findings->size() >= limits::kFindingsKept * (warning ? 1 : 2)) return;
  if (finding.message.size() > limits::kFindingBytes) {
    std::size_t end = limits::kFindingBytes;
    while (end > 0 && (static_cast<unsigned char>(finding.message[end]) & 0xC0) == 0x80) --end;
    finding.message.resize(end);
    finding.message += " ...";
    finding.message.shrink_to_fit();
  }
  findings->push_back(std::move(finding));
}

void AddEntry(SourceNode* map, SourceEntry entry, std::vector<Finding>* findings) {
  if (entry.key.find('\0') != std::string::npos)
    AddError(findings, entry.key_mark, "nul-character", "a key holds the NUL character; remove it");
  map->entries.push_back(std::move(entry));
}

std::optional<SourceNode> ReadSource(const std::string& original, const LoadOptions& options, std::vector<Finding>* findings) {
  if (original.size() > options.max_bytes) {
    AddError(findings, {1, 1}, "too-large",
             "the file has " + std::to_string(original.size()) + " bytes; the limit is " + std::to_string(options.max_bytes) +
                 ": move data into files of the run");
    return std::nullopt;
  }
  const std::string text = original.starts_with("\xEF\xBB\xBF") ? original.substr(3) : original;
  if (std::size_t at = text.find('\0'); at != std::string::npos) {
    AddError(findings, MarkOfOffset(text, at), "nul-character", "the file holds a NUL byte; save it as UTF-8 text");
    return std::nullopt;
  }
  if (std::size_t at = FirstBadUtf8(text); at != std::string::npos) {
    AddError(findings, MarkOfOffset(text, at), "invalid-utf8", "this byte is not valid UTF-8; save the file as UTF-8");
    return std::nullopt;
  }
  std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) {
    AddError(findings, {1, 1}, "empty-file", "the file is empty; a workflow needs at least 'name' and 'steps'");
    return std::nullopt;
  }
  if (text[first] != '{' && text[first] != '[') return ReadYaml(text, options, findings);
  // JSON, or YAML in flow style: whichever reads it; if neither does, the reader that came further knows better what is wrong.
  std::vector<Finding> json_findings, yaml_findings;
  if (auto tree = ReadJsonSource(text, options, &json_findings)) {
    findings->insert(findings->end(), json_findings.begin(), json_findings.end());
    return tree;
  }
  auto tree = ReadYaml(text, options, &yaml_findings);
  auto place = [](const std::vector<Finding>& of) {
    return of.empty() ? std::pair(0, 0) : std::pair(of.back().mark.line, of.back().mark.column);
  };
  bool known_better = json_findings.back().code != "syntax" || place(json_findings) >= place(yaml_findings);
  const auto& chosen = !tree && known_better ? json_findings : yaml_findings;
  findings->insert(findings->end(), chosen.begin(), chosen.end());
  return tree;
}

}  // namespace acl
