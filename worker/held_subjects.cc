#include "worker/held_subjects.h"

#include "shared/base/mutant.h"

namespace acl {

const LeasedSubject* HeldSubjects::Find(const SubjectId& subject) const {
  const auto it = held_.find(subject);
  return it == held_.end() ? nullptr : it->second.run.get();
}

LeasedSubject& HeldSubjects::Take(const SubjectId& subject, std::unique_ptr<LeasedSubject> run) {
  Held& held = held_[subject];
  held.run = std::move(run);
  Note(subject, held);
  return *held.run;
}

void HeldSubjects::Erase(const SubjectId& subject) {
  const auto it = held_.find(subject);
  if (it == held_.end()) return;
  if (it->second.timer) timers_.erase({*it->second.timer, subject});
  lively_.erase(subject);
  held_.erase(it);
}

LeasedSubject* HeldSubjects::Change(const SubjectId& subject) {
  const auto it = held_.find(subject);
  if (it == held_.end()) return nullptr;
  if (!Mutant("change_unnoticed")) Note(subject, it->second);
  return it->second.run.get();
}

void HeldSubjects::Note(const SubjectId& subject, Held& held) {
  if (!std::exchange(held.changed, true)) changed_.push_back(subject);
}

void HeldSubjects::Settle() {
  for (const SubjectId& subject : changed_) {
    const auto it = held_.find(subject);
    if (it == held_.end()) continue;
    Held& held = it->second;
    held.changed = false;
    if (held.run->Restless()) {
      lively_[subject] = held.run.get();
    } else {
      lively_.erase(subject);
    }
    const auto timer = held.run->Hears() ? held.run->NextTimer() : std::nullopt;
    if (timer == held.timer) continue;
    if (held.timer) timers_.erase({*held.timer, subject});
    if (timer) timers_.emplace(*timer, subject);
    held.timer = timer;
  }
  changed_.clear();
}

void HeldSubjects::Look(WallTime db_now) {
  Settle();
  for (const auto& [at, subject] : timers_) {
    if (at > db_now) break;
    lively_[subject] = held_.at(subject).run.get();
  }
}

std::size_t HeldSubjects::CountReady(const BuildContext& context, std::size_t at_most, bool all) const {
  std::size_t ready = 0;
  if (all) {
    for (auto it = held_.begin(); it != held_.end() && ready < at_most; ++it) ready += it->second.run->Ready(context) ? 1 : 0;
    return ready;
  }
  for (auto it = lively_.begin(); it != lively_.end() && ready < at_most; ++it) ready += it->second->Ready(context) ? 1 : 0;
  return ready;
}

std::vector<LeasedSubject*> HeldSubjects::InTurn(const SubjectId& first, bool all) {
  std::vector<LeasedSubject*> runs;
  const auto add = [&](const SubjectId& subject, LeasedSubject* run) {
    Note(subject, held_.at(subject));
    runs.push_back(run);
  };
  if (all) {
    for (auto it = held_.lower_bound(first); it != held_.end(); ++it) add(it->first, it->second.run.get());
    for (auto it = held_.begin(); it != held_.lower_bound(first); ++it) add(it->first, it->second.run.get());
  } else {
    for (auto it = lively_.lower_bound(first); it != lively_.end(); ++it) add(it->first, it->second);
    for (auto it = lively_.begin(); it != lively_.lower_bound(first); ++it) add(it->first, it->second);
  }
  return runs;
}

std::optional<WallTime> HeldSubjects::NextTimer() const { return timers_.empty() ? std::nullopt : std::optional(timers_.begin()->first); }

}  // namespace acl
