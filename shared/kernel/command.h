#pragma once
// Commands: somebody asks a subject to do something and needs the answer now (docs/architecture.md#command).
// A subject that is commanded has no steps: nobody holds its lease, and each command takes it, decides, appends and gives it back in one
// transaction (KernelStore::Command). What is posted to it meanwhile (timers, ends of runs) is decided before the command is.
//
//   request key --known--> the first answer again
//        |
//        +--new--> unread inputs, then Answer(state, command) --> events, rows, answer: all of it or nothing

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/kernel/kind.h"
#include "shared/kernel/types.h"

namespace acl {

// Subjects that are commanded stand in queues of this prefix, which no workflow may name and no worker serves: if nothing else can be said
// of one, it waits for a command.
inline constexpr std::string_view kCommandedQueues = "acl.";
inline bool IsCommanded(std::string_view queue) { return queue.starts_with(kCommandedQueues); }

// What was answered under a request key. Kept with the subject: the same key gives the same answer for as long as the subject lives.
struct GivenAnswer {
  std::string key;
  Hash256 request_hash{};      // of the canonical command; another one under the same key is refused
  std::int64_t event_seq = 0;  // the head after it
  std::string answer;          // JSON text
};

// A row of the kind's own tables, which people read and nothing decides by: a pure function of one entry of the state, or of one event.
struct ShownRow {
  std::string table, id;           // id: unique in its table and subject
  std::optional<std::string> row;  // its columns as JSON; nullopt: gone
};

struct CommandRequest {
  SubjectId subject;
  std::int64_t known_seq = 0;     // what the caller knows of the journal: only what is behind it is read; 0: nothing
  std::vector<std::string> keys;  // request keys of what is asked: what was answered under them is read
  bool takes_inbox = true;        // false: kConflict if there are unread inputs
};

struct CommandView {
  Claimed claimed;  // under a token of its own; `sticky`: nothing is behind `known_seq`, and no snapshot, event or attempt was read
  std::vector<GivenAnswer> answered;
};

struct CommandItem {
  CommitItem item;  // session nil, disposition ignored
  std::vector<GivenAnswer> answers;
  std::vector<ShownRow> rows;
  // Set: what was read does not verify. The subject is quarantined and nothing else is written; the outcome is an error, kCorrupt.
  struct Damage {
    std::string reason, detail;
  };
  std::optional<Damage> damage;
};
// nullopt: nothing is to be written. Must be pure: it is asked again if the subject changed while a payload that is too large for a row was
// being stored.
using CommandDecider = std::function<Result<std::optional<CommandItem>>(const CommandView&)>;

// ---- what a kind brings

struct Answered {
  Decision decision;
  Json answer = Json::object();
};

// What a kind keeps in memory beside one subject so as to answer faster. Made of states alone: it may be thrown away at any time, and no
// answer depends on it. From any thread.
class Aid {
 public:
  virtual ~Aid() = default;
};

// A kind whose subjects are commanded.
class CommandKind : public SubjectKind {
 public:
  // nullptr: it needs none.
  virtual std::shared_ptr<Aid> MakeAid() const { return nullptr; }
  // A refusal is an answer too. Pure. `aid`: one that MakeAid made for this subject, or nullptr.
  virtual Answered Answer(const Document& state, const Json& command, WallTime now, Aid* aid) const = 0;
  // How an entry of the state is shown; `value` null: it is gone. nullopt: it is not shown.
  virtual std::optional<ShownRow> Show(std::string_view key, const Json* value) const = 0;
  // Rows that an event makes, of other tables than the entries' (what was said stays, and need not stand in the state). A later event of
  // the same row writes it whole. `facts`: its payload. Asked only if ShowsEvents.
  virtual bool ShowsEvents() const { return false; }
  virtual std::vector<ShownRow> ShowEvent(std::string_view /*type*/, const Json& /*facts*/, WallTime /*at*/) const { return {}; }
};

// The rows that an event of the kind makes; none if its content was removed or is no JSON.
std::vector<ShownRow> RowsOf(const CommandKind& kind, const Event& event);

}  // namespace acl
