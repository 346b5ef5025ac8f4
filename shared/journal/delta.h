#pragma once
// A change of a state as values: what a JSON Patch (RFC 6902) says before it is words. A kind makes it, the Document applies it, and the
// journal keeps it as text (shared/kernel/fold.h); replay reads the text back into the same values.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/json.h"
#include "shared/journal/patch_ops.h"

namespace acl {

namespace trie {
class Leaf;
}

struct DeltaOp {
  using Kind = patch::OpKind;

  Kind kind = Kind::kAdd;
  std::string entry;                   // its key
  std::string below;                   // JSON Pointer below the entry ("/status"); empty: the entry itself
  Json value;                          // add, replace and test
  std::string from_entry, from_below;  // move and copy

  // The entry as it is after the whole delta, where this operation puts it whole and nothing after it is needed to say what it is: set by
  // Document::Apply, which moves `value` there.
  std::shared_ptr<const trie::Leaf> leaf = nullptr;

  const Json& said() const;  // the value, wherever it is
};

class Delta {
 public:
  Delta() = default;
  // A patch in its words, for kinds that make few of them. What is no patch does not apply.
  Delta(const Json& patch);  // NOLINT(google-explicit-constructor)
  // kInvalid with the index of the operation: form and pointers; and each must name an entry.
  static Result<Delta> Parse(Json patch);

  void Add(std::string_view entry, Json value) { Op(DeltaOp::Kind::kAdd, entry).value = std::move(value); }
  void AddMember(std::string_view entry, std::string_view member, Json value);
  void Remove(std::string_view entry) { Op(DeltaOp::Kind::kRemove, entry); }
  void RemoveMember(std::string_view entry, std::string_view member);
  void Copy(std::string_view from_entry, std::string_view from_member, std::string_view entry);
  // An operation that cannot apply, named by the reason.
  static Delta Impossible(std::string_view reason);

  Json ToPatch() const;

  bool empty() const { return ops.empty() && !broken; }
  std::vector<DeltaOp> ops;
  std::shared_ptr<const Error> broken;  // no patch: why

 private:
  DeltaOp& Op(DeltaOp::Kind kind, std::string_view entry);
};

// Where an operation points, as JSON Pointer: the escaped key of the entry and what is below it.
void AppendPointer(std::string_view entry, std::string_view below, std::string& out);

}  // namespace acl
