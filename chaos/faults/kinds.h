#pragma once
// The makers of every fault, by what they reach; the table of them is catalog.cc.

#include "chaos/faults/fault.h"

namespace acl::chaos {

inline constexpr milliseconds kSeenWithin{20'000}, kHealedWithin{30'000};

using Made = std::unique_ptr<Fault>;
Made KillWorker(World&, std::uint64_t draw);
Made KillerAmongSleepers(World&, std::uint64_t draw);
Made KillCoordinator(World&, std::uint64_t draw);
Made FreezeWorker(World&, std::uint64_t draw);
Made FreezeAll(World&, std::uint64_t draw);
Made FreezeCoordinator(World&, std::uint64_t draw);
Made LateCommit(World&, std::uint64_t draw);
Made LateInGap(World&, std::uint64_t draw);
Made Twin(World&, std::uint64_t draw);
Made Starve(World&, std::uint64_t draw);
Made RollingRestart(World&, std::uint64_t draw);
Made RollingUpgrade(World&, std::uint64_t draw);

Made AtPlace(World&, std::uint64_t draw, const std::string& place, const std::string& action);

Made KillBroker(World&, std::uint64_t draw);
Made WipeTopics(World&, std::uint64_t draw);
Made PoisonMessages(World&, std::uint64_t draw);
Made ReplayMessages(World&, std::uint64_t draw);
Made ResetOffsets(World&, std::uint64_t draw);
Made Rebalance(World&, std::uint64_t draw);

Made HalfOpen(World&, std::uint64_t draw);
Made OneWay(World&, std::uint64_t draw);
Made CutCommit(World&, std::uint64_t draw);
Made ResetConnections(World&, std::uint64_t draw);
Made SlowNetwork(World&, std::uint64_t draw);
Made CutCommand(World&, std::uint64_t draw);
Made ResetCoordinator(World&, std::uint64_t draw);
Made SilentCoordinator(World&, std::uint64_t draw);
Made LostReplies(World&, std::uint64_t draw);

Made KillBackend(World&, std::uint64_t draw);
Made FreezeBackend(World&, std::uint64_t draw);
Made ImmediateStop(World&, std::uint64_t draw);
Made KillPostmaster(World&, std::uint64_t draw);
Made LockSessions(World&, std::uint64_t draw);
Made PoolExhaustion(World&, std::uint64_t draw);
Made LongReader(World&, std::uint64_t draw);
Made TerminateBackends(World&, std::uint64_t draw);

Made WorkerClock(World&, std::uint64_t draw);
Made CoordinatorClock(World&, std::uint64_t draw);
Made DatabaseClockAhead(World&, std::uint64_t draw);
Made DatabaseClockBehind(World&, std::uint64_t draw);

Made PowerLoss(World&, std::uint64_t draw);
Made FlushError(World&, std::uint64_t draw);
Made FullDisk(World&, std::uint64_t draw);
Made NoMemory(World&, std::uint64_t draw);

Made FailOverSync(World&, std::uint64_t draw);
Made FailOverAsync(World&, std::uint64_t draw);
Made RestoreBackup(World&, std::uint64_t draw);

Made ToxicLatency(World&, std::uint64_t draw);
Made ToxicSlicer(World&, std::uint64_t draw);
Made ToxicResetPeer(World&, std::uint64_t draw);
Made ToxicHalfOpen(World&, std::uint64_t draw);
Made ToxicOneWay(World&, std::uint64_t draw);
Made FreezeMember(World&, std::uint64_t draw);
Made KafkaLate(World&, std::uint64_t draw);
Made KafkaInSlices(World&, std::uint64_t draw);
Made KafkaReset(World&, std::uint64_t draw);
Made KafkaSilent(World&, std::uint64_t draw);

Made ObjectsBusy(World&, std::uint64_t draw);
Made ObjectsUnheard(World&, std::uint64_t draw);
Made ObjectsHalf(World&, std::uint64_t draw);
Made ObjectsSlow(World&, std::uint64_t draw);
Made ObjectsGone(World&, std::uint64_t draw);
Made ObjectsToxic(World&, std::uint64_t draw);

Made KillLeader(World&, std::uint64_t draw);
Made FreezeLeader(World&, std::uint64_t draw);
Made WipeReplica(World&, std::uint64_t draw);
Made MoveLeaders(World&, std::uint64_t draw);
Made FewReplicas(World&, std::uint64_t draw);
Made NoMajority(World&, std::uint64_t draw);
Made AddPartitions(World&, std::uint64_t draw);

// Why a fault cannot be done here; nothing if it can.
std::optional<std::string> NoToxiproxy(const World&);
std::optional<std::string> NoFailPoints(const World&);
std::optional<std::string> NoNextVersion(const World&);
std::optional<std::string> NoObjects(const World&);
std::optional<std::string> NoToxicObjects(const World&);
std::optional<std::string> NoToxicKafka(const World&);
std::optional<std::string> NoCluster(const World&);
std::optional<std::string> NoClocks(const World&);
std::optional<std::string> NoDisk(const World&);
std::optional<std::string> NoTracing(const World&);
std::optional<std::string> NoMemoryGroup(const World&);

// The worker that holds most leases now, or one by lot: a fault is to hit work.
int BusyWorker(World& world, std::uint64_t draw);
// Whether this process has a session that lives.
bool HasSession(const World& world, pid_t pid);
inline Node& ACoordinator(World& world, std::uint64_t draw) {
  return world.fleet->coordinator(int(draw % std::uint64_t(world.fleet->coordinators())));
}
inline Node& AWorker(World& world, std::uint64_t draw) { return world.fleet->worker(BusyWorker(world, draw)); }
inline Error NotSeen(std::string what) { return {Code::kTimeout, "not seen: " + std::move(what)}; }
// Whether it has leases of a dead session still to be reaped.
bool HasLeases(const World& world, pid_t pid);

}  // namespace acl::chaos
