#pragma once
// ScheduleStore in memory, for unit tests; held to the same as PostgreSQL's (tests/integration/postgres/schedule_store_test.cc).

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>

#include "shared/schedule/store.h"

namespace acl::test {

class MemorySchedules final : public schedule::ScheduleStore {
 public:
  explicit MemorySchedules(const Clock& clock) : clock_(clock) {}

  std::function<bool(const SubjectId&)> is_open = [](const SubjectId&) { return false; };      // a run that was started
  std::function<bool(const std::string&)> has_key = [](const std::string&) { return false; };  // a request key that made a run

  // Asked before (done: false) and after Due and Record: an error is their answer, after it they have happened all the same.
  std::function<Status(std::string_view function, bool done)> between = [](std::string_view, bool) { return Status(); };

  Result<WallTime> Now() override { return clock_.Wall(); }

  Result<schedule::CreateAnswer> Create(const schedule::NewSchedule& fresh) override {
    using Kind = schedule::CreateAnswer::Kind;
    std::lock_guard lock(mutex_);
    for (const auto& [id, one] : rows_) {
      if (fresh.request_key && one.key == fresh.request_key) {
        return schedule::CreateAnswer{one.hash == fresh.request_hash ? Kind::kReplayed : Kind::kKeyConflict, one.row};
      }
    }
    for (const auto& [id, one] : rows_) {
      if (one.row.name == fresh.row.name) return schedule::CreateAnswer{Kind::kNameTaken, one.row};
    }
    Entry entry{fresh.row, fresh.request_key, fresh.request_hash, {}};
    entry.row.created_at = entry.row.updated_at = clock_.Wall();
    rows_.emplace(fresh.row.id, entry);
    return schedule::CreateAnswer{Kind::kCreated, entry.row};
  }

  Result<schedule::ScheduleRow> Get(const ProjectId&, const std::string& name) override {
    std::lock_guard lock(mutex_);
    Entry* entry = Named(name);
    if (entry == nullptr) return Missing(name);
    return entry->row;
  }

  Result<std::vector<schedule::ScheduleRow>> List(const ProjectId&, const std::string& after, int limit) override {
    std::lock_guard lock(mutex_);
    std::map<std::string, schedule::ScheduleRow> sorted;
    for (const auto& [id, one] : rows_) {
      if (one.row.name > after) sorted.emplace(one.row.name, one.row);
    }
    std::vector<schedule::ScheduleRow> out;
    for (auto& [name, row] : sorted) {
      if (int(out.size()) < limit) out.push_back(row);
    }
    return out;
  }

  Result<schedule::ScheduleRow> Replace(const schedule::ScheduleRow& row, bool new_next_fire) override {
    std::lock_guard lock(mutex_);
    const auto it = rows_.find(row.id);
    if (it == rows_.end()) return Missing(row.name);
    auto& mine = it->second.row;
    if (mine.version != row.version) return Error{Code::kConflict, "another version"};
    mine.definition = row.definition;
    mine.edited_by = row.edited_by;
    mine.paused = row.paused;
    mine.pause_reason = row.pause_reason;
    if (new_next_fire) mine.next_fire_at = row.next_fire_at;
    if (mine.waiting_at && !has_key(schedule::RequestKeyOf(row.id, MicrosOf(*mine.waiting_at) / 1'000'000))) mine.waiting_at.reset();
    ++mine.version;
    mine.updated_at = clock_.Wall();
    return mine;
  }

  Status Delete(const ProjectId&, const std::string& name) override {
    std::lock_guard lock(mutex_);
    Entry* entry = Named(name);
    if (entry == nullptr) return Missing(name);
    rows_.erase(schedule::ScheduleId(entry->row.id));
    return {};
  }

  Result<std::vector<schedule::FireRow>> Fires(const schedule::ScheduleId& id, int limit) override {
    std::lock_guard lock(mutex_);
    std::vector<schedule::FireRow> out;
    const auto it = rows_.find(id);
    if (it == rows_.end()) return out;
    for (auto fire = it->second.fires.rbegin(); fire != it->second.fires.rend() && int(out.size()) < limit; ++fire)
      out.push_back(fire->second);
    return out;
  }

