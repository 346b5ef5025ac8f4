#include "shared/postgres/pg_schedule_store.h"

#include "shared/postgres/store_calls.h"

namespace acl::schedule {
namespace {

using pg::Array;
using pg::Oid;
using pg::Params;
using pg::Rows;
using pg::Statement;

const std::string kColumnList = R"(s.schedule_id, s.project_id, s.name, s.definition_text, s.inputs, s.labels, s.cron, s.zone, s.overlap,
       s.catchup_seconds, s.created_by, s.paused, s.pause_reason, s.next_fire_at, s.waiting_at, s.last_fire_at, s.started_count,
       s.skipped_count, s.missed_count, s.failed_count, s.version, s.created_at, s.updated_at, s.edited_by)";
constexpr int kColumns = 24;

const Statement kNow("schedule.now", Statement::Kind::kRead, "SELECT clock_timestamp()");
const Statement kCreateSchedule("schedule.create", Statement::Kind::kWrite, R"(
INSERT INTO schedules AS s (schedule_id, project_id, name, definition_text, inputs, labels, cron, zone, overlap, catchup_seconds, created_by, paused,
                            pause_reason, next_fire_at, request_key, request_hash)
VALUES ($id::uuid, $project::uuid, $name::text, $definition::text, $inputs::text, $labels::text, $cron::text, $zone::text, $overlap::text,
        $catchup::bigint, $by::text, $paused::boolean, $pause_reason::text, ($next::timestamptz[])[1], ($key::text[])[1], $hash::bytea)
ON CONFLICT DO NOTHING RETURNING )" + kColumnList);
// The row of the request's key before the row of the name.
const Statement kFindCreated("schedule.find_created", Statement::Kind::kRead, R"(
SELECT )" + kColumnList + R"(, coalesce(s.request_key = ($key::text[])[1], false), coalesce(s.request_hash = $hash::bytea, false)
FROM schedules s WHERE s.project_id = $project::uuid AND (s.request_key = ($key::text[])[1] OR s.name = $name::text)
ORDER BY 25 DESC LIMIT 1)");
const Statement kGetSchedule("schedule.get", Statement::Kind::kRead,
                             "SELECT " + kColumnList + " FROM schedules s WHERE s.project_id = $project::uuid AND s.name = $name::text");
const Statement kListSchedules("schedule.list", Statement::Kind::kRead, "SELECT " + kColumnList + R"(
FROM schedules s WHERE s.project_id = $project::uuid AND s.name > $after::text ORDER BY s.name LIMIT $limit::int)");
const Statement kReplace("schedule.replace", Statement::Kind::kWrite,
                         R"(
UPDATE schedules s SET definition_text = $definition::text, inputs = $inputs::text, labels = $labels::text, cron = $cron::text, zone = $zone::text,
       overlap = $overlap::text, catchup_seconds = $catchup::bigint, paused = $paused::boolean, pause_reason = $pause_reason::text,
       edited_by = $edited_by::text, next_fire_at = CASE WHEN $new_next::boolean THEN ($next::timestamptz[])[1] ELSE s.next_fire_at END,
       waiting_at = CASE WHEN EXISTS (SELECT FROM request_keys k WHERE k.scope = s.project_id
                AND k.request_key = 'schedule:' || s.schedule_id || ':' || extract(epoch FROM s.waiting_at)::bigint) THEN s.waiting_at END,
       version = s.version + 1, updated_at = clock_timestamp()
WHERE s.schedule_id = $id::uuid AND s.version = $version::bigint RETURNING )" +
                             kColumnList);
const Statement kDelete("schedule.delete", Statement::Kind::kWrite,
                        "DELETE FROM schedules WHERE project_id = $project::uuid AND name = $name::text RETURNING 1");
const Statement kFires("schedule.fires", Statement::Kind::kRead, R"(
SELECT nominal_at, outcome, subject_id, reason, recorded_at FROM schedule_fires WHERE schedule_id = $id::uuid
ORDER BY nominal_at DESC LIMIT $limit::int)");

// What an idle coordinator asks: nothing else while nothing is due.
const Statement kWhenDue("schedule.when", Statement::Kind::kRead, R"(
SELECT clock_timestamp(), (SELECT min(next_fire_at) FROM schedules WHERE NOT paused),
       EXISTS (SELECT FROM schedules WHERE NOT paused AND waiting_at IS NOT NULL))");
