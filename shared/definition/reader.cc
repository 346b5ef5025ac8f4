#include "shared/definition/reader.h"

#include <charconv>
#include <cmath>

#include "shared/definition/deciding_keys.h"
#include "shared/definition/suggest.h"

namespace acl {

void Reader::Error(SourceMark mark, std::string code, std::string message) {
  AddFinding(findings_, {Finding::Severity::kError, std::move(code), std::move(message), mark});
}
void Reader::Warning(SourceMark mark, std::string code, std::string message) {
  AddFinding(findings_, {Finding::Severity::kWarning, std::move(code), std::move(message), mark});
}
void Reader::Strictly(bool strict, SourceMark mark, std::string code, std::string message) {
  AddFinding(findings_, {strict ? Finding::Severity::kError : Finding::Severity::kWarning, std::move(code), std::move(message), mark});
}

std::string Reader::DidYouMean(std::string_view word, const std::vector<std::string_view>& candidates) {
  if (!MaySuggest()) return "";
  ++suggestions_;
  return acl::DidYouMean(word, candidates);
}

void Reader::WrongType(const SourceNode& node, const std::string& what, std::string_view wanted) {
  Error(node.mark, "wrong-type", what + " must be " + std::string(wanted) + ", this is " + std::string(KindName(node.kind)));
}

std::optional<std::string> Reader::String(const SourceNode& node, const std::string& what) {
  if (node.is_string()) return node.scalar.get<std::string>();
  bool quotable =
      node.kind == SourceNode::Kind::kInteger || node.kind == SourceNode::Kind::kFloat || node.kind == SourceNode::Kind::kBoolean;
  WrongType(node, what, quotable ? "a string (quote it)" : "a string");
  return std::nullopt;
}

std::optional<std::int64_t> Reader::Integer(const SourceNode& node, const std::string& what, std::int64_t low, std::int64_t high) {
  std::optional<std::int64_t> value;
  if (node.scalar.is_number_unsigned() && node.scalar.get<std::uint64_t>() > std::uint64_t(std::numeric_limits<std::int64_t>::max())) {
    value = std::numeric_limits<std::int64_t>::max();
  } else if (node.scalar.is_number_integer()) {
    value = node.scalar.get<std::int64_t>();
  } else if (node.scalar.is_number_float()) {
    double number = node.scalar.get<double>();
    if (number == std::floor(number) && std::abs(number) < 9e15) value = static_cast<std::int64_t>(number);
  } else if (node.is_string()) {
    const auto& text = node.scalar.get_ref<const std::string&>();
    std::int64_t number = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size() && !text.empty()) value = number;
  }
  if (!value) {
    WrongType(node, what, "an integer");
    return std::nullopt;
  }
  if (*value < low || *value > high) {
    Error(node.mark, "out-of-range",
          what + " must be between " + std::to_string(low) + " and " + std::to_string(high) + ", this is " + std::to_string(*value));
    return std::nullopt;
  }
  return value;
}

std::optional<double> Reader::Number(const SourceNode& node, const std::string& what, double low, double high) {
  if (!node.scalar.is_number()) {
    WrongType(node, what, "a number");
    return std::nullopt;
  }
  double value = node.scalar.get<double>();
  if (value >= low && value <= high) return value;
  Error(node.mark, "out-of-range", what + " must be between " + Json(low).dump() + " and " + Json(high).dump());
  return std::nullopt;
}

std::optional<bool> Reader::Boolean(const SourceNode& node, const std::string& what) {
  if (node.kind == SourceNode::Kind::kBoolean) return node.scalar.get<bool>();
  std::string text;
  if (node.is_string()) {
    text = node.scalar.get<std::string>();
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  } else if (node.scalar.is_number_integer()) {
    text = node.scalar.dump();
  }
  if (text == "true" || text == "yes" || text == "on" || text == "1") return true;
  if (text == "false" || text == "no" || text == "off" || text == "0") return false;
  WrongType(node, what, "true or false");
  return std::nullopt;
}

std::optional<std::chrono::milliseconds> Reader::Duration(const SourceNode& node, const std::string& what) {
  if (auto duration = ParseDuration(node.scalar)) return duration;
  Error(node.mark, "bad-duration", what + " must be " + kDurationForms);
  return std::nullopt;
}

