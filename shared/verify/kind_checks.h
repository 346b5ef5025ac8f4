#pragma once
// What a kind of subject lets `verify` know about its own state and events: the kernel treats both as opaque. A part that is not given
// is not checked.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "shared/journal/document.h"
#include "shared/kernel/command.h"

namespace acl::verify {

// What a state says about rows beside the journal.
struct StateFacts {
  std::optional<std::string> status;        // the word in the listing (table listings, view workflows)
  std::map<std::string, Hash256> contents;  // what the state refers to in the content store, by a name for people
};

struct KindChecks {
  // kCorrupt if the document is no state of this kind: a violation.
  std::function<Result<StateFacts>(const Document& state)> facts;
  // Of types of events: which one ends the subject, and which may stand behind the end.
  std::function<bool(std::string_view type)> ends, may_follow_the_end;
  // Its subjects are commanded (shared/kernel/command.h): one that nobody holds waits for a command, and nothing else need wake it.
  bool commanded = false;
  // How an entry of the state is shown in the kind's own tables; nullopt: it is not.
  std::function<std::optional<ShownRow>(std::string_view key, const Json& value)> show;
  // The rows that follow from the state as a whole; not given: none.
  std::function<std::vector<ShownRow>(const Document& state)> show_state;
  // The rows that an event makes; not given: none.
  std::function<std::vector<ShownRow>(std::string_view type, const Json& facts, WallTime at)> show_event;
};

// By the name of the kind.
using KindTable = std::map<std::string, KindChecks>;

}  // namespace acl::verify
