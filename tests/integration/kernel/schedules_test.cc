// The store model against PostgreSQL. Two sessions do random things at the same time on real connections; what each of them saw must be
// what the model shows for one of the orders in which the two could have been done, alone or with what the other held locked. The
// simulator's verdicts are about the model: this is why they are about PostgreSQL too.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "shared/postgres/statement.h"
#include "tests/support/schedule_player.h"

namespace acl::test {
namespace {

using Kind = ScheduledOp::Kind;
constexpr int kRounds = 30;
constexpr int kItsSession = -1;  // among the numbers of what is locked: the other's session

// What two operations at once showed.
struct Sight {
  std::array<std::string, 2> said;
  std::array<std::set<int>, 2> claimed;
  std::string after;
};

// One way in which the model may have come so far: who went first in each round, what was locked for whom, and whether the model's clock
// went on as PostgreSQL's did: a slow machine sees rows become ready that had to wait a second.
struct Way {
  struct Turn {
    int first = 0;
    std::array<std::set<int>, 2> locked;
    milliseconds passed{0};
  };
  std::vector<Turn> turns;
  milliseconds passed{0};  // in all of them
};

class Model {
 public:
  explicit Model(const std::vector<ScheduledRound>& schedule)
      : harness_(MemoryFactory().make()), player_(*harness_, schedule), schedule_(schedule) {}

  Sight Play(std::size_t round, const Way::Turn& turn) {
    harness_->Advance(schedule_[round].pause + turn.passed);
    Sight sight;
    for (int i : {turn.first, 1 - turn.first}) {
      std::vector<std::shared_ptr<void>> locks;
      for (int number : turn.locked[std::size_t(i)]) {
        locks.push_back(number == kItsSession ? harness_->LockSession(player_.session(1 - i))
                                              : harness_->LockLease(player_.subjects()[std::size_t(number)]));
      }
      sight.said[std::size_t(i)] = player_.Play(i, schedule_[round].ops[std::size_t(i)]);
      sight.claimed[std::size_t(i)] = player_.claimed(i);
    }
    sight.after = player_.Look();
    return sight;
  }
  const SchedulePlayer& player() const { return player_; }