std::optional<std::string> Reader::Word(const SourceNode& node, const std::string& what, const std::vector<std::string_view>& words) {
  auto text = String(node, what);
  if (!text) return std::nullopt;
  std::string list;
  for (std::string_view word : words) {
    if (word == *text) return text;
    list += (list.empty() ? "" : ", ") + std::string(word);
  }
  std::string folded;
  for (std::string_view word : words)
    if (word.size() == text->size() && std::equal(word.begin(), word.end(), text->begin(), [](char a, char b) {
          return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
        }))
      folded = "; did you mean '" + std::string(word) + "'?";
  Error(node.mark, "unknown-word",
        what + " must be one of " + list + ", not '" + text->substr(0, 60) + "'" + (folded.empty() ? DidYouMean(*text, words) : folded));
  return std::nullopt;
}

bool Reader::IsMap(const SourceNode& node, const std::string& what) {
  if (node.is_map()) return true;
  WrongType(node, what, "a map");
  return false;
}

bool Reader::IsList(const SourceNode& node, const std::string& what) {
  if (node.is_list()) return true;
  WrongType(node, what, "a list");
  return false;
}

std::vector<Reader::Placed> Reader::Strings(const SourceNode& node, const std::string& what) {
  std::vector<Placed> out;
  if (!node.is_list()) {
    WrongType(node, what, node.is_string() ? "a list (write [" + node.scalar.get<std::string>().substr(0, 60) + "])" : "a list");
    return out;
  }
  for (const SourceNode& item : node.items)
    if (auto text = String(item, "an item of " + what)) out.push_back({std::move(*text), item.mark});
  return out;
}

Fields::Fields(Reader* reader, const SourceNode& map, std::string owner, std::vector<std::string_view> known)
    : reader_(reader), map_(map), owner_(std::move(owner)) {
  // Words that other engines use for what is called otherwise here.
  static const std::map<std::string_view, std::string_view> kHints = {
      {"with", "inputs"},       {"params", "inputs"},     {"parameters", "inputs"},
      {"uses", "capability"},   {"action", "capability"}, {"capability_id", "capability"},
      {"type", "step_type"},    {"id", "name"},           {"variables", "initial_state"},
      {"vars", "initial_state"}};
  for (const SourceEntry& entry : map.entries) {
    if (std::find(known.begin(), known.end(), entry.key) != known.end() || entry.key.starts_with("x-")) continue;
    if (auto instead = InsteadOfDecidingKey(entry.key, known)) {
      reader->Strictly(!reader->options().accepted_before, entry.key_mark, "unknown-key",
                       "'" + entry.key.substr(0, 80) + "' is not a key of " + owner_ + ", and what it says would not happen: " + *instead);
      continue;
    }
    auto hint = kHints.find(entry.key);
    bool fits = hint != kHints.end() && std::find(known.begin(), known.end(), hint->second) != known.end();
    std::string suggestion = fits ? "; did you mean '" + std::string(hint->second) + "'?" : reader->DidYouMean(entry.key, known);
    reader->Strictly(reader->options().strict, entry.key_mark, "unknown-key",
                     "'" + entry.key.substr(0, 80) + "' is not a key of " + owner_ + " and is ignored" + suggestion);
  }
}

const SourceNode* Fields::Get(std::string_view key) const {
  const SourceEntry* entry = map_.Find(key);
  return entry ? &entry->value : nullptr;
}

void Fields::String(std::string_view key, std::string* out) {
  if (const SourceNode* node = Get(key))
    if (auto value = reader_->String(*node, What(key))) *out = std::move(*value);
}

void Fields::Boolean(std::string_view key, bool* out) {
  if (const SourceNode* node = Get(key))
    if (auto value = reader_->Boolean(*node, What(key))) *out = *value;
}

void Fields::Seconds(std::string_view key, std::chrono::seconds* out) {
  if (const SourceNode* node = Get(key))
    if (auto value = reader_->Integer(*node, What(key), 1, kLongestSeconds)) *out = std::chrono::seconds(*value);
}

void Fields::Map(std::string_view key, Json* out) {
  if (const SourceNode* node = Get(key))
    if (reader_->IsMap(*node, What(key))) *out = ToJson(*node);
}

}  // namespace acl
