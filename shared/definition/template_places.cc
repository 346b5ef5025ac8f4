#include "shared/definition/template_places.h"

#include <algorithm>

#include "shared/base/limits.h"

namespace acl {

namespace {

bool Continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

TemplatePlaces::TemplatePlaces(std::string_view file) : file_(file), lines_{0}, in_vain_(64 * limits::kMiB) {
  for (std::size_t at = 0; (at = file.find('\n', at)) != std::string_view::npos;) lines_.push_back(++at);
}

// Columns count characters, as the readers of files do.
std::size_t TemplatePlaces::OffsetOf(SourceMark mark) const {
  if (mark.line < 1 || std::size_t(mark.line) > lines_.size()) return file_.size();
  if (value_.mark.line != mark.line || value_.mark.column > mark.column) value_ = {lines_[std::size_t(mark.line) - 1], {mark.line, 1}};
  std::size_t& at = value_.offset;
  for (; value_.mark.column < mark.column && at < file_.size(); ++value_.mark.column) {
    ++at;
    while (at < file_.size() && Continues(file_[at])) ++at;
  }
  return at;
}

SourceMark TemplatePlaces::MarkOf(std::size_t offset) const {
  const auto line = std::upper_bound(lines_.begin(), lines_.end(), offset) - lines_.begin();
  if (part_.mark.line != line || part_.offset > offset) part_ = {lines_[std::size_t(line) - 1], {int(line), 1}};
  part_.mark.column += int(std::count_if(file_.begin() + std::ptrdiff_t(part_.offset), file_.begin() + std::ptrdiff_t(offset),
                                         [](char c) { return !Continues(c); }));
  part_.offset = offset;
  return part_.mark;
}

SourceMark TemplatePlaces::Of(std::string_view part, SourceMark value, std::size_t value_bytes, std::size_t* from) const {
  // A value takes more room in a file than its text: indentation, escapes.
  constexpr std::size_t kMore = 1000;
  const std::size_t begin = OffsetOf(value), end = std::min(begin + value_bytes * 3 + kMore, file_.size());
  const std::size_t first = std::max(begin, *from), reads = first < end ? end - first : 0;
  if (reads > in_vain_) return value;
  const std::size_t found = file_.substr(0, end).find(part, first);
  if (found == std::string_view::npos) {
    in_vain_ -= reads;
    return value;
  }
  *from = found + part.size();
  return MarkOf(found);
}

}  // namespace acl
