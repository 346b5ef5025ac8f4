#pragma once
// Writes one event's payload and, with it, the changes that the payload makes to the state. For the fast path (fast_path.cc), which knows
// both before any delta exists; the text is the same as what WordPayload (kernel/fold.h) makes of that delta.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/canonical_json.h"
#include "shared/journal/event.h"
#include "shared/journal/trie.h"
#include "shared/workflow/compiled_definition.h"

namespace acl::workflow {

class PayloadWriter {
 public:
  PayloadWriter() { changes_.reserve(6); }

  // Canonical as it is.
  PayloadWriter& operator<<(std::string_view text) {
    text_.Raw(text);
    return *this;
  }
  PayloadWriter& operator<<(std::int64_t number);
  PayloadWriter& operator<<(char) = delete;  // it would be a number
  PayloadWriter& Value(const Json& value);

  // Operations. Put: an entry, from its text, which is canonical, or its value; the hash of its canonical text.
  Hash256 Put(const EntryWords& entry, std::string stored);
  Hash256 Put(const EntryWords& entry, const Json& value);
  void Remove(std::string_view entry);
  // An entry that says what a member of another does.
  void Copy(const EntryWords& from, const std::string& member, const Json& value);
  // What the set of ready steps says of itself: entries put whole, or removed.
  void Put(const DeltaOp& op);
  // A member of an entry, or its removal; the entry as it is after all of them is changed by `Become`.
  void PutMember(std::string_view entry, std::string_view member, const Json& value);
  void RemoveMember(std::string_view entry, std::string_view member);
  void Become(const EntryWords& entry, std::string stored);
  void Become(std::string_view entry, Json value);

  // What the operations so far do to the state.
  std::vector<trie::Change> TakeChanges();
  Event End(std::string_view type) &&;

 private:
  std::string_view Next();  // before an operation
  void Keep(const EntryWords& entry, std::string stored, const Hash256& canonical);

  StoredText text_{1'024};
  std::vector<trie::Change> changes_;
  bool first_ = true;
};

}  // namespace acl::workflow
