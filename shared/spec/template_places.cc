#include "shared/spec/template_places.h"

#include <algorithm>

namespace acl {

namespace {

bool Continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

TemplatePlaces::TemplatePlaces(std::string_view file) : file_(file), lines_{0} {
  for (std::size_t at = 0; (at = file.find('\n', at)) != std::string_view::npos;) lines_.push_back(++at);
}

// Columns count characters, as the readers of files do.
std::size_t TemplatePlaces::OffsetOf(SourceMark mark) const {
  if (mark.line < 1 || std::size_t(mark.line) > lines_.size()) return file_.size();
  std::size_t at = lines_[std::size_t(mark.line) - 1];
  for (int column = 1; column < mark.column && at < file_.size(); ++column) {
    ++at;
    while (at < file_.size() && Continues(file_[at])) ++at;
  }
  return at;
}

SourceMark TemplatePlaces::MarkOf(std::size_t offset) const {
  const auto line = std::upper_bound(lines_.begin(), lines_.end(), offset) - lines_.begin();
  const std::size_t begin = lines_[std::size_t(line) - 1];
  const auto characters =
      std::count_if(file_.begin() + std::ptrdiff_t(begin), file_.begin() + std::ptrdiff_t(offset), [](char c) { return !Continues(c); });
  return {int(line), int(characters) + 1};
}

SourceMark TemplatePlaces::Of(std::string_view part, SourceMark value, std::size_t value_bytes, std::size_t* from) const {
  // A value takes more room in a file than its text: indentation, escapes.
  constexpr std::size_t kMore = 1000;
  const std::size_t begin = OffsetOf(value), reach = begin + value_bytes * 3 + kMore;
  const std::size_t found = file_.substr(0, std::min(reach, file_.size())).find(part, std::max(begin, *from));
  if (found == std::string_view::npos) return value;
  *from = found + part.size();
  return MarkOf(found);
}

}  // namespace acl
