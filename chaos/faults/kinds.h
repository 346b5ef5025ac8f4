#pragma once
// The makers of every fault, by what they reach; the table of them is catalog.cc.

#include "chaos/faults/fault.h"

namespace acl::chaos {

inline constexpr milliseconds kSeenWithin{20'000}, kHealedWithin{30'000};

using Made = std::unique_ptr<Fault>;
Made KillWorker(TestBed&, std::uint64_t draw);
Made KillerAmongSleepers(TestBed&, std::uint64_t draw);
Made KillCoordinator(TestBed&, std::uint64_t draw);
Made FreezeWorker(TestBed&, std::uint64_t draw);
Made FreezeAll(TestBed&, std::uint64_t draw);
Made FreezeCoordinator(TestBed&, std::uint64_t draw);
Made LateCommit(TestBed&, std::uint64_t draw);
Made LateInGap(TestBed&, std::uint64_t draw);
Made Twin(TestBed&, std::uint64_t draw);
Made Starve(TestBed&, std::uint64_t draw);
Made RollingRestart(TestBed&, std::uint64_t draw);
Made RollingUpgrade(TestBed&, std::uint64_t draw);

Made AtPlace(TestBed&, std::uint64_t draw, const std::string& place, const std::string& action);

Made KillBroker(TestBed&, std::uint64_t draw);
Made WipeTopics(TestBed&, std::uint64_t draw);
Made PoisonMessages(TestBed&, std::uint64_t draw);
Made ReplayMessages(TestBed&, std::uint64_t draw);
Made ResetOffsets(TestBed&, std::uint64_t draw);
Made Rebalance(TestBed&, std::uint64_t draw);

Made HalfOpen(TestBed&, std::uint64_t draw);
Made OneWay(TestBed&, std::uint64_t draw);
Made CutCommit(TestBed&, std::uint64_t draw);
Made ResetConnections(TestBed&, std::uint64_t draw);
Made SlowNetwork(TestBed&, std::uint64_t draw);
Made CutCommand(TestBed&, std::uint64_t draw);
Made ResetCoordinator(TestBed&, std::uint64_t draw);
Made SilentCoordinator(TestBed&, std::uint64_t draw);
Made LostReplies(TestBed&, std::uint64_t draw);

Made KillBackend(TestBed&, std::uint64_t draw);
Made FreezeBackend(TestBed&, std::uint64_t draw);
Made ImmediateStop(TestBed&, std::uint64_t draw);
Made KillPostmaster(TestBed&, std::uint64_t draw);
Made LockSessions(TestBed&, std::uint64_t draw);
Made PoolExhaustion(TestBed&, std::uint64_t draw);
Made LongReader(TestBed&, std::uint64_t draw);
Made TerminateBackends(TestBed&, std::uint64_t draw);

Made WorkerClock(TestBed&, std::uint64_t draw);
Made CoordinatorClock(TestBed&, std::uint64_t draw);
Made DatabaseClockAhead(TestBed&, std::uint64_t draw);
Made DatabaseClockBehind(TestBed&, std::uint64_t draw);

Made PowerLoss(TestBed&, std::uint64_t draw);
Made FlushError(TestBed&, std::uint64_t draw);
Made FullDisk(TestBed&, std::uint64_t draw);
Made NoMemory(TestBed&, std::uint64_t draw);

Made FailOverSync(TestBed&, std::uint64_t draw);
Made FailOverAsync(TestBed&, std::uint64_t draw);
Made RestoreBackup(TestBed&, std::uint64_t draw);

Made ToxicLatency(TestBed&, std::uint64_t draw);
Made ToxicSlicer(TestBed&, std::uint64_t draw);
Made ToxicResetPeer(TestBed&, std::uint64_t draw);
Made ToxicHalfOpen(TestBed&, std::uint64_t draw);
Made ToxicOneWay(TestBed&, std::uint64_t draw);
Made FreezeMember(TestBed&, std::uint64_t draw);
Made KafkaLate(TestBed&, std::uint64_t draw);
Made KafkaInSlices(TestBed&, std::uint64_t draw);
Made KafkaReset(TestBed&, std::uint64_t draw);
Made KafkaSilent(TestBed&, std::uint64_t draw);

Made ObjectsBusy(TestBed&, std::uint64_t draw);
Made ObjectsUnheard(TestBed&, std::uint64_t draw);
Made ObjectsHalf(TestBed&, std::uint64_t draw);
Made ObjectsSlow(TestBed&, std::uint64_t draw);
Made ObjectsGone(TestBed&, std::uint64_t draw);
Made ObjectsToxic(TestBed&, std::uint64_t draw);

Made KillLeader(TestBed&, std::uint64_t draw);
Made FreezeLeader(TestBed&, std::uint64_t draw);
Made WipeReplica(TestBed&, std::uint64_t draw);
Made MoveLeaders(TestBed&, std::uint64_t draw);
Made FewReplicas(TestBed&, std::uint64_t draw);
Made NoMajority(TestBed&, std::uint64_t draw);
Made AddPartitions(TestBed&, std::uint64_t draw);

// Why a fault cannot be done here; nothing if it can.
std::optional<std::string> NoToxiproxy(const TestBed&);
std::optional<std::string> NoFailPoints(const TestBed&);
std::optional<std::string> NoNextVersion(const TestBed&);
std::optional<std::string> NoObjects(const TestBed&);
std::optional<std::string> NoToxicObjects(const TestBed&);
std::optional<std::string> NoToxicKafka(const TestBed&);
std::optional<std::string> NoCluster(const TestBed&);
std::optional<std::string> NoClocks(const TestBed&);
std::optional<std::string> NoDisk(const TestBed&);
std::optional<std::string> NoTracing(const TestBed&);
std::optional<std::string> NoMemoryGroup(const TestBed&);

// The worker that holds most leases now, or one by lot: a fault is to hit work.
int BusyWorker(TestBed& test_bed, std::uint64_t draw);
// Whether this process has a session that lives.
bool HasSession(const TestBed& test_bed, pid_t pid);
inline Node& ACoordinator(TestBed& test_bed, std::uint64_t draw) {
  return test_bed.fleet->coordinator(int(draw % std::uint64_t(test_bed.fleet->coordinators())));
}
inline Node& AWorker(TestBed& test_bed, std::uint64_t draw) { return test_bed.fleet->worker(BusyWorker(test_bed, draw)); }
inline Error NotSeen(std::string what) { return {Code::kTimeout, "not seen: " + std::move(what)}; }
// Whether it has leases of a dead session still to be reaped.
bool HasLeases(const TestBed& test_bed, pid_t pid);

}  // namespace acl::chaos
