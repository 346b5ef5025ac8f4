#pragma once
// RFC 8785 (JCS): the text that hashes are taken over. Keys in UTF-16 code unit order, numbers as ECMAScript prints them.

#include <string>

#include "shared/base/ids.h"
#include "shared/base/json.h"

namespace acl {

// The value must be storable (CheckStorable); integers beyond 2^53 are printed as the double they read as, as RFC 8785 says.
std::string CanonicalJson(const Json& value);
Hash256 CanonicalHash(const Json& value);
// Hash and length of the text.
struct CanonicalMeasure {
  Hash256 hash{};
  std::size_t bytes = 0;
};
CanonicalMeasure MeasureCanonical(const Json& value);

// Whether a key stands before another in canonical text.
bool CanonicalLess(std::string_view a, std::string_view b);

// JSON text as it is stored, hashed as it is and as RFC 8785 has it. Who writes its own keys in canonical order, and without blanks, has
// both in one: only values of others that are not canonical are written twice.
class StoredText {
 public:
  explicit StoredText(std::size_t bytes) { text_.reserve(bytes); }

  StoredText& Raw(std::string_view text) {  // the same in both
    text_ += text;
    return *this;
  }
  StoredText& String(std::string_view text);  // quoted
  // Key order and number text are kept. Both texts of it, until the next is written.
  struct Texts {
    std::string_view stored, canonical;
  };
  Texts Value(const Json& value);

  struct Hashes {
    Hash256 stored{}, canonical{};
  };
  Hashes Measure() const;
  std::string Take() && { return std::move(text_); }

 private:
  struct Other {
    std::size_t begin = 0, end = 0;
    std::string canonical;
  };

  std::string text_;
  std::vector<Other> others_;
};

}  // namespace acl
