#include "shared/base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <vector>

#include "shared/base/foreign_json.h"
#include "shared/base/json_fast.h"
#include "shared/base/json_text.h"

namespace acl {

namespace {

// The parser reads through this, so that its handler knows how far it has come.
struct TrackedIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at = nullptr;
  const char** read_to = nullptr;

  reference operator*() const { return *at; }
  TrackedIterator& operator++() {
    *read_to = ++at;
    return *this;
  }
  TrackedIterator operator++(int) {
    TrackedIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const TrackedIterator& a, const TrackedIterator& b) { return a.at == b.at; }
};

// Lines and columns count from 1, columns in code points.
std::string Place(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  std::size_t line = 1, column = 1;
  for (char c : text.substr(0, offset)) {
    if (c == '\n') {
      ++line;
      column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) {
      ++column;
    }
  }
  return fmt::format("line {}, column {}", line, column);
}

// A key or token as a message shows it: cut short, valid UTF-8 whatever it was.
std::string Shown(std::string_view text) {
  constexpr std::size_t kShown = 60;
  std::string cut(text.substr(0, kShown));
  while (text.size() > kShown && !cut.empty() && (static_cast<unsigned char>(text[cut.size()]) & 0xc0) == 0x80) cut.pop_back();
  std::string quoted = DumpJson(Json(cut));
  if (cut.size() < text.size()) quoted.insert(quoted.size() - 1, "...");
  return quoted;
}

// What the parser waited for, if it says so behind the text it quotes; that text is anybody's, and may be cut inside a character.
std::string_view ExpectedAtTheEnd(std::string_view what) {
  for (const std::string_view name : {"; expected '[', '{', or a literal", "; expected string literal", "; expected ':'", "; expected ']'",
                                      "; expected '}'", "; expected end of input"}) {
    if (what.ends_with(name)) return name;
  }
  return {};
}

// Builds the value. Duplicate keys of a large object are looked up in a set, for ordered_json itself looks them up one by one.
class Builder {
 public:
  // `foreign`: foreign_json.h
  Builder(std::string_view text, const char* const& read_to, int max_depth, bool foreign)
      : text_(text), read_to_(read_to), token_end_(text.data()), max_depth_(max_depth), foreign_(foreign) {}

  bool null() { return Value(nullptr, 0); }
  bool boolean(bool value) { return Value(value, 0); }
  bool number_integer(std::int64_t value) { return Value(value, 1); }
  bool number_unsigned(std::uint64_t value) { return Value(value, 1); }
  bool number_float(double value, const std::string& token) {
    if (token.find_first_of(".eE") == std::string::npos) {
      if (foreign_) return Value(token, 1);
      return Fail(fmt::format("the integer {} does not fit into 64 bits; write it as a string", Shown(token)));
    }
    return Value(value, 1);
  }
  bool string(std::string& value) {
    if (foreign_) ReplaceNul(value);
    if (value.find('\0') != std::string::npos) return Fail("the string holds \\u0000 (NUL), which cannot be stored; remove it");
    return Value(std::move(value), 0);
  }
  bool binary(Json::binary_t&) { return Fail("binary values are not JSON"); }
  bool start_object(std::size_t) { return Open(Json::object()); }
  bool end_object() { return Close(); }
  bool start_array(std::size_t) { return Open(Json::array()); }
  bool end_array() { return Close(); }
  bool key(std::string& key) {
    if (foreign_) ReplaceNul(key);
    if (key.find('\0') != std::string::npos) return Fail("the key holds \\u0000 (NUL), which cannot be stored; remove it");
    open_.back().replaces = open_.back().Place(key);
    if (open_.back().replaces && !foreign_) {
      return Fail(fmt::format("the key {} stands twice in the same object; remove one", Shown(key)));
    }
    open_.back().key = std::move(key);
    token_end_ = read_to_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& why) {
    std::string_view what = why.what();
    std::size_t at = std::min(position == 0 ? 0 : position - 1, text_.size());
    const bool lexical = what.find("; last read: '") != std::string_view::npos;
    if (!lexical && at < text_.size() && std::string_view(",:{}[]").find(text_[at]) == std::string_view::npos) at = TokenStart();
    if (auto begin = what.find("syntax error "); begin != std::string_view::npos) what.remove_prefix(begin + 13);
    std::string message(what.substr(0, what.find("; last read: '")));
    if (lexical) message += ExpectedAtTheEnd(what);
    if (auto range = message.find("number overflow parsing"); range != std::string::npos) {
      message = "the number is too large for a double; write it as a string";
      at = TokenStart();
    }
    return FailAt(at, std::move(message));
  }

