#include <charconv>

#include "shared/definition/source_tree.h"

namespace acl {

namespace {

// A strict JSON reader that keeps places. Stops at the first syntax error; recursion is bounded by max_depth.
class JsonReader {
 public:
  JsonReader(const std::string& text, const LoadOptions& options, std::vector<Finding>* findings)
      : text_(text), options_(options), findings_(findings) {}

  std::optional<SourceNode> Read() {
    SourceNode root;
    if (!Value(&root, 0)) return std::nullopt;
    Space();
    if (at_ != text_.size() && !Fail("syntax", "there is more text after the JSON value")) return std::nullopt;
    return root;
  }

 private:
  SourceMark Here() const { return {line_, static_cast<int>(at_ - line_start_) + 1}; }
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool Fail(std::string code, std::string message) {
    AddError(findings_, Here(), std::move(code), std::move(message));
    return false;
  }

  void Space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r' || text_[at_] == '\n')) {
      if (text_[at_++] == '\n') {
        ++line_;
        line_start_ = at_;
      }
    }
  }

  bool Value(SourceNode* node, int depth) {
    Space();
    node->mark = Here();
    if (++count_ > options_.max_nodes)
      return Fail("too-many-values", "the file has more than " + std::to_string(options_.max_nodes) + " values");
    char c = Peek();
    if ((c == '{' || c == '[') && depth >= options_.max_depth)
      return Fail("too-deep", "values are nested deeper than " + std::to_string(options_.max_depth) + " levels");
    if (c == '{') return Map(node, depth);
    if (c == '[') return List(node, depth);
    if (c == '"') {
      std::string value;
      if (!String(&value)) return false;
      node->kind = SourceNode::Kind::kString;
      if (value.find('\0') != std::string::npos)
        AddError(findings_, node->mark, "nul-character", "the text holds the NUL character, which cannot be stored; remove it");
      node->scalar = std::move(value);
      return true;
    }
    return Word(node);
  }

  bool Map(SourceNode* node, int depth) {
    node->kind = SourceNode::Kind::kMap;
    std::map<std::string, int> seen;
    ++at_;
    Space();
    if (Peek() == '}') return ++at_, true;
    while (true) {
      Space();
      SourceEntry entry;
      entry.key_mark = Here();
      if (Peek() != '"') return Fail("syntax", "expected a key in double quotes");
      if (!String(&entry.key)) return false;
      Space();
      if (Peek() != ':') return Fail("syntax", "expected ':' after the key");
      ++at_;
      if (!Value(&entry.value, depth + 1)) return false;
      auto [first, fresh] = seen.emplace(entry.key, entry.key_mark.line);
      if (fresh) {
        AddEntry(node, std::move(entry), findings_);
      } else {
        AddError(findings_, entry.key_mark, "duplicate-key",
                 "'" + entry.key.substr(0, 80) + "' is given twice (first in line " + std::to_string(first->second) + "); keep one");
      }
      Space();
      if (Peek() == '}') return ++at_, true;
      if (Peek() != ',') return Fail("syntax", "expected ',' or '}'");
      ++at_;
    }
  }

  bool List(SourceNode* node, int depth) {
    node->kind = SourceNode::Kind::kList;
    ++at_;
    Space();
    if (Peek() == ']') return ++at_, true;
    while (true) {
      SourceNode item;
      if (!Value(&item, depth + 1)) return false;
      node->items.push_back(std::move(item));
      Space();
      if (Peek() == ']') return ++at_, true;
      if (Peek() != ',') return Fail("syntax", "expected ',' or ']'");
      ++at_;
    }
  }

