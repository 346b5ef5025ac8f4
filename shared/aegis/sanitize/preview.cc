#include "shared/aegis/sanitize/preview.h"

#include <fmt/format.h>

namespace acl::aegis {

Result<std::string> Preview::Append(std::string_view chunk) {
  seen_ += chunk.size();
  if (seen_ > kLongestText) {
    return Error{Code::kInvalid, fmt::format("an answer beyond {} bytes is not shown; ask for a shorter one", kLongestText)};
  }
  text_ += chunk;
  const auto scan = sanitizer_.ScanText(text_);
  if (scan.safe <= shown_) return std::string();
  std::string out = sanitizer_.Render(text_, scan, shown_, scan.safe, cut_);
  shown_ = scan.safe;
  if (scan.keep > 0) {
    text_.erase(0, scan.keep);
    shown_ -= scan.keep;
  }
  return out;
}

Result<std::string> Preview::Finish() {
  if (seen_ > kLongestText) {
    return Error{Code::kInvalid, fmt::format("an answer beyond {} bytes is not shown; ask for a shorter one", kLongestText)};
  }
  std::string out = sanitizer_.Render(text_, sanitizer_.ScanText(text_), shown_, text_.size(), cut_);
  text_.clear();
  shown_ = 0;
  return out;
}

std::size_t SafeLength(const Sanitizer& sanitizer, std::string_view growing) { return sanitizer.ScanText(growing).safe; }

}  // namespace acl::aegis