const Statement kDueSchedules("schedule.due", Statement::Kind::kRead, "SELECT " + kColumnList + R"(,
       ARRAY(SELECT f.subject_id FROM schedule_fires f JOIN leases l ON l.subject_id = f.subject_id
             WHERE f.schedule_id = s.schedule_id AND f.outcome = 'started' AND l.state <> 1 ORDER BY f.nominal_at)::text,
       EXISTS (SELECT FROM request_keys k WHERE k.scope = s.project_id
               AND k.request_key = 'schedule:' || s.schedule_id || ':' || extract(epoch FROM s.next_fire_at)::bigint),
       EXISTS (SELECT FROM request_keys k WHERE k.scope = s.project_id
               AND k.request_key = 'schedule:' || s.schedule_id || ':' || extract(epoch FROM s.waiting_at)::bigint)
FROM schedules s WHERE NOT s.paused AND (s.next_fire_at <= $now::timestamptz OR s.waiting_at IS NOT NULL)
ORDER BY coalesce(s.next_fire_at > $now::timestamptz, true)
         AND EXISTS (SELECT FROM schedule_fires f JOIN leases l ON l.subject_id = f.subject_id
                     WHERE f.schedule_id = s.schedule_id AND f.outcome = 'started' AND l.state <> 1),
         s.next_fire_at LIMIT $max::int)");
const Statement kRecord("schedule.record", Statement::Kind::kWrite, R"(
WITH moved AS (
  UPDATE schedules s SET next_fire_at = ($next::timestamptz[])[1], waiting_at = ($waiting::timestamptz[])[1],
         last_fire_at = coalesce(($last::timestamptz[])[1], s.last_fire_at), started_count = s.started_count + $started::bigint,
         skipped_count = s.skipped_count + $skipped::bigint, missed_count = s.missed_count + $missed::bigint,
         failed_count = s.failed_count + $failed::bigint
  WHERE s.schedule_id = $id::uuid AND s.version = $version::bigint AND s.next_fire_at IS NOT DISTINCT FROM ($was_next::timestamptz[])[1]
    AND s.waiting_at IS NOT DISTINCT FROM ($was_waiting::timestamptz[])[1] RETURNING 1),
noted AS (
  INSERT INTO schedule_fires AS f (schedule_id, nominal_at, outcome, subject_id, reason)
  SELECT $id::uuid, x.nominal, x.outcome, x.subject, x.reason
  FROM unnest($nominals::timestamptz[], $outcomes::text[], $subjects::uuid[], $reasons::text[]) AS x(nominal, outcome, subject, reason)
  WHERE EXISTS (SELECT FROM schedules s WHERE s.schedule_id = $id::uuid) AND (x.outcome = 'started' OR EXISTS (SELECT FROM moved))
  ON CONFLICT (schedule_id, nominal_at) DO UPDATE SET outcome = 'started', subject_id = excluded.subject_id, reason = excluded.reason
    WHERE f.outcome <> 'started' AND excluded.outcome = 'started' RETURNING 1),
pruned AS (
  DELETE FROM schedule_fires f WHERE f.schedule_id = $id::uuid
    AND f.nominal_at < (SELECT o.nominal_at FROM schedule_fires o WHERE o.schedule_id = $id::uuid ORDER BY o.nominal_at DESC OFFSET 100 LIMIT 1)
    AND NOT (f.outcome = 'started' AND EXISTS (SELECT FROM leases l WHERE l.subject_id = f.subject_id AND l.state <> 1)) RETURNING 1)
SELECT (SELECT count(*) FROM moved) = 1, (SELECT count(*) FROM noted), (SELECT count(*) FROM pruned))");
const Statement kTriggered("schedule.triggered", Statement::Kind::kWrite, R"(
WITH counted AS (UPDATE schedules SET started_count = started_count + 1 WHERE schedule_id = $id::uuid
                 AND NOT EXISTS (SELECT FROM schedule_fires f WHERE f.schedule_id = $id::uuid AND f.subject_id = $run::uuid) RETURNING 1)
INSERT INTO schedule_fires (schedule_id, nominal_at, outcome, subject_id, reason)
SELECT $id::uuid, clock_timestamp(), 'started', $run::uuid, $reason::text FROM counted ON CONFLICT DO NOTHING)");

ScheduleRow ReadRow(const Rows& rows, int i) {
  ScheduleRow row;
  row.id = ScheduleId{rows.Id(i, 0)};
  row.project = ProjectId{rows.Id(i, 1)};
  row.name = rows.Text(i, 2);
  row.definition.workflow = rows.Text(i, 3);
  row.definition.inputs = rows.Text(i, 4);
  row.definition.labels = rows.Text(i, 5);
  row.definition.cron = rows.Text(i, 6);
  row.definition.zone = rows.Text(i, 7);
  row.definition.policy.overlap = ParseOverlap(rows.View(i, 8)).value_or(Overlap::kSkip);
  row.definition.policy.catchup_seconds = rows.Int(i, 9);
  row.created_by = rows.Text(i, 10);
  row.paused = rows.Bool(i, 11);
  row.pause_reason = rows.Text(i, 12);
  row.next_fire_at = rows.MaybeTime(i, 13);
  row.waiting_at = rows.MaybeTime(i, 14);
  row.last_fire_at = rows.MaybeTime(i, 15);
  row.started = rows.Int(i, 16);
  row.skipped = rows.Int(i, 17);
  row.missed = rows.Int(i, 18);
  row.failed = rows.Int(i, 19);
  row.version = rows.Int(i, 20);
  row.created_at = rows.Time(i, 21);
  row.updated_at = rows.Time(i, 22);
  row.edited_by = rows.Text(i, 23);
  return row;
}

