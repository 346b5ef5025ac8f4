#pragma once
// Where in the file a part of a value stands: values know only where they begin.

#include <string>
#include <string_view>
#include <vector>

#include "shared/definition/workflow_definition.h"

namespace acl {

class TemplatePlaces {
 public:
  explicit TemplatePlaces(std::string_view file);

  // Where `part` stands behind `value`, which begins at this mark: the first place at or behind `*from`, which moves behind it. The mark
  // itself if the file writes the part otherwise (escapes, a line that is folded), or if too much was read for others that it does not.
  // Parts that are asked for in the order of the file cost one way through it, however long its lines are.
  SourceMark Of(std::string_view part, SourceMark value, std::size_t value_bytes, std::size_t* from) const;

 private:
  std::size_t OffsetOf(SourceMark mark) const;
  SourceMark MarkOf(std::size_t offset) const;

  // A place whose column is known: counting goes on there.
  struct Known {
    std::size_t offset = 0;
    SourceMark mark;
  };

  std::string_view file_;
  std::vector<std::size_t> lines_;  // where each begins
  mutable Known value_, part_;      // the last of each that was asked for
  mutable std::size_t in_vain_;     // bytes that may still be read for what is not found
};

}  // namespace acl
