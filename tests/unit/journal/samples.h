#pragma once
// A small journal that is right in every respect, for tests that then spoil it.

#include <functional>
#include <string>
#include <vector>

#include "shared/journal/document.h"
#include "shared/journal/event.h"
#include "shared/journal/json_patch.h"
#include "shared/journal/segment.h"

namespace acl::samples {

inline SubjectId Subject() { return *SubjectId::Parse("0190f5fe-7c00-7a00-8000-0123456789ab"); }

// Appends an event with this delta (none if it is empty) to the journal and applies it to the state.
inline void Append(std::vector<Event>& journal, Document& state, const Json& delta, Json facts = Json::object()) {
  Event event;
  event.subject = Subject();
  event.seq = journal.empty() ? 1 : journal.back().seq + 1;
  event.type = "step.completed";
  event.token = Token{(std::int64_t(1) << 32) + 1};
  event.timestamp = WallTimeFromMicros(1'763'771'760'123'456 + event.seq);
  if (!delta.empty()) {
    ACL_CHECK(state.Apply(delta).ok(), "a sample's delta applies");
    facts[std::string(kDeltaKey)] = delta;
    facts[std::string(kRootKey)] = ToHex(state.Root());
  }
  event.payload = DumpJson(facts);
  Seal(event, journal.empty() ? ChainStart(event.subject) : journal.back().chain);
  journal.push_back(std::move(event));
}

// Appends an event that begins a journal: `tell` changes what it says.
inline void AppendRoll(std::vector<Event>& journal, const Document& state, const std::function<void(SegmentStart&)>& tell = {}) {
  SegmentStart start{journal.back().journal, journal.back().chain, journal.back().seq, state.Root()};
  if (tell) tell(start);
  Event event = MakeSegmentEvent(start);
  event.subject = Subject();
  event.seq = journal.back().seq + 1;
  event.journal = JournalIdAt(event.subject, event.seq);
  event.token = journal.back().token;
  event.timestamp = journal.back().timestamp;
  Seal(event, journal.back().chain);
  journal.push_back(std::move(event));
}

inline std::vector<Event> SealedEvents(int count) {
  std::vector<Event> journal;
  Document state;
  for (int i = 1; i <= count; ++i) {
    Append(journal, state, Json::array({PatchAdd({"k" + std::to_string(i % 7)}, Json{{"n", i}, {"text", "ü"}})}),
           Json{{"step_id", "s" + std::to_string(i)}});
  }
  return journal;
}

}  // namespace acl::samples
