#pragma once
// The last command taken back by a compensating one: an ordinary command, decided and written like any other, so that nothing but the rules
// of commands says what may be undone.

#include <optional>
#include <span>

#include "shared/kinds/project/decide.h"
#include "shared/kinds/project/operations.h"

namespace acl::project {

// The newest of some events that said something: refusals changed nothing, and a dependency that was opened again is told of by the command
// before it. nullptr: none.
const Event* LastCommand(std::span<const Event> oldest_first);

struct Inverse {
  std::optional<Command> command;
  std::optional<Refusal> refused;  // it cannot be taken back: why, and what to do instead
};
// `before`: the project right before the event. `by`: who takes it back, which only who said it may.
Inverse InverseOf(const Event& last, const Work& before, const std::string& by, const std::string& reason);

// {"event_seq", "event_type", "by"}: of an event.
Json CommandSaid(const Event& event);

// `undo`: POST, with the event that is to be undone; GET says which is the last.
const Operation& UndoOperation();

}  // namespace acl::project
