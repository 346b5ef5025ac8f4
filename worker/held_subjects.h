#pragma once
// The subjects that a worker holds, and which of them a round has to look at: those that may have something to say, and those whose timer
// is due. Most of ten thousand wait for a step to end; a round that asked each of them took milliseconds.
//
// Who only reads gets them const; who changes one says so by the way it is come by (Change), and it is looked at again.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "worker/leased_subject.h"

namespace acl {

class HeldSubjects {
 public:
  std::size_t size() const { return held_.size(); }
  bool empty() const { return held_.empty(); }
  bool contains(const SubjectId& subject) const { return held_.contains(subject); }
  const LeasedSubject* Find(const SubjectId& subject) const;
  const LeasedSubject& first() const { return *held_.begin()->second.run; }

  LeasedSubject& Take(const SubjectId& subject, std::unique_ptr<LeasedSubject> run);
  void Erase(const SubjectId& subject);
  // To change it, until the next Look or Settle. Null if it is not held.
  LeasedSubject* Change(const SubjectId& subject);

  // Takes in what was changed.
  void Settle();
  // The same, and from now on those whose timer is due may have something to say.
  void Look(WallTime db_now);
  // How many have, at most so many; `all`: of all that are held.
  std::size_t CountReady(const BuildContext& context, std::size_t at_most, bool all) const;
  // Those that may, or all, in turn from `first` on; each may be changed until the next Look or Settle.
  std::vector<LeasedSubject*> InTurn(const SubjectId& first, bool all);
  // The next timer of one that would hear of it.
  std::optional<WallTime> NextTimer() const;

  template <class Each>
  void ForEach(Each each) const {
    for (const auto& [subject, held] : held_) each(*held.run);
  }

 private:
  struct Held {
    std::unique_ptr<LeasedSubject> run;
    std::optional<WallTime> timer;  // as it stands in timers_
    bool changed = false;           // stands in changed_
  };
  void Note(const SubjectId& subject, Held& held);

  std::map<SubjectId, Held> held_;
  std::vector<SubjectId> changed_;
  std::map<SubjectId, LeasedSubject*> lively_;
  std::set<std::pair<WallTime, SubjectId>> timers_;
};

}  // namespace acl
