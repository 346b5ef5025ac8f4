#pragma once
// What the kinds of subjects that are commanded have in common, beside their contract with the kernel (command.h): how a command is read,
// how it is refused, how the answer is worded, what a release from quarantine leaves. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "shared/kernel/command.h"

namespace acl {

struct CommandRefusal {
  Code code = Code::kInvalid;  // kInvalid: its form; kNotFound; kConflict: the state does not allow it
  std::string reason;          // for programs: FORM, NOT_FOUND, and the kind's own words
  std::string message;         // for people: what, where, what instead
  Json details = Json::object();
};

// What ends a command early: thrown inside a decision, caught by who began it.
struct CommandRefused {
  CommandRefusal why;
};
[[noreturn]] void RefuseCommand(Code code, std::string reason, std::string message, Json details = Json::object());
[[noreturn]] void RefuseForm(const std::string& message);

// What a command or a timer leads to.
struct CommandDecided {
  std::vector<EventDraft> events;
  std::vector<TimerRow> timers_set;
  std::vector<std::string> timers_cleared;
  std::vector<OutboxRow> outbox;
  Json answer = Json::object();
  std::optional<CommandRefusal> refused;
};
Decision DecisionOf(CommandDecided decided);

// As CommandKind::Answer gives it: {"answer": {...}} or {"refused": {"code", "reason", "message", "details"}}.
Json WordAnswer(const std::optional<CommandRefusal>& refused, Json answer);
struct CommandAnswer {
  Json answer = Json::object();
  std::optional<CommandRefusal> refused;
};
CommandAnswer ReadAnswer(const Json& worded);

// The event that says who released the subject from quarantine, and for what it had been there.
EventDraft ReleasedBy(std::string_view type, const Json& payload, WallTime now);
// It waits for a command: there is nothing to start.
Next WaitsForCommand();

// One command being decided, with its members read by their form.
class CommandReader {
 public:
  CommandReader(const Json& command, WallTime now) : command_(command), now_(now) {}

 protected:
  const Json& Member(const char* name) const;
  // `needed`: a refusal if it is not there or empty.
  std::string Text(const char* name, std::size_t most, bool needed = true) const;
  std::int64_t Micros(const char* name, bool needed = true) const;  // an amount in millionths, never negative
  WallTime Time(const char* name) const;
  void Say(std::string_view type, Json facts);

  const Json& command_;
  const WallTime now_;
  CommandDecided decided_;
};

// Runs `decide`, which may refuse.
template <class Decide>
CommandDecided CaughtCommand(const Decide& decide) {
  try {
    return decide();
  } catch (CommandRefused& refused) {
    CommandDecided decided;
    decided.refused = std::move(refused.why);
    return decided;
  }
}

// A kind whose inputs are commands, timers and releases from quarantine, and nothing else.
class TimedCommandKind : public CommandKind {
 public:
  Decision Decide(const Document& state, const Input& input, WallTime now) const final;
  Answered Answer(const Document& state, const Json& command, WallTime now, Aid* aid) const final;
  Next WhatNext(const Document&, const NextContext&) const final { return WaitsForCommand(); }

 protected:
  virtual CommandDecided DecideCommand(const Document& state, const Json& command, WallTime now) const = 0;
  virtual CommandDecided DecideTimer(const Document& state, const std::string& timer_id, WallTime now) const = 0;
  virtual std::string_view ReleasedEvent() const = 0;
  // What was said to it (post.h): read, and of no meaning unless the kind listens.
  virtual CommandDecided DecidePost(const Document&, const std::string& /*kind*/, const Json& /*payload*/, WallTime) const { return {}; }
};

}  // namespace acl
