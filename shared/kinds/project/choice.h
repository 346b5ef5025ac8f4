#pragma once
// What both ways of choosing the next step share: next_step.cc, which reads every task, and agenda.cc, which has them in order. Not for
// others.

#include <array>
#include <vector>

#include "shared/kinds/project/next_step.h"

namespace acl::project {

inline constexpr std::size_t kMostRunnersUp = 3, kMostWaiting = 3;

// A task that may be worked on. Smaller orders go first.
struct Candidate {
  const Task* task = nullptr;
  std::array<std::int64_t, 5> order{};
};
std::array<std::int64_t, 5> OrderOf(const Task& task, const Goal* goal);

bool IsActive(const Goal& goal);
void CountTask(const Task& task, int by, Counts& counts);

// The first of the candidates and who came after it, beside what `next` says already.
NextStep ConcludeChoice(const Work& work, std::vector<Candidate> candidates, NextStep next);

}  // namespace acl::project