  Json& root() { return root_; }
  const std::string& error() const { return error_; }

 private:
  struct Container {
    Json* value;
    std::string key;                                     // whose value comes next
    std::unordered_map<std::string, std::size_t> known;  // where each key stands, once they are many
    std::optional<std::size_t> replaces;                 // the member whose value the next one replaces

    // Where the key stands already; else it is noted as the next one.
    std::optional<std::size_t> Place(const std::string& name) {
      constexpr std::size_t kFew = 16;
      const auto& members = value->get_ref<const Json::object_t&>();
      if (members.size() < kFew) {
        const auto same = std::find_if(members.begin(), members.end(), [&](const auto& member) { return member.first == name; });
        return same == members.end() ? std::nullopt : std::optional<std::size_t>(same - members.begin());
      }
      if (known.empty()) {
        for (std::size_t i = 0; i < members.size(); ++i) known.emplace((members.begin() + std::ptrdiff_t(i))->first, i);
      }
      const auto [it, fresh] = known.emplace(name, members.size());
      return fresh ? std::nullopt : std::optional<std::size_t>(it->second);
    }
  };

  static void ReplaceNul(std::string& text) {
    if (text.find('\0') == std::string::npos) return;
    std::string replaced;  // in one pass: a text may be nothing else
    replaced.reserve(text.size() + 2 * std::size_t(std::count(text.begin(), text.end(), '\0')));
    for (char c : text) c == '\0' ? replaced += "\xef\xbf\xbd" : replaced += c;
    text = std::move(replaced);
  }

  std::size_t TokenStart() const {
    const char* at = token_end_;
    const char* end = text_.data() + text_.size();
    while (at < end && std::string_view(" \t\r\n,:").find(*at) != std::string_view::npos) ++at;
    return std::size_t(at - text_.data());
  }
  bool Fail(std::string message) { return FailAt(TokenStart(), std::move(message)); }
  bool FailAt(std::size_t offset, std::string message) {
    error_ = fmt::format("not valid JSON: {}: {}", Place(text_, offset), message);
    return false;
  }
  Json* Attach(Json&& value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Container& parent = open_.back();
    if (parent.value->is_array()) {
      parent.value->push_back(std::move(value));
      return &parent.value->back();
    }
    auto& members = parent.value->get_ref<Json::object_t&>();
    if (const auto place = std::exchange(parent.replaces, std::nullopt))
      return &((members.begin() + std::ptrdiff_t(*place))->second = std::move(value));
    members.emplace_back(std::move(parent.key), std::move(value));
    return &members.back().second;
  }
  // A number ends one character before what was read: its end is seen by looking ahead.
  bool Value(Json&& value, int lookahead) {
    Attach(std::move(value));
    token_end_ = read_to_;
    if (lookahead > 0 && token_end_ > text_.data() && (static_cast<unsigned char>(token_end_[-1]) < '0' || token_end_[-1] > '9'))
      --token_end_;
    return true;
  }
  bool Open(Json&& container) {
    if (int(open_.size()) >= max_depth_) return Fail(fmt::format("nested deeper than {} levels", max_depth_));
    Json* placed = Attach(std::move(container));
    open_.push_back({placed, {}, {}, {}});
    token_end_ = read_to_;
    return true;
  }
  bool Close() {
    open_.pop_back();
    token_end_ = read_to_;
    return true;
  }