 private:
  std::unique_ptr<StoreHarness> harness_;
  SchedulePlayer player_;
  const std::vector<ScheduledRound>& schedule_;
};

// What the other operation may have had locked, as far as this one could notice.
std::vector<std::set<int>> LocksFor(int i, const ScheduledRound& round, const SchedulePlayer& player, const std::set<int>& exists,
                                    const Sight& seen) {
  std::vector<std::set<int>> choices{{}};
  const ScheduledOp& op = round.ops[std::size_t(i)];
  const int other = player.About(1 - i, round.ops[std::size_t(1 - i)]);
  if (op.kind == Kind::kClaim || op.kind == Kind::kClaimOne) {  // it got what it got: nothing else could be had
    std::set<int> rest = exists;
    for (int number : seen.claimed[std::size_t(i)]) rest.erase(number);
    choices.push_back(std::move(rest));
  } else if (op.kind == Kind::kReap || op.kind == Kind::kFire) {
    if (op.kind == Kind::kReap) choices.push_back({kItsSession});
    if (other >= 0 && exists.contains(other)) {
      choices.push_back({other});
      if (op.kind == Kind::kReap) choices.push_back({kItsSession, other});
    }
  } else if (const int mine = player.About(i, op); mine >= 0 && exists.contains(mine)) {
    choices.push_back({mine});
  }
  return choices;
}

// Plays the schedule on PostgreSQL and looks for the model's way to the same sights. Empty, or what nothing in the model explains.
std::string FirstDifference(std::uint64_t seed, const StoreFactory& postgres, int* explained_by_locks = nullptr) {
  const std::vector<ScheduledRound> schedule = MakeSchedule(seed, kRounds);
  auto harness = postgres.make();
  if (!harness) return "no database";
  SchedulePlayer real(*harness, schedule);
  std::vector<Way> ways(1);
  std::set<int> exists;
  std::string history;
  const SteadyTime began = SystemClock().Steady();
  for (std::size_t round = 0; round < schedule.size(); ++round) {
    if (schedule[round].pause.count() > 0) harness->Advance(schedule[round].pause);
    const auto& ops = schedule[round].ops;
    Sight seen;
    {
      std::thread beside([&] { seen.said[1] = real.Play(1, ops[1]); });
      seen.said[0] = real.Play(0, ops[0]);
      beside.join();
    }
    for (int i : {0, 1}) seen.claimed[std::size_t(i)] = real.claimed(i);
    seen.after = real.Look();
    history += fmt::format("\n  round {}{}: {}: {} | {}: {} | {}", round,
                           schedule[round].pause.count() > 0 ? fmt::format(" after {}", schedule[round].pause) : "", NameOf(ops[0]),
                           seen.said[0], NameOf(ops[1]), seen.said[1], seen.after);
    std::vector<Way> further;
    std::set<std::string> offered;
    const auto real_time = std::chrono::ceil<milliseconds>(SystemClock().Steady() - began);
    const auto look_among = [&](const Way& way, bool time_passed) {
      const milliseconds passed = time_passed ? real_time - way.passed : milliseconds(0);
      // What could have been locked is asked of the model as it was before this round.
      const auto before = [&] {
        auto model = std::make_unique<Model>(schedule);
        for (std::size_t i = 0; i < way.turns.size(); ++i) model->Play(i, way.turns[i]);
        return model;
      };
      const auto asked = before();
      const auto locks0 = LocksFor(0, schedule[round], asked->player(), exists, seen);
      const auto locks1 = LocksFor(1, schedule[round], asked->player(), exists, seen);
      for (int first : {0, 1}) {
        for (const auto& lock0 : locks0) {
          for (const auto& lock1 : locks1) {
            const Way::Turn turn{first, {lock0, lock1}, passed};
            const Sight shown = before()->Play(round, turn);
            if (shown.said != seen.said || shown.after != seen.after) {
              offered.insert(fmt::format("\n  or in the model: {} | {} | {}", shown.said[0], shown.said[1], shown.after));
              continue;
            }
            if (explained_by_locks != nullptr && (!lock0.empty() || !lock1.empty()) && further.empty()) ++*explained_by_locks;
            if (further.size() < 4)
              further.push_back(way);
            else
              continue;
            further.back().turns.push_back(turn);
            further.back().passed += passed;
          }
        }
      }
    };
    for (const bool time_passed : {false, true}) {
      if (!further.empty()) break;
      for (const Way& way : ways) look_among(way, time_passed);
    }
    if (further.empty()) {
      return fmt::format("seed {}, as PostgreSQL has it:{}{}", seed, history, fmt::join(offered, ""));
    }
    ways = std::move(further);
    for (const ScheduledOp& op : ops) {
      const auto& all = real.subjects();
      if (op.kind == Kind::kCreate) exists.insert(int(std::find(all.begin(), all.end(), op.fresh) - all.begin()));
    }
  }
  return "";
}

StoreFactory TwoConnections(std::map<std::string, std::string> statements = {}) {
  return PostgresFactory("Postgres", [statements](PgStoreOptions& options) {
    options.connections = options.commit_connections = 2;
    options.override_sql = statements;
  });
}

TEST(StoreSchedules, TheModelShowsWhatPostgresShows) {
  const char* wanted = std::getenv("ACL_SCHEDULE_SEEDS");
  const std::uint64_t seeds = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 8;
  int explained_by_locks = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const std::string difference = FirstDifference(seed, TwoConnections(), &explained_by_locks);
    ASSERT_TRUE(difference.empty()) << difference;
  }
  std::printf("schedules: %llu seeds of %d rounds, %d rounds in which one held what the other wanted\n",
              static_cast<unsigned long long>(seeds), kRounds, explained_by_locks);
}

// And it would be noticed: without the fence a stale holder commits, which the model refuses.
TEST(StoreSchedules, AStoreWithoutTheFenceIsFoundOut) {
  std::map<std::string, std::string> statements;
  const std::string fence = "l.session_id IS NOT DISTINCT FROM i.session AND l.token = i.token AND l.state = 0 AS mine";
  std::size_t forms = 0;  // of the commit
  for (const pg::Statement* statement : pg::Statement::All()) {
    forms += statement->name().starts_with("commit.") && statement->name() != "commit.read_back" ? 1 : 0;
    std::string text = statement->text();
    const auto at = text.find(fence);
    if (at == std::string::npos) continue;
    statements[statement->name()] = text.replace(at, fence.size(), "true AS mine");
  }
  ASSERT_EQ(statements.size(), forms) << "each is fenced by the same words";
  ASSERT_GT(forms, 1u);
  std::string difference;
  for (std::uint64_t seed = 1; seed <= 20 && difference.empty(); ++seed) difference = FirstDifference(seed, TwoConnections(statements));
  EXPECT_FALSE(difference.empty());
}

}  // namespace
}  // namespace acl::test