Array One(const std::optional<WallTime>& time) {
  Array out(Oid::kTimestamptz);
  if (time) out.Time(*time);
  return out;
}

void SetDefinition(Params& params, const ScheduleRow& row) {
  const Definition& what = row.definition;
  params.Id("id", row.id).Text("definition", what.workflow).Text("inputs", what.inputs).Text("labels", what.labels).Text("cron", what.cron);
  params.Text("zone", what.zone).Text("overlap", OverlapName(what.policy.overlap)).Int64("catchup", what.policy.catchup_seconds);
  params.Bool("paused", row.paused).Text("pause_reason", row.pause_reason).List("next", One(row.next_fire_at));
}

Error NoSchedule(const std::string& name) { return {Code::kNotFound, "there is no schedule '" + name + "'"}; }

// "{a,b}" of uuids.
std::vector<SubjectId> ReadIds(std::string_view text) {
  std::vector<SubjectId> out;
  for (std::size_t at = 1; at + 36 <= text.size(); at += 37) out.push_back(SubjectId{pg::DecodeUuid(text.substr(at, 36))});
  return out;
}

}  // namespace

Result<WallTime> PgScheduleStore::Now() {
  auto rows = pg::RunOne(pool_, kNow, {});
  if (!rows) return rows.error();
  return pg::Decoded<WallTime>("schedule.now", [&] { return rows->Time(0, 0); });
}

Result<CreateAnswer> PgScheduleStore::Create(const NewSchedule& schedule) {
  Params params, find;
  Array key(Oid::kText);
  if (schedule.request_key) key.Text(*schedule.request_key);
  SetDefinition(params, schedule.row);
  params.Id("project", schedule.row.project).Text("name", schedule.row.name).Text("by", schedule.row.created_by).List("key", key);
  params.Bytes("hash", schedule.request_hash);
  auto rows = pg::RunOne(pool_, kCreateSchedule, params);
  if (!rows) return rows.error();
  if (rows->size() == 1) return pg::Decoded<CreateAnswer>("schedule.create", [&] { return CreateAnswer{{}, ReadRow(*rows, 0)}; });
  find.Id("project", schedule.row.project).Text("name", schedule.row.name).List("key", key).Bytes("hash", schedule.request_hash);
  auto found = pg::RunOne(pool_, kFindCreated, find);
  if (!found) return found.error();
  if (found->size() == 0) return Error{Code::kUnavailable, "the schedule was deleted at this moment: try again"};
  return pg::Decoded<CreateAnswer>("schedule.find_created", [&] {
    using Kind = CreateAnswer::Kind;
    const bool by_key = found->Bool(0, kColumns), same = found->Bool(0, kColumns + 1);
    return CreateAnswer{!by_key ? Kind::kNameTaken : same ? Kind::kReplayed : Kind::kKeyConflict, ReadRow(*found, 0)};
  });
}

Result<ScheduleRow> PgScheduleStore::Get(const ProjectId& project, const std::string& name) {
  Params params;
  auto rows = pg::RunOne(pool_, kGetSchedule, params.Id("project", project).Text("name", name));
  if (!rows) return rows.error();
  if (rows->size() == 0) return NoSchedule(name);
  return pg::Decoded<ScheduleRow>("schedule.get", [&] { return ReadRow(*rows, 0); });
}

Result<std::vector<ScheduleRow>> PgScheduleStore::List(const ProjectId& project, const std::string& after_name, int limit) {
  Params params;
  auto rows = pg::RunOne(pool_, kListSchedules, params.Id("project", project).Text("after", after_name).Int32("limit", limit));
  if (!rows) return rows.error();
  return pg::Decoded<std::vector<ScheduleRow>>("schedule.list", [&] {
    std::vector<ScheduleRow> out;
    for (int i = 0; i < rows->size(); ++i) out.push_back(ReadRow(*rows, i));
    return out;
  });
}