  const std::string_view text_;
  const char* const& read_to_;
  const char* token_end_;  // where the token before the current one ended
  const int max_depth_;
  const bool foreign_;
  Json root_;
  std::vector<Container> open_;
  std::string error_;
};

// Above it the short cut is none: its parser takes fourteen times the text, whatever stands in it.
constexpr std::size_t kMostFastBytes = 4u << 20;

std::string ReplaceBadUtf8(std::string_view text) {
  std::string good;
  for (std::size_t bad; (bad = FindBadUtf8(text)) != std::string_view::npos; text.remove_prefix(bad + 1)) {
    good.append(text.substr(0, bad)).append("\xef\xbf\xbd");
  }
  return good.append(text);
}

void WriteString(const std::string& text, std::string& out) {
  FindBadUtf8(text) == std::string_view::npos ? AppendJsonString(text, out) : AppendJsonString(ReplaceBadUtf8(text), out);
}

// A number with a fraction or exponent reads back as one: 1.0 is not 1, and -0.0 keeps its sign.
void WriteDouble(double value, std::string& out) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  const std::size_t start = out.size();
  if (value == 0 && std::signbit(value)) out += '-';
  AppendEcmaScriptNumber(value, out);
  if (out.find_first_of(".e", start) == std::string::npos) out += ".0";
}

void Write(const Json& value, std::string& out) {
  switch (value.type()) {
    case Json::value_t::boolean: out += value.get<bool>() ? "true" : "false"; return;
    case Json::value_t::string: WriteString(value.get_ref<const std::string&>(), out); return;
    case Json::value_t::number_float: WriteDouble(value.get<double>(), out); return;
    case Json::value_t::number_unsigned: AppendInteger(value.get<std::uint64_t>(), out); return;
    case Json::value_t::number_integer: AppendInteger(value.get<std::int64_t>(), out); return;
    case Json::value_t::array: {
      char before = '[';
      for (const Json& item : value.get_ref<const Json::array_t&>()) {
        out += before;
        before = ',';
        Write(item, out);
      }
      out += before == '[' ? "[]" : "]";
      return;
    }
    case Json::value_t::object: {
      char before = '{';
      for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) {
        out += before;
        before = ',';
        WriteString(key, out);
        out += ':';
        Write(member, out);
      }
      out += before == '{' ? "{}" : "}";
      return;
    }
    case Json::value_t::null:
    case Json::value_t::binary:
    case Json::value_t::discarded: out += "null"; return;
  }
}

bool ClosesAtOnce(std::string_view text, std::size_t at) {
  at = text.find_first_not_of(" \t\r\n", at);
  return at != std::string_view::npos && (text[at] == ']' || text[at] == '}');
}

// Values begin behind an opening bracket that does not close at once, a comma or nothing; what is no JSON is refused later. `too_many`:
// where there are more than `most`.
std::size_t CountValues(std::string_view text, std::size_t most, int max_depth, std::size_t* too_many) {
  std::size_t values = 1;
  int depth = 0;
  for (std::size_t i = 0; i < text.size() && depth <= max_depth; ++i) {  // what is too deep is refused as that
    const char c = text[i];
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
    } else if ((c == ',' || ((c == '[' || c == '{') && !ClosesAtOnce(text, i + 1))) && ++values > most) {
      *too_many = i;
      return values;
    }
  }
  return values;
}

// A text too short for so many is not read.
Status CheckValueCount(std::string_view text, std::size_t most, int max_depth) {
  if (text.size() / 2 < most) return {};
  std::size_t at = 0;
  if (CountValues(text, most, max_depth, &at) <= most) return {};
  return {Code::kInvalid, fmt::format("not valid JSON: {}: more than {} values", Place(text, at), most)};
}

class StorableCheck {
 public:
  explicit StorableCheck(const JsonLimits& limits) : limits_(limits) {}

  Status Run(const Json& value) { return Visit(value, 0, nullptr); }

 private:
  // Where a value stands; its text is made only for a message.
  struct Place {
    const Place* above = nullptr;
    const std::string* key = nullptr;
    std::size_t index = 0;
  };

  Status Text(const std::string& text, const Place* place, std::string_view what) {
    bytes_ += text.size() + 2;
    if (std::memchr(text.data(), 0, text.size()) != nullptr) return Refuse(place, fmt::format("{} holds NUL", what));
    if (std::size_t bad = FindBadUtf8(text); bad != std::string_view::npos) {
      return Refuse(place, fmt::format("{} is not valid UTF-8 (byte {})", what, bad));
    }
    return {};
  }

