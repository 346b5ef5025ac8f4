#pragma once
// The door to external memory (document 000, 9): "If it changes daily, it does not belong in external memory." Decided by type and by
// content:
//
//   TYPE         preference, decision and fact are learned, nothing else
//   WORK_ID      names a task, goal or run of the project
//   CHECKPOINT   a sentence of it stands in a checkpoint, or the other way round, by at least kCopied of its word shingles
//   STATUS       says where a task, goal or work stands      PROGRESS      says how far it is, or what comes next
//   SHORT_LIVED  is true for less than a day                SECRET        looks like a password, a key or a token
//
// Pure: the same text and the same work give the same answer. It reads words, not meaning: docs/guides/memory.md says how often it errs.

#include <optional>
#include <utility>
#include <variant>

#include "shared/kinds/project/model.h"
#include "shared/memory/learning.h"

namespace acl::memory {

inline constexpr double kCopied = 0.6;

// nullopt: it may be learned. `work`: the project that the learning comes from.
std::optional<Refusal> CheckLearning(const Learning& learning, const project::Work& work);
// The same for a question, which goes out like a learning; it may be about what is true today only.
std::optional<Refusal> CheckQuery(const Query& query, const project::Work& work);

// What went through the gate; nothing else makes one, so no adapter can be handed anything else.
template <class What>
class Passed {
 public:
  const What& operator*() const { return what_; }
  const What* operator->() const { return &what_; }

 private:
  friend std::variant<Passed<Learning>, Refusal> PassLearning(Learning learning, const project::Work& work);
  friend std::variant<Passed<Query>, Refusal> PassQuery(Query query, const project::Work& work);
  explicit Passed(What what) : what_(std::move(what)) {}
  What what_;
};

std::variant<Passed<Learning>, Refusal> PassLearning(Learning learning, const project::Work& work);
std::variant<Passed<Query>, Refusal> PassQuery(Query query, const project::Work& work);

}  // namespace acl::memory