  Result<schedule::DueAnswer> Due(int max) override {
    if (auto before = between("Due", false); !before) return before.error();
    schedule::DueAnswer out = FindDue(max);
    if (auto after = between("Due", true); !after) return after.error();
    return out;
  }

  Result<bool> Record(const schedule::Advance& advance) override {
    if (auto before = between("Record", false); !before) return before.error();
    const bool moved = Move(advance);
    if (auto after = between("Record", true); !after) return after.error();
    return moved;
  }

  Status RecordTriggered(const schedule::ScheduleId& id, const SubjectId& run, const std::string& reason) override {
    std::lock_guard lock(mutex_);
    const auto it = rows_.find(id);
    if (it == rows_.end()) return {};
    for (const auto& [at, fire] : it->second.fires) {
      if (fire.run == run) return {};
    }
    const schedule::FireRow fire{clock_.Wall(), "started", run, reason, clock_.Wall()};
    it->second.fires.emplace(fire.nominal, fire);
    ++it->second.row.started;
    return {};
  }

 private:
  schedule::DueAnswer FindDue(int max) {
    std::lock_guard lock(mutex_);
    schedule::DueAnswer out;
    out.now = clock_.Wall();
    for (const auto& [id, one] : rows_) {
      const auto& row = one.row;
      if (row.paused) continue;
      out.some_wait = out.some_wait || row.waiting_at;
      if (row.next_fire_at && (!out.next_fire || *row.next_fire_at < *out.next_fire)) out.next_fire = row.next_fire_at;
      if (!row.waiting_at && (!row.next_fire_at || *row.next_fire_at > out.now)) continue;
      schedule::DueRow due{row, {}, {}};
      for (const auto& [at, fire] : one.fires) {
        if (fire.run && is_open(*fire.run)) due.open_runs.push_back(*fire.run);
      }
      for (const auto& time : {row.next_fire_at, row.waiting_at}) {
        const auto seconds = time ? MicrosOf(*time) / 1'000'000 : 0;
        if (time && has_key(schedule::RequestKeyOf(id, seconds))) due.started.push_back(seconds);
      }
      out.due.push_back(std::move(due));
    }
    std::stable_partition(out.due.begin(), out.due.end(), [&](const schedule::DueRow& due) {
      return due.open_runs.empty() || (due.row.next_fire_at && *due.row.next_fire_at <= out.now);
    });
    if (int(out.due.size()) > max) out.due.resize(std::size_t(max));
    return out;
  }

  bool Move(const schedule::Advance& advance) {
    std::lock_guard lock(mutex_);
    const auto it = rows_.find(advance.id);
    if (it == rows_.end()) return false;
    auto& row = it->second.row;
    const bool moved = row.version == advance.version && row.next_fire_at == advance.was_next && row.waiting_at == advance.was_waiting;
    for (const auto& fire : advance.fires) {
      const bool started = fire.outcome == "started";
      if (moved) {
        if (started) row.last_fire_at = fire.nominal;
        row.started += started ? 1 : 0;
        row.skipped += fire.outcome == "skipped_overlap" ? 1 : 0;
        row.failed += fire.outcome == "failed" ? 1 : 0;
      }
      if (!moved && !started) continue;
      const auto [at, fresh] = it->second.fires.emplace(fire.nominal, fire);
      if (!fresh && started && at->second.outcome != "started") at->second = fire;
    }
    if (!moved) return false;
    row.missed += advance.missed;
    row.next_fire_at = advance.next;
    row.waiting_at = advance.waiting;
    return true;
  }

  struct Entry {
    schedule::ScheduleRow row;
    std::optional<std::string> key;
    Hash256 hash{};
    std::map<WallTime, schedule::FireRow> fires;
  };

  static Error Missing(const std::string& name) { return {Code::kNotFound, "there is no schedule '" + name + "'"}; }
  Entry* Named(const std::string& name) {
    for (auto& [id, one] : rows_) {
      if (one.row.name == name) return &one;
    }
    return nullptr;
  }

  const Clock& clock_;
  std::mutex mutex_;
  std::map<schedule::ScheduleId, Entry> rows_;
};

}  // namespace acl::test
