#include "chaos/faults/kinds.h"
#include "shared/base/fail_point.h"

namespace acl::chaos {

namespace {

// Places that only a fleet with Kafka passes.
bool IsOfKafka(const std::string& place) { return place.starts_with("outbox.") || place.starts_with("offset."); }

}  // namespace

const std::vector<FaultKind>& FaultKinds() {
  static const std::vector<FaultKind> kinds = [] {
    std::vector<FaultKind> all = {
        {"kill-worker", "N1", "kill -9 of a worker in the middle of its work", true, KillWorker},
        {"killer-run", "N1", "a run that kills the worker that runs it, beside ten that do no harm", true, KillerAmongSleepers},
        {"kill-coordinator", "N1", "kill -9 of a coordinator", true, KillCoordinator},
        {"freeze-worker", "N2", "a worker stopped past its lease, then continued", true, FreezeWorker},
        {"late-commit", "N2", "a worker stopped with a commit on its way; the commit arrives after the lease was taken over", true,
         LateCommit},
        {"late-in-gap", "N2", "the same, arriving after the takeover and before the first commit of who took over", true, LateInGap, false,
         NoFailPoints},
        {"freeze-coordinator", "N3", "a coordinator stopped past its jobs' leases, then continued", true, FreezeCoordinator},
        {"freeze-backend", "N4", "a PostgreSQL backend of a worker stopped", true, FreezeBackend},
        {"lock-sessions", "N4", "the rows of all sessions locked for longer than a lease lives", false, LockSessions},
        {"one-way", "N7", "PostgreSQL's answers to one worker do not arrive", true, OneWay},
        {"slow", "N8", "PostgreSQL slow to reach for one worker: delay, some in small pieces", true, SlowNetwork},
        {"half-open", "N9", "connections of one worker fall silent in both directions", true, HalfOpen},
        {"cut-commit", "N10", "connections cut before a commit, after it was sent, and after it was answered", true, CutCommit},
        {"reset", "N10", "all connections of one worker reset", true, ResetConnections},
        {"cut-command", "N10", "a coordinator's connections cut before a command's commit, after it was sent, and after it was answered",
         true, CutCommand},
        {"reset-coordinator", "N10", "all connections of one coordinator to PostgreSQL reset", true, ResetCoordinator},
        {"silent-coordinator", "N9", "connections of one coordinator to PostgreSQL fall silent in both directions", true,
         SilentCoordinator},
        {"kill-backend", "N11", "kill -9 of a PostgreSQL backend: all of PostgreSQL restarts", true, KillBackend},
        {"immediate-stop", "N11", "PostgreSQL stopped without a checkpoint and started again", true, ImmediateStop},
        {"kill-postgres", "N11", "kill -9 of all of PostgreSQL, started again", true, KillPostmaster},
        {"terminate-backends", "N11", "every connection of the fleet ended by PostgreSQL", false, TerminateBackends},
        {"pool-exhaustion", "N17", "no connection left at PostgreSQL, those of one worker cut", true, PoolExhaustion},
        {"starve", "N24", "a worker that runs a twentieth of the time", true, Starve},
        {"lost-replies", "N26", "the outside does what it is asked and its answer is lost", true, LostReplies},
        {"rolling-restart", "N27", "each worker drained, ended and started again (the same version)", true, RollingRestart},
        {"rolling-upgrade", "N27", "each worker, then each coordinator, replaced by the version to come", true, RollingUpgrade, false,
         NoNextVersion},
        {"twin", "N28", "a second worker of the same name beside one that is stopped", true, Twin},
        {"freeze-all", "N29", "every worker stopped past its lease at once", true, FreezeAll},
        {"long-reader", "N30", "a transaction that holds back vacuum", false, LongReader},
        {"worker-clock", "N5", "a worker's wall clock an hour ahead or behind", true, WorkerClock, false, NoClocks},
        {"coordinator-clock", "N5", "a coordinator's wall clock an hour ahead or behind", true, CoordinatorClock, false, NoClocks},
        {"database-ahead", "N6", "PostgreSQL's clock ahead by more than two leases, then right again", true, DatabaseClockAhead, false,
         NoClocks},
        {"database-behind", "N6", "PostgreSQL's clock an hour behind, then right again", true, DatabaseClockBehind, false, NoClocks},
        {"power-loss", "N12", "the power gone under PostgreSQL: what was not flushed is lost", true, PowerLoss, false, NoDisk},
        {"flush-error", "N13", "a flush of PostgreSQL's log to the disk fails", true, FlushError, false, NoTracing},
        {"failover", "N14", "PostgreSQL killed, its synchronous standby promoted: nothing acknowledged is lost", true, FailOverSync},
        {"failover-behind", "N14", "the same with a standby that has not everything: tokens rise all the same", true, FailOverAsync},
        {"restore", "N15", "the whole database put back to a copy, and the epoch raised", true, RestoreBackup},
        {"full-disk", "N16", "no block left on PostgreSQL's disk", true, FullDisk, false, NoDisk},
        {"no-memory", "N23", "a worker killed by the kernel for want of memory", true, NoMemory, false, NoMemoryGroup},
        {"toxic-latency", "N8", "toxiproxy: PostgreSQL's answers to one worker are late", true, ToxicLatency, false, NoToxiproxy},
        {"toxic-slicer", "N8", "toxiproxy: they come in slices", true, ToxicSlicer, false, NoToxiproxy},
        {"toxic-reset", "N10", "toxiproxy: every connection of one worker is reset", true, ToxicResetPeer, false, NoToxiproxy},
        {"toxic-half-open", "N9", "toxiproxy: connections of one worker fall silent in both directions", true, ToxicHalfOpen, false,
         NoToxiproxy},
        {"toxic-one-way", "N7", "toxiproxy: they fall silent in one direction", true, ToxicOneWay, false, NoToxiproxy},
        {"objects-busy", "N25", "the object store answers 503", true, ObjectsBusy, false, NoObjects},
        {"objects-unheard", "N25", "the object store does what it is asked and its answer is lost", true, ObjectsUnheard, false, NoObjects},
        {"objects-half", "N25", "its answers break off in the middle", true, ObjectsHalf, false, NoObjects},
        {"objects-slow", "N25", "it is slow, in pieces", true, ObjectsSlow, false, NoObjects},
        {"objects-gone", "N25", "its connections fall silent in both directions", true, ObjectsGone, false, NoObjects},
        {"objects-toxic", "N25", "toxiproxy: its answers do not arrive", true, ObjectsToxic, false, NoToxicObjects},
    };
    for (FaultKind kind :
         {FaultKind{"kill-broker", "N18", "kill -9 of the Kafka broker, started again", true, KillBroker},
          FaultKind{"kill-leader", "N18", "kill -9 of the broker that leads most partitions", true, KillLeader, true, NoCluster},
          FaultKind{"freeze-leader", "N18", "that broker frozen until others lead; then it comes back", true, FreezeLeader, true,
                    NoCluster},
          FaultKind{"wipe-replica", "N18", "that broker comes back without what it had", true, WipeReplica, true, NoCluster},
          FaultKind{"move-leaders", "N18", "every partition led by its next replica, by election, and back", true, MoveLeaders, true,
                    NoCluster},
          FaultKind{"few-replicas", "N18", "one broker gone and every replica wanted: messages are refused", true, FewReplicas, true,
                    NoCluster},
          FaultKind{"no-majority", "N18", "two brokers of three killed or frozen", true, NoMajority, true, NoCluster},
          FaultKind{"more-partitions", "N18", "three partitions more, while they are used", true, AddPartitions, true, NoCluster},
          FaultKind{"wipe-topics", "N18", "every topic of the fleet deleted, made anew and empty", true, WipeTopics},
          FaultKind{"replay", "N19", "every message once more, twice, in the opposite order", true, ReplayMessages},
          FaultKind{"offset-reset", "N19", "the group back at the beginning of every topic", true, ResetOffsets},
          FaultKind{"poison", "N20", "messages that nobody can read", true, PoisonMessages},
          FaultKind{"freeze-member", "N22", "a member frozen for longer than its group waits", true, FreezeMember},
          FaultKind{"kafka-late", "N8", "toxiproxy: the broker's answers are late", true, KafkaLate, true, NoToxicKafka},
          FaultKind{"kafka-slices", "N8", "toxiproxy: they come in slices", true, KafkaInSlices, true, NoToxicKafka},
          FaultKind{"kafka-reset", "N10", "toxiproxy: every connection to the broker is reset", true, KafkaReset, true, NoToxicKafka},
          FaultKind{"kafka-silent", "N7, N9", "toxiproxy: nothing comes through to the broker, or nothing back, or neither", true,
                    KafkaSilent, true, NoToxicKafka},
          FaultKind{"rebalance", "N21", "a member that joins and leaves, three times", true, Rebalance}}) {
      kind.kafka = true;
      all.push_back(std::move(kind));
    }
    for (const auto& place : fail_point::Places()) {
      if (place.name.starts_with("ask.")) continue;  // nobody asks a model here: tests/e2e/ask_test.cc kills at each
      const std::string name(place.name);
      for (const char* action : {"kill", "pause", "reset"}) {
        if (std::string_view(action) == "reset" && !place.reset) continue;
        const auto make = [name, action](TestBed& test_bed, std::uint64_t draw) { return AtPlace(test_bed, draw, name, action); };
        all.push_back({name + ":" + action, "N1-N2", "at the failpoint " + name + ": " + action, true, make, IsOfKafka(name)});
      }
    }
    return all;
  }();
  return kinds;
}

const FaultKind* FindFaultKind(const std::string& name) {
  for (const FaultKind& kind : FaultKinds()) {
    if (name == kind.name) return &kind;
  }
  return nullptr;
}

std::optional<std::string> UnsupportedReason(const FaultKind& kind, const TestBed& test_bed) {
  if (kind.own_fleet && test_bed.fleet == nullptr) return "needs processes and connections that this driver started itself";
  if (kind.kafka && test_bed.kafka.bootstrap.empty()) return "needs a fleet whose queue is Kafka (profile kafka)";
  if (test_bed.conninfo.empty()) return "needs the fleet's database (--database-url)";
  return kind.needs ? kind.needs(test_bed) : std::nullopt;
}

}  // namespace acl::chaos