  Status Visit(const Json& value, int depth, const Place* place) {
    bytes_ += 2;
    if (++values_ > limits_.max_values) return Refuse(place, fmt::format("more than {} values", limits_.max_values));
    if (bytes_ > limits_.max_bytes) return Refuse(place, fmt::format("the value is larger than {} bytes", limits_.max_bytes));
    switch (value.type()) {
      case Json::value_t::string: return Text(value.get_ref<const std::string&>(), place, "the string");
      case Json::value_t::number_float: return std::isfinite(value.get<double>()) ? Status() : Refuse(place, "the number is not finite");
      case Json::value_t::binary:
      case Json::value_t::discarded: return Refuse(place, "the value is not JSON");
      case Json::value_t::object:
      case Json::value_t::array: break;
      default: return {};
    }
    if (depth >= limits_.max_depth) return Refuse(place, fmt::format("nested deeper than {} levels", limits_.max_depth));
    if (value.is_array()) {
      Place below{place, nullptr, 0};
      for (const Json& item : value.get_ref<const Json::array_t&>()) {
        if (auto status = Visit(item, depth + 1, &below); !status) return status;
        ++below.index;
      }
      return {};
    }
    for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) {
      if (auto status = Text(key, place, "a key"); !status) return status;
      const Place below{place, &key, 0};
      if (auto status = Visit(member, depth + 1, &below); !status) return status;
    }
    return {};
  }

  static std::string PointerOf(const Place* place) {
    return place ? PointerOf(place->above) + '/' + (place->key ? *place->key : std::to_string(place->index)) : std::string();
  }

  static Status Refuse(const Place* place, std::string_view what) {
    return {Code::kInvalid, fmt::format("cannot be stored: at {}: {}", place ? Shown(PointerOf(place)) : "the top", what)};
  }

  const JsonLimits& limits_;
  std::size_t bytes_ = 0, values_ = 0;
};

}  // namespace

namespace {

Result<Json> Parse(std::string_view text, const JsonLimits& limits, bool foreign) {
  if (text.size() > limits.max_bytes) {
    return {Code::kInvalid, fmt::format("not valid JSON: {} bytes are more than the {} allowed", text.size(), limits.max_bytes)};
  }
  if (text.starts_with("\xef\xbb\xbf")) {
    return {Code::kInvalid, "not valid JSON: line 1, column 1: starts with a byte order mark; save it as UTF-8 without one"};
  }
  // The parser below takes a NUL byte for the end of the text: what follows would be neither read nor refused.
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    return {Code::kInvalid, fmt::format("not valid JSON: {}: a NUL byte; save it as UTF-8 text", Place(text, nul))};
  }
  if (auto counted = CheckValueCount(text, limits.max_values, limits.max_depth); !counted) return counted.error();
  if (text.size() <= kMostFastBytes) {
    if (auto value = ParseJsonFast(text, limits.max_depth)) return std::move(*value);
  }
  const char* read_to = text.data();
  Builder builder(text, read_to, limits.max_depth, foreign);
  TrackedIterator begin{text.data(), &read_to}, end{text.data() + text.size(), &read_to};
  if (!Json::sax_parse(begin, end, &builder)) return {Code::kInvalid, builder.error()};
  return std::move(builder.root());
}

}  // namespace

Result<Json> ParseJson(std::string_view text, const JsonLimits& limits) { return Parse(text, limits, false); }
Result<Json> ParseForeignJson(std::string_view text, const JsonLimits& limits) { return Parse(text, limits, true); }

void AppendJson(const Json& value, std::string& out) { Write(value, out); }

std::string DumpJson(const Json& value) {
  return WithScratch([&](std::string& out) {
    Write(value, out);
    return std::string(out);
  });
}

std::size_t CountJsonValues(std::string_view text) {
  std::size_t ignored = 0;
  return CountValues(text, kAnyNumberOfValues, std::numeric_limits<int>::max(), &ignored);
}

Status CheckStorable(const Json& value, const JsonLimits& limits) { return StorableCheck(limits).Run(value); }

}  // namespace acl
