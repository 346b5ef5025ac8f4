#pragma once
// Typed reading of a source tree: every wrong type becomes a finding with its place, and reading goes on, so that all findings of a file
// come at once. Accepts what real files write (docs/reference/other-runtimes.md#workflow-files): integers as "3" or 2.0, booleans as
// yes/no/on/off/1/0 (quoted too).

#include <limits>

#include "shared/definition/duration.h"
#include "shared/definition/source_tree.h"

namespace acl {

class Reader {
 public:
  Reader(const LoadOptions& options, std::vector<Finding>* findings) : options_(options), findings_(findings) {}

  const LoadOptions& options() const { return options_; }
  void Error(SourceMark mark, std::string code, std::string message);
  void Warning(SourceMark mark, std::string code, std::string message);
  // A warning, an error if the option is set.
  void Strictly(bool strict, SourceMark mark, std::string code, std::string message);

  // "; did you mean 'x'?" or "": each is looked for among all candidates, so only the first findings have one.
  std::string DidYouMean(std::string_view word, const std::vector<std::string_view>& candidates);
  bool MaySuggest() const { return suggestions_ < kMostSuggestions; }
  // Nothing more is kept, whatever it is (AddFinding): what costs something to look for need not be.
  bool Full() const { return findings_->size() >= 2 * limits::kFindingsKept; }

  // `what` names the value in messages: "'name' of step 'fetch'".
  std::optional<std::string> String(const SourceNode& node, const std::string& what);
  std::optional<std::int64_t> Integer(const SourceNode& node, const std::string& what, std::int64_t low, std::int64_t high);
  std::optional<double> Number(const SourceNode& node, const std::string& what, double low, double high);
  std::optional<bool> Boolean(const SourceNode& node, const std::string& what);
  // duration.h
  std::optional<std::chrono::milliseconds> Duration(const SourceNode& node, const std::string& what);
  std::optional<std::string> Word(const SourceNode& node, const std::string& what, const std::vector<std::string_view>& words);
  bool IsMap(const SourceNode& node, const std::string& what);
  bool IsList(const SourceNode& node, const std::string& what);
  // A list of strings, with their places.
  struct Placed {
    std::string text;
    SourceMark mark;
  };
  std::vector<Placed> Strings(const SourceNode& node, const std::string& what);

 private:
  void WrongType(const SourceNode& node, const std::string& what, std::string_view wanted);

  static constexpr int kMostSuggestions = 200;

  const LoadOptions& options_;
  std::vector<Finding>* findings_;
  int suggestions_ = 0;
};

// The keys of one map. Keys that are not known are reported once, with what may have been meant (deciding_keys.h); keys "x-..." are
// nobody's business.
class Fields {
 public:
  Fields(Reader* reader, const SourceNode& map, std::string owner, std::vector<std::string_view> known);

  const SourceNode& map() const { return map_; }
  // nullptr if it is not given.
  const SourceNode* Get(std::string_view key) const;
  std::string What(std::string_view key) const { return "'" + std::string(key) + "' of " + owner_; }

  // Leaves `out` alone if the key is missing or wrong.
  void String(std::string_view key, std::string* out);
  void Boolean(std::string_view key, bool* out);
  void Seconds(std::string_view key, std::chrono::seconds* out);
  // Maps and lists as written, checked only to be one.
  void Map(std::string_view key, Json* out);

 private:
  Reader* reader_;
  const SourceNode& map_;
  std::string owner_;
};

}  // namespace acl
