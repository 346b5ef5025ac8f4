// Whoever makes runs and sends them inputs.
#include <algorithm>

#include "tests/sim/test_bed.h"

namespace acl::test {

void SimTestBed::CreateSubject(int tries, std::shared_ptr<CreateItem> item) {
  item->request_key = item->subject.ToString();
  item->grant_to = grants_.Take(*item);
  auto answer = client_store_.Create(std::span(item.get(), 1));
  if (item->grant_to) {
    const WorkerSessionId session = *item->grant_to;
    const bool created = answer && answer->front().kind == CreateOutcome::Kind::kCreated;
    if (created && answer->front().granted) {
      ++report_.granted_as_made;
      TellGranted(session, item->subject);
    } else if (!answer && answer.code() == Code::kOutcomeUnknown) {
      TellGranted(session, item->subject);
    } else if (created) {
      ++report_.grants_to_the_dead;
      grants_.Dead(session);
    } else {
      grants_.PutBack(session);
    }
  }
  if (answer) {
    if (tries > 0 && answer->front().kind == CreateOutcome::Kind::kReplayed && answer->front().subject != item->subject) {
      report_.violations.push_back("a replayed create answered with another subject");
    }
    ++created_;
    return;
  }
  After(Ms(50, 400), [this, tries, item] { CreateSubject(tries + 1, item); });
}

void SimTestBed::PostSignal(const SubjectId& subject, const std::string& kind, const Json& payload, std::shared_ptr<InboxId> id,
                            int tries) {
  InboxPost post{subject, *id, kind, DumpJson(payload), id->ToString()};
  auto answer = client_store_.Post(post);
  if (answer) {
    ++report_.signals_acked;
    if (!acked_signals_[subject].insert(id->ToString()).second) report_.violations.push_back("one signal acknowledged twice to one caller");
    return;
  }
  if (answer.code() == Code::kConflict) {
    ++report_.signals_at_close;  // closed before it: a definite no
    return;
  }
  After(Ms(20, 300), [this, subject, kind, payload, id, tries] { PostSignal(subject, kind, payload, id, tries + 1); });
}

// At any moment: before a client's next input hides it.
void SimTestBed::CheckWakes(const MemorySubject& subject, const std::set<SubjectId>& ready) {
  if (subject.holder || subject.quarantined() || subject.waiting || !subject.timers.empty() || ready.contains(subject.id)) return;
  const bool dispatch = std::any_of(subject.dispatches.begin(), subject.dispatches.end(),
                                    [](const MemoryDispatch& one) { return one.state == "queued" || one.state == "started"; });
  if (!dispatch) report_.violations.push_back(subject.id.ToString() + ": open, and nothing will ever wake it");
}

void SimTestBed::Clients() {
  std::set<SubjectId> ready;
  for (const MemoryStore::ReadyRow& row : store_.Ready()) ready.insert(row.subject);
  for (const SubjectId& id : store_.Subjects()) {
    if (!store_.IsOpen(id)) continue;
    const auto subject = store_.Inspect(id);
    CheckWakes(*subject, ready);
    if (subject->quarantined()) continue;
    const bool uncertain = subject->waiting && subject->waiting->reason == "uncertain" && !subject->holder;
    if (uncertain) {
      auto [kind, payload] = load_.MakeSignal(random_, *subject, true);
      ++report_.uncertain_resolved;
      PostSignal(id, kind, payload, std::make_shared<InboxId>(InboxId{ids_.Make()}), 0);
    } else if (!faults()) {
      if (auto stop = load_.MakeStop(*subject); stop && random_.Below(4) == 0) {
        PostSignal(id, stop->first, stop->second, std::make_shared<InboxId>(InboxId{ids_.Make()}), 0);
        // One more right behind it: signals at the moment of closing are what this is about.
        auto [kind, payload] = load_.MakeSignal(random_, *subject, false);
        After(Ms(0, 12), [this, id, kind = kind, payload = payload] {
          PostSignal(id, kind, payload, std::make_shared<InboxId>(InboxId{ids_.Make()}), 0);
        });
      }
    } else if (random_.Below(6) == 0) {
      auto [kind, payload] = load_.MakeSignal(random_, *subject, false);
      After(Ms(0, 40), [this, id, kind = kind, payload = payload] {
        PostSignal(id, kind, payload, std::make_shared<InboxId>(InboxId{ids_.Make()}), 0);
      });
    } else if (random_.Below(8) == 0) {
      if (DirectDecider decide = load_.MakeDirect(random_, *subject)) {
        if (client_store_.Direct(id, decide)) ++report_.direct_commands;
      }
    }
  }
  // Nothing here is to be quarantined but what kills its workers.
  for (const SubjectId& id : store_.Subjects()) {
    const auto subject = store_.IsOpen(id) ? store_.Inspect(id) : std::nullopt;
    if (!subject || !subject->quarantined() || load_.MayEndQuarantined(id)) continue;
    if (!load_.MayBeReleased(*subject))
      report_.violations.push_back(
          fmt::format("{} quarantined: {} ({})", id.ToString(), subject->quarantines.back().reason, subject->quarantines.back().detail));
    (void)store_.ReleaseQuarantine(id, "sim").ok();
  }
  After(Ms(150, 500), [this] { Clients(); });
}

}  // namespace acl::test
