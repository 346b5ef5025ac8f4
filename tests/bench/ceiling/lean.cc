#include "tests/bench/ceiling/lean.h"

#include <cstring>
#include <stdexcept>

#include "shared/base/sha256.h"

namespace acl::bench {

void MakeLeanTables(Database* database, std::int64_t runs) {
  database->Run(R"(
    DROP SCHEMA IF EXISTS lean CASCADE;
    CREATE SCHEMA lean;
    CREATE TABLE lean.workflows (wid bigint PRIMARY KEY, epoch int NOT NULL DEFAULT 1, seq int NOT NULL DEFAULT 0, step int NOT NULL DEFAULT 0,
      owner int NOT NULL DEFAULT 1, status smallint NOT NULL DEFAULT 1, lease_until timestamptz NOT NULL DEFAULT now() + interval '1 day')
      WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
    CREATE TABLE lean.step_attempts (wid bigint NOT NULL, step int NOT NULL, attempt smallint NOT NULL, epoch int NOT NULL,
      started timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (wid, step, attempt));
    CREATE TABLE lean.completed_steps (wid bigint NOT NULL, step int NOT NULL, attempt smallint NOT NULL, epoch int NOT NULL,
      result bytea NOT NULL, PRIMARY KEY (wid, step));
    CREATE TABLE lean.events (wid bigint NOT NULL, seq int NOT NULL, type smallint NOT NULL, ts timestamptz NOT NULL DEFAULT now(),
      payload bytea NOT NULL, sum bytea NOT NULL, PRIMARY KEY (wid, seq)))");
  if (runs == 0) return;
  database->Run("INSERT INTO lean.workflows (wid) SELECT g FROM generate_series(0, " + std::to_string(runs - 1) + ") g");
  database->Run("VACUUM ANALYZE lean.workflows");
}

void LeanBatch::Prepare(Database* database) {
  database->Prepare("commit", R"(
    WITH created AS (
      INSERT INTO lean.workflows (wid) SELECT x FROM unnest($8::bigint[]) x),
    given AS MATERIALIZED (
      SELECT * FROM unnest($1::bigint[], $2::int[], $3::int[], $4::bytea[], $5::bytea[], $6::bytea[], $7::smallint[])
        AS g (wid, step, base, result, payload, sum, status)),
    fenced AS (
      UPDATE lean.workflows w SET seq = g.base + 2, step = g.step, status = g.status FROM given g
      WHERE w.wid = g.wid AND w.epoch = 1 AND w.seq = g.base AND w.lease_until > clock_timestamp()
      RETURNING g.wid, g.step, g.base, g.result, g.payload, g.sum),
    attempted AS (
      INSERT INTO lean.step_attempts (wid, step, attempt, epoch) SELECT wid, step, 1, 1 FROM fenced),
    completed AS (
      INSERT INTO lean.completed_steps SELECT wid, step, 1, 1, result FROM fenced),
    told AS (
      INSERT INTO lean.events (wid, seq, type, payload, sum)
      SELECT wid, base + 1, 1, payload, sum FROM fenced UNION ALL SELECT wid, base + 2, 2, '\x00'::bytea, sum FROM fenced)
    SELECT count(*) FROM fenced)");
}

void LeanBatch::Clear() {
  for (ArrayParam* array : {&run_, &step_, &base_, &result_, &event_, &sum_, &status_, &new_runs_}) array->Clear();
  steps_ = runs_ = 0;
}

void LeanBatch::AddStep(std::int64_t run, int step) {
  std::memcpy(payload_.data(), &run, sizeof run);
  const auto sum = Sha256(payload_);
  run_.AddInt64(run);
  step_.AddInt32(step);
  base_.AddInt32((step - 1) * 2);
  result_.AddBytes(payload_);
  event_.AddBytes(payload_);
  sum_.AddBytes({reinterpret_cast<const char*>(sum.data()), sum.size()});
  status_.AddInt16(step == kModelSteps ? 2 : 1);
  ++steps_;
}

void LeanBatch::Send(Database* database) {
  database->Send("commit", {&run_.Finish(), &step_.Finish(), &base_.Finish(), &result_.Finish(), &event_.Finish(), &sum_.Finish(),
                            &status_.Finish(), &new_runs_.Finish()});
}

void LeanBatch::Check(long committed, int sent) {
  if (committed != sent) throw std::runtime_error("the model lost steps: " + std::to_string(committed) + " of " + std::to_string(sent));
}

}  // namespace acl::bench