  // true, false, null or a number: JSON's forms only, then read like a plain YAML scalar.
  bool Word(SourceNode* node) {
    std::size_t end = at_;
    while (end < text_.size() && std::string_view("+-.").find(text_[end]) != std::string_view::npos) ++end;
    while (end < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[end])) || std::string_view("+-.").find(text_[end]) != std::string_view::npos))
      ++end;
    std::string word = text_.substr(at_, end - at_);
    if (word != "true" && word != "false" && word != "null" && !IsJsonNumber(word)) return Fail("syntax", "expected a JSON value");
    PlainScalar plain = ResolvePlain(word);
    if (!plain.error.empty()) AddError(findings_, node->mark, "bad-number", plain.error);
    node->kind = plain.error.empty() ? plain.kind : SourceNode::Kind::kString;
    node->scalar = std::move(plain.value);
    at_ = end;
    return true;
  }

  static bool IsJsonNumber(std::string_view word) {
    std::size_t i = word.starts_with('-') ? 1 : 0;
    auto digits = [&] {
      std::size_t from = i;
      while (i < word.size() && word[i] >= '0' && word[i] <= '9') ++i;
      return i - from;
    };
    bool leading_zero = i < word.size() && word[i] == '0';
    std::size_t whole = digits();
    if (whole == 0 || (leading_zero && whole > 1)) return false;
    if (i < word.size() && word[i] == '.' && (++i, digits() == 0)) return false;
    if (i < word.size() && (word[i] == 'e' || word[i] == 'E')) {
      ++i;
      if (i < word.size() && (word[i] == '+' || word[i] == '-')) ++i;
      if (digits() == 0) return false;
    }
    return i == word.size();
  }

  bool String(std::string* out) {
    ++at_;
    while (true) {
      if (at_ >= text_.size()) return Fail("syntax", "the string is not closed");
      char c = text_[at_];
      if (c == '"') return ++at_, true;
      if (static_cast<unsigned char>(c) < 0x20) return Fail("syntax", "a control character in a string must be written as an escape");
      if (c != '\\') {
        *out += c;
        ++at_;
        continue;
      }
      if (!Escape(out)) return false;
    }
  }

  bool Escape(std::string* out) {
    static constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
    char c = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (std::size_t index = c == '\0' ? std::string_view::npos : kFrom.find(c); index != std::string_view::npos) {
      *out += kTo[index];
      at_ += 2;
      return true;
    }
    unsigned code = 0;
    if (c != 'u' || !Hex4(at_ + 2, &code)) return Fail("syntax", "unknown escape in a string");
    if (code >= 0xDC00 && code <= 0xDFFF) return Fail("lone-surrogate", "half of a surrogate pair; write the whole character");
    std::size_t used = 6;
    if (code >= 0xD800 && code <= 0xDBFF) {
      unsigned low = 0;
      bool pair = text_.compare(at_ + 6, 2, "\\u") == 0 && Hex4(at_ + 8, &low) && low >= 0xDC00 && low <= 0xDFFF;
      if (!pair) return Fail("lone-surrogate", "half of a surrogate pair; write the whole character");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      used = 12;
    }
    AppendUtf8(code, out);
    at_ += used;
    return true;
  }

  bool Hex4(std::size_t from, unsigned* code) const {
    if (from + 4 > text_.size()) return false;
    const char* begin = text_.data() + from;
    auto [end, error] = std::from_chars(begin, begin + 4, *code, 16);
    return error == std::errc() && end == begin + 4;
  }

  static void AppendUtf8(unsigned code, std::string* out) {
    auto put = [&](unsigned byte) { out->push_back(static_cast<char>(byte)); };
    if (code < 0x80) {
      put(code);
    } else if (code < 0x800) {
      put(0xC0 | (code >> 6)), put(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
      put(0xE0 | (code >> 12)), put(0x80 | ((code >> 6) & 0x3F)), put(0x80 | (code & 0x3F));
    } else {
      put(0xF0 | (code >> 18)), put(0x80 | ((code >> 12) & 0x3F)), put(0x80 | ((code >> 6) & 0x3F)), put(0x80 | (code & 0x3F));
    }
  }

  const std::string& text_;
  const LoadOptions& options_;
  std::vector<Finding>* findings_;
  std::size_t at_ = 0, line_start_ = 0;
  int line_ = 1, count_ = 0;
};

}  // namespace

std::optional<SourceNode> ReadJsonSource(const std::string& text, const LoadOptions& options, std::vector<Finding>* findings) {
  return JsonReader(text, options, findings).Read();
}

}  // namespace acl
