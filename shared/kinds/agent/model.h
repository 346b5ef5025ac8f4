#pragma once
// An agent session as values, and where each stands in its state (document 003; docs/guides/agents.md). Times are database times of the
// events. "State is convenience, moves are truth": everything here follows from the moves before.
//
//   agent        who it is; never changes           stimulus:<n>  what nobody has taken up yet
//   definition         the agent file as a value          past:<n>      one of the last kKeptTurns turns, in brief
//   standing     what it does now, and counters     guard         what the loop guard has counted (guard.h)
//   course       the turn that is under way, or a passage in which extensions are asked; none: it rests
//   course:...   plan, request, response, actions and outcomes of it
//   file:<path>  capability/manifest.h

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/json_members.h"
#include "shared/journal/document.h"

namespace acl::agent {

inline constexpr std::string_view kAgentKey = "agent", kDefinitionKey = "spec", kStandingKey = "standing", kCourseKey = "course",
                                  kGuardKey = "guard", kDraftKey = "course:draft", kLookKey = "course:look", kRequestKey = "course:request",
                                  kPlanKey = "course:plan", kContextKey = "course:context", kResponseKey = "course:response",
                                  kApprovalKey = "course:approval";
inline constexpr std::string_view kStimulusPrefix = "stimulus:", kPastPrefix = "past:", kActionPrefix = "course:action:",
                                  kOutcomePrefix = "course:outcome:";
inline std::string StimulusKey(std::int64_t number) { return std::string(kStimulusPrefix) + std::to_string(number); }
inline std::string ActionKey(int index) { return std::string(kActionPrefix) + std::to_string(index); }
inline std::string OutcomeKey(int index) { return std::string(kOutcomePrefix) + std::to_string(index); }

inline constexpr int kKeptTurns = 12;                    // in brief, in the state; the journal has all
inline constexpr int kMostStimuli = 1'000;               // that wait; more are refused
inline constexpr std::size_t kMostStimulus = 64 * 1024;  // bytes of one
inline constexpr std::size_t kKeptOutputs = 8 * 1024;    // bytes of an action's outputs in the state; its move has all of them
inline constexpr std::size_t kKeptInBrief = 600;         // bytes of one action, and of what was said, in past turns
inline constexpr std::string_view kEveryTimer = "every", kWakeTimer = "wake", kRetryTimer = "retry", kApprovalTimer = "approval";

// Its inputs, beside `stimulus` and `decide`.
inline constexpr std::string_view kPauseInput = "agent.pause", kResumeInput = "agent.resume", kStopInput = "agent.stop",
                                  kResolveInput = "agent.resolve", kFilesInput = "agent.files";

// What people see of it.
inline constexpr std::string_view kMoving = "MOVING", kResting = "RESTING", kPaused = "PAUSED", kStopping = "STOPPING",
                                  kStopped = "STOPPED", kWaiting = "WAITING";

struct Stimulus {
  std::int64_t number = 0;
  std::string mode = "followup";  // "interrupt", "steer", "followup"
  std::string kind = "message";   // "message", "timer", "goal_changed", "file", "resolved"
  std::string text;
  Json payload;  // null: none
  std::string by;
  WallTime at;
};

struct Standing {
  std::string status{kMoving};
  std::string reason;  // why it rests, is paused or stopped
  WallTime since;
  std::optional<WallTime> wake_at;  // of a rest that ends by itself
  std::int64_t moves = 0, turns = 0, stimuli = 0, requests = 0, actions = 0, passages = 0;
  std::int64_t tokens = 0, micros = 0;  // that asking models took, in its life or since spend_since
  WallTime spend_since;
  bool near_limit = false;  // it was said that most of them are gone
  int turns_awake = 0;      // since it last rested
  WallTime minute;          // the minute in which moves are counted
  int moves_in_minute = 0;
  bool look_again = false;            // the last turn did something: there may be more to do
  int failed_requests = 0;            // in a row
  std::vector<std::int64_t> waiting;  // numbers of the stimuli that nobody has taken up yet
  std::vector<Stimulus> again;        // of a turn that ended without an answer: the next one takes them up again
  Json uncertain;                     // null, or the action whose outcome nobody knows
  Json last;                          // outcomes of the last turn; null: none yet
};

// Where a turn stands. The points between two extension phases, and those phases themselves, in their order.
enum class Point {
  kAfterPrepare,  // a passage: not part of a turn
  kLook,          // reads its project's next step
  kBeforePlan,
  kPlan,
  kAfterPlan,
  kBeforeRequest,
  kRequest,
  kAfterRequest,
  kBeforeProcess,
  kChoose,  // the next action
  kBeforeAction,
  kApprove,
  kAct,
  kAfterAction,
  kAfterProcess,
  kEndTurn,
  kBeforeRest,  // a passage
  kAfterRest,   // a passage
};
std::string_view NameOf(Point point);

struct Course {
  Point at = Point::kLook;
  std::int64_t turn = 0;     // of passages: of the turn before
  std::int64_t passage = 0;  // not 0: no turn, but a passage, this one of the session's
  WallTime began_at;
  std::vector<Stimulus> stimuli;
  int asked = 0;     // extensions of this phase that have answered
  int action = 0;    // the one that is at hand, from 0
  int actions = 0;   // of the response
  std::string open;  // step id of a journaled attempt that is under way
  int attempt = 0;
  int attempts = 0;  // of the request, with a known outcome
  std::optional<WallTime> asked_at, retry_at;
  std::string dropped;      // why no further action of the turn begins; empty: they do
  std::string rest_reason;  // of a passage to rest, and of a turn that ends in one
  std::optional<WallTime> wake_at;
  bool approved = false;  // a person has said yes to the action at hand
  bool must_ask = false;  // an extension wants a person asked
  std::string why_ask;
  bool erred = false;            // something that it asked for in this turn was not done
  Json touched = Json::array();  // paths of the draft that extensions of this phase have changed, with who did
};

Json ToJson(const Stimulus& stimulus);
Stimulus StimulusFrom(const Json& json);
Json ToJson(const Standing& standing);
Json ToJson(const Course& course);

// What stands in the state was written by the session itself, so each member is there. nullopt: no such entry.
std::optional<Standing> FindStanding(const Document& state);
std::optional<Course> FindCourse(const Document& state);
// What the listing says: its status, or WAITING while a person is asked.
std::string ShownStatus(const Document& state);
// Why it rests, is paused or stopped, or whom it waits for.
std::string ShownReason(const Document& state);
// Of those that wait, in the order in which they came.
std::vector<Stimulus> WaitingStimuli(const Document& state, const Standing& standing);
// Oldest first.
std::vector<Json> PastTurns(const Document& state);
// Of the actions of the turn at hand that have one.
std::vector<Json> OutcomesOf(const Document& state, const Course& course);
// Ids of steps: "turn-12/request", "turn-12/action[0]", "turn-12/before_plan[1]".
std::string StepIdOf(const Course& course, std::string_view what, int index = -1);

// An entry of the state as a JSON Patch names it.
std::string PointerTo(std::string_view key);

// A text that is at most so many bytes, cut between characters, with a word about what was cut.
std::string Brief(const std::string& text, std::size_t most);

}  // namespace acl::agent
