#pragma once
// Ids of step instances (docs/architecture.md#invariant-3): `path/to/step[index]#round`, a compensation is `undo:` + that. One grammar,
// here.
//
// A component is the step's name; of its characters / [ ] # % : * are written %XX, so that no name can look like another
// instance. An id longer than 100 characters (code points) is a readable prefix, "~" and 16 hex digits of its hash; the full form is in
// the journal (the step's name). Names are NFC UTF-8 already (the loader's job).

#include <string>
#include <string_view>

namespace acl::workflow {

inline constexpr std::size_t kMaxStepIdChars = 100;

// Of a step at the top level of the file.
std::string StepIdOf(std::string_view name);
// Of the compensation of that step.
std::string UndoIdOf(std::string_view name);
// Of the n-th (from 0) global compensation step.
std::string GlobalUndoIdOf(int index);

// Ours for every call of the step in this run, stable across attempts and takeovers: 32 hex digits.
std::string IdempotencyKeyOf(std::string_view run_id, std::string_view step_id);

}  // namespace acl::workflow
