#pragma once
// Shows a text that is still growing, as an answer that a model streams, by the same rules as a whole text (document 004; the record is
// made of the whole text all the same). What could still become a secret is held back: the longest decision of a rule and one byte more,
// and whatever began a value or a block that has not ended.

#include <string>
#include <string_view>
#include <vector>

#include "shared/aegis/sanitize/sanitizer.h"

namespace acl::aegis {

class Preview {
 public:
  explicit Preview(const Sanitizer& sanitizer) : sanitizer_(sanitizer) {}

  // What may be shown now and was not before. All of these and Finish together are Sanitize() of the whole text, however it was split.
  // kInvalid beyond kLongestText; nothing more is shown then.
  Result<std::string> Append(std::string_view chunk);
  // The rest: no more text follows.
  Result<std::string> Finish();

  const std::vector<Cut>& cut() const { return cut_; }

 private:
  const Sanitizer& sanitizer_;
  std::string text_;       // from a line start that nothing before it matters to
  std::size_t shown_ = 0;  // of text_
  std::size_t seen_ = 0;   // of the whole
  std::vector<Cut> cut_;
};

// How many bytes of a growing text stay as they are, sanitised, whatever follows.
std::size_t SafeLength(const Sanitizer& sanitizer, std::string_view growing);

}  // namespace acl::aegis
