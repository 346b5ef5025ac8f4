#pragma once
// Which steps could run, as a set of plan positions kept in small entries of the Document: a trie of 32-bit words, so that the first in
// plan order is found, added and removed by touching one word a level (2 levels up to 1024 steps, 3 up to 32 768).
//
//   "ready/0/<position / 32>": bits of 32 positions      "ready/1/<n / 32>": which words of level 0 are not empty      ...
//
// A step is in the set from the moment its dependencies are done until it completes, fails, waits for a retry or for a person; while an
// attempt runs it stays in.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/journal/document.h"

namespace acl::workflow {

class ReadySet {
 public:
  // `prefix`: of the keys of another set than the run's own (frontier.h).
  ReadySet(const Document& state, int total, std::string prefix = "ready/");

  static constexpr int kWordBits = 32;
  static std::string FirstWord() { return "ready/0/0"; }  // the only one of a run of so many steps

  bool Has(int position) const;
  // The first position at or after `from`.
  std::optional<int> Next(int from) const;

  bool Empty() const { return !Next(0); }
  void Insert(int position);
  void Erase(int position);
  // The operations of all changes made, one a word.
  void AppendTo(Delta& delta) const;

 private:
  std::string Key(int level, int word) const;
  std::uint32_t Word(int level, int word) const;

  const Document& state_;
  std::string prefix_;
  int levels_ = 1;
  struct Changed {
    int level = 0, word = 0;
    std::uint32_t bits = 0;
  };
  void Put(int level, int word, std::uint32_t bits);
  std::vector<Changed> changed_;  // a word a level, mostly
};

}  // namespace acl::workflow
