#include "worker/command_executor.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/fail_point.h"
#include "shared/base/memory.h"
#include "shared/kernel/stored_chunks.h"

namespace acl {

namespace {

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

// Whose state is still here from when it was released, and as it was then, is not restored.
Result<Restored> FromCache(StickyCache& cache, Claimed& claimed) {
  std::optional<StickyCache::State> kept = cache.Take(claimed.subject);
  if (!kept) return Error{Code::kUnavailable, "its state was forgotten meanwhile"};
  claimed.snapshot = std::move(kept->snapshot);
  return std::move(kept->restored);
}

// Why a run was not restored, and how much it is, as it is stored: a chunk of a snapshot counts in full. How large a payload is that
// stands apart is not known before it is read.
Error DoesNotFit(const Claimed& claimed) {
  std::size_t bytes = 0, apart = 0;
  if (claimed.snapshot) bytes += claimed.snapshot->inline_state.value_or("").size() + claimed.snapshot->chunks.size() * kChunkBytes;
  for (const Event& event : claimed.events) {
    bytes += event.payload ? event.payload->size() : 0;
    apart += event.offloaded ? 1 : 0;
  }
  return {Code::kUnavailable,
          fmt::format("{}: its snapshot and later events are {:.1f} MiB as they are stored{}", kOutOfMemory, double(bytes) / (1 << 20),
                      apart == 0 ? "" : fmt::format(", and {} large values beside them", apart))};
}

std::vector<LoadedSubject> Load(CommandContext& context, std::vector<Claimed> granted, StickyCache* cache) {
  std::vector<LoadedSubject> loaded;
  loaded.reserve(granted.size());
  for (Claimed& claimed : granted) {
    if (claimed.sticky) {
      auto restored = FromCache(*cache, claimed);
      loaded.push_back({std::move(claimed), std::move(restored), std::nullopt});
      continue;
    }
    if (cache != nullptr) cache->Forget(claimed.subject);
    const SteadyTime began = context.clock.Steady();
    Result<Restored> restored = DoesNotFit(claimed);
    (void)WithinMemory([&] {
      restored = Restore(claimed.subject, claimed.snapshot, claimed.events, ReaderOf(context.store, claimed.snapshot, claimed.events));
    });
    if (context.on_restore && restored) {
      context.on_restore(std::chrono::duration<double, std::milli>(context.clock.Steady() - began).count(), restored->replayed);
    }
    std::optional<int> required_version;
    if (!restored) required_version = NewerVersionOf(claimed.snapshot, claimed.events);
    claimed.events.clear();  // the state holds what they said
    loaded.push_back({std::move(claimed), std::move(restored), required_version});
  }
  return loaded;
}

// Of leases that were claimed without what is in their subjects.
Status ReadContents(CommandContext& context, std::vector<Claimed>& granted) {
  const bool read = std::none_of(granted.begin(), granted.end(), [](const Claimed& claimed) { return claimed.unread; });
  return read ? Status() : context.store.ReadClaimed(granted);
}

Report DoRestore(CommandContext& context, const command::Restore& restore) {
  if (Status read = ReadContents(context, *restore.granted); !read) {
    return [restore, read](WorkerCore& core, SteadyTime now) { core.OnNotRestored(now, restore, read); };
  }
  return [session = restore.session, loaded = Load(context, std::move(*restore.granted), restore.cache.get())](
             WorkerCore& core, SteadyTime) mutable { core.OnRestored(session, std::move(loaded)); };
}

Report DoReadGrants(CommandContext& context, const command::ReadGrants& read) {
  FailPoint("grants.before_read");
  auto answer = context.store.ReadGrants(read.session, read.subjects);
  if (!answer) {
    return [session = read.session, error = answer.error()](WorkerCore& core, SteadyTime now) { core.OnGrantsRead(now, session, error); };
  }
  return [session = read.session, loaded = Load(context, std::move(*answer), nullptr)](WorkerCore& core, SteadyTime now) mutable {
    core.OnGrantsRead(now, session, std::move(loaded));
  };
}

Report DoClaim(CommandContext& context, const command::Claim& claim, SteadyTime sent) {
  const WorkerSessionId session = claim.request.session;
  FailPoint("claim.before");
  auto answer = context.queue.Claim(claim.request);
  if (answer && !answer->claimed.empty()) FailPoint("claim.after_commit");
  if (!answer) return [session, error = answer.error()](WorkerCore& core, SteadyTime now) { core.OnClaimed(now, session, error); };
  const std::size_t found = answer->claimed.size() + answer->dispatches.size() + std::size_t(answer->dropped + answer->quarantined);
  ClaimReport report{{}, {}, std::move(answer->dispatches), sent, answer->dropped, answer->quarantined};
  const bool next_first = claim.room_for_more && found >= std::size_t(claim.request.max);
  if (next_first || !ReadContents(context, answer->claimed)) {
    report.unread = std::move(answer->claimed);
  } else {
    report.loaded = Load(context, std::move(answer->claimed), claim.cache.get());
  }
  // Reported once: what was restored is handed on, not copied.
  return
      [session, report = std::move(report)](WorkerCore& core, SteadyTime now) mutable { core.OnClaimed(now, session, std::move(report)); };
}

Result<Snapshot> DoSnapshot(CommandContext& context, const LeasedSubject::SnapshotJob& job) {
  EncodedSnapshot encoded = EncodeSnapshot(job.state, job.last_event_seq, job.chain, &job.previous);
  if (!encoded.contents.empty()) {
    Status put = context.store.PutContents(encoded.contents);
    if (!put) return put.error();
  }
  FailPoint("snapshot.after_put");
  encoded.snapshot.id = context.ids.Make();
  encoded.snapshot.created_at = job.taken_at;
  FailPoint("snapshot.before_pointer");
  return std::move(encoded.snapshot);
}

}  // namespace

Report NotExecuted(const Command& command, SteadyTime sent) {
  const Error away{Code::kUnavailable, std::string(kOutOfMemory)}, unknown{Code::kOutcomeUnknown, std::string(kOutOfMemory)};
  return std::visit(
      Overloaded{
          [&](const command::OpenSession&) -> Report { return [=](WorkerCore& c, SteadyTime now) { c.OnSessionOpened(now, sent, away); }; },
          [&](const command::Heartbeat& of) -> Report {
            return [=, session = of.session](WorkerCore& c, SteadyTime now) { c.OnHeartbeat(now, sent, session, away); };
          },
          [&](const command::Claim& of) -> Report {
            return [=, session = of.request.session](WorkerCore& c, SteadyTime now) { c.OnClaimed(now, session, unknown); };
          },
          [&](const command::ReadGrants& of) -> Report {
            return [=, session = of.session](WorkerCore& c, SteadyTime now) { c.OnGrantsRead(now, session, away); };
          },
          [&](const command::Commit& of) -> Report {
            return [=, batch = of.batch](WorkerCore& c, SteadyTime now) { c.OnCommitted(now, batch, unknown); };
          },
          [&](const command::ReadBack& of) -> Report {
            return [=, batch = of.batch](WorkerCore& c, SteadyTime now) { c.OnReadBack(now, batch, away); };
          },
          [&](const command::ReadInbox& of) -> Report {
            return [=, subject = of.subject, token = of.token](WorkerCore& c, SteadyTime now) { c.OnInbox(now, subject, token, away); };
          },
          [&](const command::TakeSnapshot& of) -> Report {
            return [=, subject = of.subject, token = of.token](WorkerCore& c, SteadyTime now) { c.OnSnapshot(now, subject, token, away); };
          },
          [&](const command::StorePayloads& of) -> Report {
            return [=, subject = of.subject, token = of.token](WorkerCore& c, SteadyTime now) { c.OnOffloaded(now, subject, token, away); };
          },
          [&](const command::Reconcile& of) -> Report {
            return [=, session = of.session](WorkerCore& c, SteadyTime now) { c.OnReconciled(now, session, away); };
          },
          [&](const command::ReconcileDispatches& of) -> Report {
            return [=, session = of.session](WorkerCore& c, SteadyTime now) { c.OnDispatchesHeld(now, session, away); };
          },
          [&](const command::FinishDispatch& of) -> Report {
            return [=, dispatch = of.report.dispatch, token = of.report.token](WorkerCore& c, SteadyTime now) {
              c.OnDispatchDelivered(now, dispatch, token, away);
            };
          },
          [&](const command::ReapDispatches& of) -> Report {
            return [=, subject = of.subject](WorkerCore& c, SteadyTime now) { c.OnDispatchesReaped(now, subject, away); };
          },
          [&](const command::CloseSession&) -> Report { return [](WorkerCore& c, SteadyTime now) { c.OnSessionClosed(now); }; },
          // What was claimed is on its way between two owners: all is let go of.
          [&](const command::Restore&) -> Report { return [](WorkerCore& c, SteadyTime now) { c.LoseAll(now, kOutOfMemory); }; },
          // If it did not land, the lease ends with the session, or the next reconciliation gives it back.
          [&](const auto&) -> Report { return [](WorkerCore&, SteadyTime) {}; },
      },
      command);
}

Report ExecuteCommand(CommandContext& context, const Command& command, SteadyTime sent) {
  KernelStore& store = context.store;
  return std::visit(
      Overloaded{
          [&](const command::OpenSession& c) -> Report {
            auto answer = store.OpenSession(c.request);
            return [=](WorkerCore& core, SteadyTime now) { core.OnSessionOpened(now, sent, answer); };
          },
          [&](const command::Heartbeat& c) -> Report {
            FailPoint("renew.before");
            auto answer = store.Heartbeat(c.session, c.ttl);
            return [=, session = c.session](WorkerCore& core, SteadyTime now) { core.OnHeartbeat(now, sent, session, answer); };
          },
          [&](const command::Claim& c) -> Report { return DoClaim(context, c, sent); },
          [&](const command::Restore& c) -> Report { return DoRestore(context, c); },
          [&](const command::ReadGrants& c) -> Report { return DoReadGrants(context, c); },
          [&](const command::Commit& c) -> Report {
            auto answer = store.Commit(*c.items);
            if (answer) FailPoint("commit.after_ok");
            return [=, batch = c.batch](WorkerCore& core, SteadyTime now) { core.OnCommitted(now, batch, answer); };
          },
          [&](const command::ReadBack& c) -> Report {
            auto answer = store.ReadBack(*c.items);
            return [=, batch = c.batch](WorkerCore& core, SteadyTime now) { core.OnReadBack(now, batch, answer); };
          },
          [&](const command::ReadInbox& c) -> Report {
            auto answer = store.ReadInbox(c.subject, c.token);
            return
                [=, subject = c.subject, token = c.token](WorkerCore& core, SteadyTime now) { core.OnInbox(now, subject, token, answer); };
          },
          [&](const command::TakeSnapshot& c) -> Report {
            auto answer = DoSnapshot(context, c.job);
            return [=, subject = c.subject, token = c.token](WorkerCore& core, SteadyTime now) {
              core.OnSnapshot(now, subject, token, answer);
            };
          },
          [&](const command::StorePayloads& c) -> Report {
            Status answer = store.PutContents(c.contents);
            return [=, subject = c.subject, token = c.token](WorkerCore& core, SteadyTime now) {
              core.OnOffloaded(now, subject, token, answer);
            };
          },
          [&](const command::Quarantine& c) -> Report {
            // If it does not land, the lease ends with the session and the next holder finds the same damage.
            Status status = store.Quarantine(c.subject, c.session, c.token, c.reason, c.detail);
            (void)status;
            return [](WorkerCore&, SteadyTime) {};
          },
          [&](const command::ReleaseLease& c) -> Report {
            if (c.release) {
              auto released = store.Commit({&*c.release, 1});
              if (released && released->front().kind == CommitOutcome::Kind::kCommitted) {
                return [](WorkerCore&, SteadyTime) {};
              }
            }
            // If it does not land, the next reconciliation gives it back.
            Status status = store.ReleaseLease(c.subject, c.session, c.token);
            (void)status;
            return [](WorkerCore&, SteadyTime) {};
          },
          [&](const command::Reconcile& c) -> Report {
            auto answer = store.HeldBy(c.session, c.older_than);
            return [=, session = c.session](WorkerCore& core, SteadyTime now) { core.OnReconciled(now, session, answer); };
          },
          [&](const command::ReconcileDispatches& c) -> Report {
            auto answer = store.DispatchesOf(c.session, c.older_than);
            return [=, session = c.session](WorkerCore& core, SteadyTime now) { core.OnDispatchesHeld(now, session, answer); };
          },
          [&](const command::FinishDispatch& c) -> Report {
            auto answer = store.FinishDispatch(c.report);
            return [=, dispatch = c.report.dispatch, token = c.report.token](WorkerCore& core, SteadyTime now) {
              core.OnDispatchDelivered(now, dispatch, token, answer);
            };
          },
          [&](const command::ReapDispatches& c) -> Report {
            constexpr int kAtOnce = 256;
            auto answer = store.ReapDispatches(c.subject, kAtOnce);
            return [=, subject = c.subject](WorkerCore& core, SteadyTime now) { core.OnDispatchesReaped(now, subject, answer); };
          },
          [&](const command::CloseSession& c) -> Report {
            Status status = store.CloseSession(c.session);  // if it does not land, it expires
            (void)status;
            return [](WorkerCore& core, SteadyTime now) { core.OnSessionClosed(now); };
          },
          [&](const command::RunStep&) -> Report {
            ACL_CHECK(false, "RunStep is the step runner's");
            return {};
          },
      },
      command);
}

}  // namespace acl