Result<ScheduleRow> PgScheduleStore::Replace(const ScheduleRow& row, bool new_next_fire) {
  Params params;
  SetDefinition(params, row);
  auto rows =
      pg::RunOne(pool_, kReplace, params.Int64("version", row.version).Bool("new_next", new_next_fire).Text("edited_by", row.edited_by));
  if (!rows) return rows.error();
  if (rows->size() == 1) return pg::Decoded<ScheduleRow>("schedule.replace", [&] { return ReadRow(*rows, 0); });
  auto now = Get(row.project, row.name);
  if (!now) return now.error();
  return Error{Code::kConflict,
               "schedule '" + row.name + "' is at version " + std::to_string(now->version) + ", not " + std::to_string(row.version)};
}

Status PgScheduleStore::Delete(const ProjectId& project, const std::string& name) {
  Params params;
  auto rows = pg::RunOne(pool_, kDelete, params.Id("project", project).Text("name", name));
  if (!rows) return rows.error();
  return rows->size() == 0 ? Status(NoSchedule(name)) : Status();
}

Result<std::vector<FireRow>> PgScheduleStore::Fires(const ScheduleId& id, int limit) {
  Params params;
  auto rows = pg::RunOne(pool_, kFires, params.Id("id", id).Int32("limit", limit));
  if (!rows) return rows.error();
  return pg::Decoded<std::vector<FireRow>>("schedule.fires", [&] {
    std::vector<FireRow> out;
    for (int i = 0; i < rows->size(); ++i) {
      FireRow fire{rows->Time(i, 0), rows->Text(i, 1), std::nullopt, rows->Text(i, 3), rows->Time(i, 4)};
      if (!rows->IsNull(i, 2)) fire.run = SubjectId{rows->Id(i, 2)};
      out.push_back(std::move(fire));
    }
    return out;
  });
}

Result<DueAnswer> PgScheduleStore::Due(int max) {
  auto when = pg::RunOne(pool_, kWhenDue, {});
  if (!when) return when.error();
  auto answer = pg::Decoded<DueAnswer>("schedule.when", [&] {
    DueAnswer out;
    out.now = when->Time(0, 0);
    out.next_fire = when->MaybeTime(0, 1);
    out.some_wait = when->Bool(0, 2);
    return out;
  });
  if (!answer || (!answer->some_wait && (!answer->next_fire || *answer->next_fire > answer->now))) return answer;
  Params params;
  auto rows = pg::RunOne(pool_, kDueSchedules, params.Time("now", answer->now).Int32("max", max));
  if (!rows) return rows.error();
  return pg::Decoded<DueAnswer>("schedule.due", [&] {
    DueAnswer out = std::move(*answer);
    for (int i = 0; i < rows->size(); ++i) {
      DueRow due{ReadRow(*rows, i), ReadIds(rows->View(i, kColumns)), {}};
      const auto seconds = [](WallTime time) { return std::int64_t(MicrosOf(time) / 1'000'000); };
      if (rows->Bool(i, kColumns + 1)) due.started.push_back(seconds(*due.row.next_fire_at));
      if (rows->Bool(i, kColumns + 2)) due.started.push_back(seconds(*due.row.waiting_at));
      out.due.push_back(std::move(due));
    }
    out.more = rows->size() >= max;
    return out;
  });
}

Result<bool> PgScheduleStore::Record(const Advance& advance) {
  Params params;
  Array nominals(Oid::kTimestamptz), outcomes(Oid::kText), subjects(Oid::kUuid), reasons(Oid::kText);
  std::optional<WallTime> last;
  std::map<std::string, std::int64_t> counts;
  for (const FireRow& fire : advance.fires) {
    nominals.Time(fire.nominal);
    outcomes.Text(fire.outcome);
    fire.run ? subjects.Id(fire.run->uuid) : subjects.Null();
    reasons.Text(fire.reason);
    ++counts[fire.outcome];
    if (fire.outcome == "started") last = fire.nominal;
  }
  params.Id("id", advance.id).Int64("version", advance.version).List("was_next", One(advance.was_next));
  params.List("was_waiting", One(advance.was_waiting)).List("next", One(advance.next)).List("waiting", One(advance.waiting));
  params.List("last", One(last)).Int64("started", counts["started"]).Int64("skipped", counts["skipped_overlap"]);
  params.Int64("missed", advance.missed).Int64("failed", counts["failed"]);
  params.List("nominals", nominals).List("outcomes", outcomes).List("subjects", subjects).List("reasons", reasons);
  auto rows = pg::RunOne(pool_, kRecord, params);
  if (!rows) return rows.error();
  return pg::Decoded<bool>("schedule.record", [&] { return rows->Bool(0, 0); });
}

Status PgScheduleStore::RecordTriggered(const ScheduleId& id, const SubjectId& run, const std::string& reason) {
  Params params;
  auto rows = pg::RunOne(pool_, kTriggered, params.Id("id", id).Id("run", run).Text("reason", reason));
  return rows ? Status() : Status(rows.error());
}

}  // namespace acl::schedule
