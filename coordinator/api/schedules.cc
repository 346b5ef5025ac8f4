// /v1/schedules: workflows that start at times (docs/guides/workflows.md, "Schedules").
#include <charconv>

#include <fmt/format.h>

#include "coordinator/api/json_views.h"
#include "coordinator/api/submission.h"
#include "coordinator/schedules.h"
#include "shared/base/canonical_json.h"
#include "shared/journal/document.h"

namespace acl::coordinator {
namespace {

using schedule::ScheduleRow;

constexpr int kShownFireTimes = 10, kShownFires = 20, kTries = 5;
constexpr std::size_t kMaxReason = 500;

// A definition that was checked, and what its checks read.
struct Prepared {
  schedule::Definition definition;
  std::string name, workflow_name;
  std::optional<bool> paused;
  std::optional<std::int64_t> version;
  schedule::Cron cron;
  std::vector<Finding> findings;
  std::string file;
  Hash256 hash{};
};

HttpResponse Wrong(const std::string& code, const std::string& message, const std::string& member) {
  return Problem(422, "invalid-request", message, Json::array({ErrorItem(code, message, "/" + member)}));
}

bool IsName(const std::string& name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= 100 && plain(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return plain(c) || c == '-' || c == '_' || c == '.'; });
}

std::optional<HttpResponse> ReadTimes(const Json& body, Prepared& out) {
  const auto text = [&](const char* member) { return !body.contains(member) || body[member].is_string(); };
  if (!body.contains("cron")) return Wrong("missing-member", "'cron' is missing: when it fires, for example \"0 9 * * MON-FRI\"", "cron");
  for (const char* member : {"cron", "zone", "overlap"}) {
    if (auto refusal = WrongType(body, member, text(member), "a string")) return refusal;
  }
  auto& definition = out.definition;
  definition.cron = body["cron"];
  auto cron = schedule::ParseCron(definition.cron);
  if (!cron) return Wrong("bad-cron", cron.message(), "cron");
  out.cron = *cron;
  auto zone = TimeZone::Load(body.value("zone", std::string("UTC")));
  if (!zone && zone.code() == Code::kUnavailable) return ProblemOf(zone.error());
  if (!zone) return Wrong("bad-zone", zone.message(), "zone");
  definition.zone = zone->name();
  const auto overlap = schedule::ParseOverlap(body.value("overlap", std::string("skip")));
  if (!overlap) return Wrong("bad-overlap", "overlap is one of skip, buffer_one, cancel_other, allow", "overlap");
  definition.policy.overlap = *overlap;
  const Json catchup = body.value("catchup_seconds", Json(schedule::kDefaultCatchup));
  if (!catchup.is_number_integer() || catchup < 0 || catchup > schedule::kMaxCatchup) {
    return Wrong("bad-catchup", fmt::format("catchup_seconds is a whole number from 0 to {}", schedule::kMaxCatchup), "catchup_seconds");
  }
  definition.policy.catchup_seconds = catchup;
  return std::nullopt;
}

// Everything that POST /v1/workflows checks, and what a schedule has of its own.
OrRefusal<Prepared> ReadDefinition(const ApiContext& api, const HttpRequest& request) {
  auto read = ReadObject(request, {"name", "workflow", "file", "inputs", "labels", "strict", "strict_templates", "cron", "zone", "overlap",
                                   "catchup_seconds", "paused", "version"});
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  Json& body = ValueOf(read);
  Prepared out;
  if (auto refusal = WrongType(body, "name", body.value("name", Json("")).is_string(), "a string")) return std::move(*refusal);
  if (auto refusal = WrongType(body, "paused", body.value("paused", Json(false)).is_boolean(), "true or false")) return std::move(*refusal);
  if (auto refusal = WrongType(body, "version", body.value("version", Json(1)).is_number_integer(), "a whole number"))
    return std::move(*refusal);
  if (auto refusal = ReadTimes(body, out)) return std::move(*refusal);
  out.name = body.value("name", "");
  if (body.contains("paused")) out.paused = body["paused"].get<bool>();
  if (body.contains("version")) out.version = body["version"].get<std::int64_t>();
  auto submitted = ReadSubmissionMembers(std::move(body));
  if (const auto* refusal = RefusalOf(submitted)) return *refusal;
  Submission& submission = ValueOf(submitted);
  if (submission.labels.contains("schedule"))
    return Wrong("bad-label", "the label 'schedule' is the schedule's own: its name", "labels/schedule");
  auto loaded = LoadWorkflow(submission.text, api.capabilities, OptionsOf(submission, true));
  if (!loaded.ok()) return InvalidWorkflow(submission.file, loaded.findings);
  out.workflow_name = loaded.definition->name;
  out.findings = std::move(loaded.findings);
  out.file = submission.file;
  out.hash = submission.hash;
  out.definition.workflow = std::move(submission.text);
  out.definition.inputs = DumpJson(submission.inputs);
  out.definition.labels = DumpJson(submission.labels);
  ScheduleRow sample;
  sample.name = out.name;
  sample.definition = out.definition;
  auto create = ScheduledRequest(*loaded.definition, sample, "2026-01-01T00:00:00Z");
  if (!create) return Problem(422, "invalid-request", create.message());
  create->subject = api.ids.New<SubjectId>();
  if (auto item = workflow::MakeCreateItem(api.workflow_kind, *loaded.definition, std::move(*create)); !item) {
    return item.code() == Code::kInvalid ? Problem(422, "invalid-request", item.message()) : ProblemOf(item.error());
  }
  return out;
}

Json RowToJson(const ScheduleRow& row) {
  const auto& policy = row.definition.policy;
  Json out = {{"name", row.name},
              {"id", row.id.ToString()},
              {"url", "/v1/schedules/" + row.name},
              {"cron", row.definition.cron},
              {"zone", row.definition.zone},
              {"overlap", std::string(OverlapName(policy.overlap))},
              {"catchup_seconds", policy.catchup_seconds},
              {"paused", row.paused},
              {"counts", {{"started", row.started}, {"skipped_overlap", row.skipped}, {"missed", row.missed}, {"failed", row.failed}}},
              {"version", row.version},
              {"created_at", FormatWallTime(row.created_at)},
              {"updated_at", FormatWallTime(row.updated_at)}};
  if (!row.created_by.empty()) out["created_by"] = row.created_by;
  if (!row.edited_by.empty()) out["edited_by"] = row.edited_by;
  if (!row.pause_reason.empty()) out["pause_reason"] = row.pause_reason;
  if (row.next_fire_at && !row.paused) out["next_fire_at"] = FormatWallTime(*row.next_fire_at);
  if (row.waiting_at) out["waiting_at"] = FormatWallTime(*row.waiting_at);
  if (row.last_fire_at) out["last_fire_at"] = FormatWallTime(*row.last_fire_at);
  return out;
}

// With the texts, the next fire times and what became of the last ones.
HttpResponse Answer(const ApiContext& api, int status, const ScheduleRow& row, Json more = Json::object()) {
  Json out = RowToJson(row);
  out.update(more);
  out["workflow"] = row.definition.workflow;
  for (const auto& [member, text] : {std::pair("inputs", &row.definition.inputs), std::pair("labels", &row.definition.labels)}) {
    auto parsed = ParseJson(*text, kStoredJson);
    out[member] = parsed ? std::move(*parsed) : Json::object();
  }
  out["next_fires"] = Json::array();
  auto now = api.schedules.Now();
  if (!now) return ProblemOf(now.error());
  const auto cron = schedule::ParseCron(row.definition.cron);
  const auto zone = TimeZone::Load(row.definition.zone), utc = TimeZone::Load("UTC");
  for (const auto time : cron&& zone ? NextFires(*cron, *zone, SecondsOf(*now), kShownFireTimes) : std::vector<std::int64_t>()) {
    out["next_fires"].push_back({{"at", schedule::FormatZoned(*utc, time)}, {"local", schedule::FormatZoned(*zone, time)}});
  }
  auto fires = api.schedules.Fires(row.id, kShownFires);
  if (!fires) return ProblemOf(fires.error());
  out["fires"] = Json::array();
  for (const auto& fire : *fires) {
    Json item = {
        {"scheduled_time", FormatWallTime(fire.nominal)}, {"outcome", fire.outcome}, {"recorded_at", FormatWallTime(fire.recorded_at)}};
    if (fire.run) item["run"] = fire.run->ToString();
    if (!fire.reason.empty()) item["reason"] = fire.reason;
    out["fires"].push_back(std::move(item));
  }
  return HttpResponse::OfJson(status, out).With("ETag", fmt::format("\"{}\"", row.version));
}

OrRefusal<ScheduleRow> Find(const ApiContext& api, const HttpRequest& request) {
  auto row = api.schedules.Get(kDefaultProject, request.Param("name"));
  if (!row) return ProblemOf(row.error());
  return std::move(*row);
}

// The first fire time after the store's now.
Result<std::optional<WallTime>> FirstFire(const ApiContext& api, const schedule::Definition& definition) {
  const auto cron = schedule::ParseCron(definition.cron);
  const auto zone = TimeZone::Load(definition.zone);
  if (!cron) return cron.error();
  if (!zone) return zone.error();
  auto now = api.schedules.Now();
  if (!now) return now.error();
  const auto next = NextFire(*cron, *zone, SecondsOf(*now));
  return next ? std::optional(WallTimeFromSeconds(*next)) : std::nullopt;
}

HttpResponse CreateSchedule(const ApiContext& api, const HttpRequest& request) {
  auto key = ReadIdempotencyKey(request);
  if (const auto* refusal = RefusalOf(key)) return *refusal;
  auto read = ReadDefinition(api, request);
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  Prepared& prepared = ValueOf(read);
  if (!IsName(prepared.name)) {
    return Wrong("bad-name", "'name' is 1 to 100 letters, digits, '-', '_' and '.', and begins with a letter or digit", "name");
  }
  auto first = FirstFire(api, prepared.definition);
  if (!first) return ProblemOf(first.error());
  schedule::NewSchedule fresh;
  fresh.row.id = api.ids.New<schedule::ScheduleId>();
  fresh.row.name = prepared.name;
  fresh.row.definition = prepared.definition;
  fresh.row.created_by = request.principal;
  fresh.row.paused = prepared.paused.value_or(false);
  fresh.row.next_fire_at = *first;
  fresh.request_key = ValueOf(key);
  fresh.request_hash = prepared.hash;
  auto created = api.schedules.Create(fresh);
  if (!created) return ProblemOf(created.error());
  using Kind = schedule::CreateAnswer::Kind;
  if (created->kind == Kind::kNameTaken) {
    return Problem(409, "name-taken",
                   "there is a schedule '" + prepared.name + "' already: PUT /v1/schedules/" + prepared.name + " changes it");
  }
  if (created->kind == Kind::kKeyConflict) {
    return Problem(422, "key-reused",
                   "this Idempotency-Key was used for another request; the first one made schedule " + created->row.name);
  }
  auto answer = Answer(api, 201, created->row, {{"warnings", FindingsToJson(prepared.file, prepared.findings)}});
  if (answer.status == 201) answer.With("Location", "/v1/schedules/" + created->row.name);
  if (created->kind == Kind::kReplayed) {
    Counter(api.idempotency_hits).Add();
    return answer.With("Idempotent-Replayed", "true");
  }
  if (api.schedules_changed) api.schedules_changed();
  return answer;
}

HttpResponse ListSchedules(const ApiContext& api, const HttpRequest& request) {
  auto limit = ReadNumber(request, "limit", 200, 1, 1000);
  if (const auto* refusal = RefusalOf(limit)) return *refusal;
  const auto* after = request.Query("after");
  auto rows = api.schedules.List(kDefaultProject, after == nullptr ? "" : *after, int(ValueOf(limit)) + 1);
  if (!rows) return ProblemOf(rows.error());
  const bool more = std::int64_t(rows->size()) > ValueOf(limit);
  if (more) rows->pop_back();
  Json answer = {{"schedules", Json::array()}};
  for (const auto& row : *rows) answer["schedules"].push_back(RowToJson(row));
  if (more) answer["next_after"] = rows->back().name;
  return HttpResponse::OfJson(200, answer);
}

HttpResponse GetSchedule(const ApiContext& api, const HttpRequest& request) {
  auto row = Find(api, request);
  if (const auto* refusal = RefusalOf(row)) return *refusal;
  return Answer(api, 200, ValueOf(row));
}

// The version that If-Match ("3", with its quotes) or the body names, if one does.
OrRefusal<std::optional<std::int64_t>> WantedVersion(const HttpRequest& request, const Prepared& prepared) {
  const auto* header = request.Header("if-match");
  if (header == nullptr || *header == "*") return prepared.version;
  std::string_view text = *header;
  std::int64_t value = 0;
  if (text.size() > 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return Problem(400, "bad-if-match", "If-Match is an ETag of this schedule, for example \"3\"");
  return std::optional(value);
}

HttpResponse Replace(const ApiContext& api, const HttpRequest& request) {
  auto read = ReadDefinition(api, request);
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  Prepared& prepared = ValueOf(read);
  auto wanted = WantedVersion(request, prepared);
  if (const auto* refusal = RefusalOf(wanted)) return *refusal;
  auto found = Find(api, request);
  if (const auto* refusal = RefusalOf(found)) return *refusal;
  ScheduleRow& row = ValueOf(found);
  if (!prepared.name.empty() && prepared.name != row.name) return Wrong("bad-name", "a schedule keeps its name: make another one", "name");
  if (ValueOf(wanted) && *ValueOf(wanted) != row.version) {
    return Problem(412, "version-mismatch", fmt::format("schedule '{}' is at version {}: read it again", row.name, row.version));
  }
  const bool same_times = prepared.definition.cron == row.definition.cron && prepared.definition.zone == row.definition.zone;
  const bool paused = prepared.paused.value_or(row.paused);
  const bool new_next_fire = !same_times || (row.paused && !paused);
  if (new_next_fire) {
    auto first = FirstFire(api, prepared.definition);
    if (!first) return ProblemOf(first.error());
    row.next_fire_at = *first;
  }
  if (prepared.definition != row.definition) row.edited_by = request.principal;
  row.definition = prepared.definition;
  row.paused = paused;
  if (!paused) row.pause_reason.clear();
  auto replaced = api.schedules.Replace(row, new_next_fire);
  if (!replaced)
    return replaced.code() == Code::kConflict ? Problem(412, "version-mismatch", replaced.message()) : ProblemOf(replaced.error());
  if (api.schedules_changed) api.schedules_changed();
  return Answer(api, 200, *replaced, {{"warnings", FindingsToJson(prepared.file, prepared.findings)}});
}

HttpResponse Delete(const ApiContext& api, const HttpRequest& request) {
  auto status = api.schedules.Delete(kDefaultProject, request.Param("name"));
  return status ? HttpResponse::Empty(204) : ProblemOf(status.error());
}

// Twice is the same as once, with or without a key. Resumed, it goes on with the next fire time from now.
HttpResponse PauseOrResume(const ApiContext& api, const HttpRequest& request, bool pause) {
  auto key = ReadIdempotencyKey(request);
  if (const auto* refusal = RefusalOf(key)) return *refusal;
  auto body = pause ? ReadObject(request, {"reason"}) : ReadObject(request, {});
  if (const auto* refusal = RefusalOf(body)) return *refusal;
  const Json reason = ValueOf(body).value("reason", Json(""));
  if (!reason.is_string() || reason.get_ref<const std::string&>().size() > kMaxReason) {
    return Wrong("wrong-type", fmt::format("'reason' is a string of at most {} bytes", kMaxReason), "reason");
  }
  for (int tries = 1;; ++tries) {
    auto found = Find(api, request);
    if (const auto* refusal = RefusalOf(found)) return *refusal;
    ScheduleRow& row = ValueOf(found);
    if (row.paused == pause && (!pause || row.pause_reason == reason)) return Answer(api, 200, row);
    row.paused = pause;
    row.pause_reason = pause ? reason.get<std::string>() : "";
    if (!pause) {
      auto first = FirstFire(api, row.definition);
      if (!first) return ProblemOf(first.error());
      row.next_fire_at = *first;
    }
    auto changed = api.schedules.Replace(row, !pause);
    if (!changed && changed.code() == Code::kConflict && tries < kTries) continue;
    if (!changed) return ProblemOf(changed.error());
    if (api.schedules_changed) api.schedules_changed();
    return Answer(api, 200, *changed);
  }
}

// A run now, whatever the overlap policy and the pause say: somebody asked for it.
HttpResponse Trigger(const ApiContext& api, const HttpRequest& request) {
  auto key = ReadIdempotencyKey(request);
  if (const auto* refusal = RefusalOf(key)) return *refusal;
  auto body = ReadObject(request, {});
  if (const auto* refusal = RefusalOf(body)) return *refusal;
  auto found = Find(api, request);
  if (const auto* refusal = RefusalOf(found)) return *refusal;
  const ScheduleRow& row = ValueOf(found);
  auto now = api.schedules.Now();
  if (!now) return ProblemOf(now.error());
  const auto own = ValueOf(key).value_or(api.ids.New<SubjectId>().ToString());
  const auto hash = CanonicalHash({{"trigger", row.id.ToString()}, {"key", own}});
  auto made = StartScheduled({api.store, api.capabilities, api.workflow_kind, api.ids, api.runs_created}, row, FormatWallTime(*now),
                             "schedule:" + row.id.ToString() + ":trigger:" + own, hash, request.principal);
  if (!made) return made.code() == Code::kInvalid ? Problem(422, "invalid-workflow", made.message()) : ProblemOf(made.error());
  const auto run = made->outcome.subject;
  const std::string by = request.principal.empty() ? "" : " by " + request.principal;
  if (auto status = api.schedules.RecordTriggered(row.id, run, "triggered" + by); !status) return ProblemOf(status.error());
  auto response = HttpResponse::OfJson(201, {{"id", run.ToString()}, {"schedule", row.name}, {"url", "/v1/workflows/" + run.ToString()}});
  response.With("Location", "/v1/workflows/" + run.ToString());
  if (made->outcome.kind == CreateOutcome::Kind::kReplayed) {
    Counter(api.idempotency_hits).Add();
    return response.With("Idempotent-Replayed", "true");
  }
  api.bell.RingWork(made->queue);
  return response;
}

}  // namespace

void AddScheduleRoutes(Router& router, const ApiContext& api) {
  const RouteOptions definition{.max_body = kMaxSubmitBytes, .content_types = {"application/json"}, .body_required = true};
  const RouteOptions action{.max_body = 4096, .content_types = {"application/json"}};
  router.Add("POST", "/v1/schedules", definition, [api](const HttpRequest& r) { return CreateSchedule(api, r); });
  router.Add("GET", "/v1/schedules", {}, [api](const HttpRequest& r) { return ListSchedules(api, r); });
  router.Add("GET", "/v1/schedules/{name}", {}, [api](const HttpRequest& r) { return GetSchedule(api, r); });
  router.Add("PUT", "/v1/schedules/{name}", definition, [api](const HttpRequest& r) { return Replace(api, r); });
  router.Add("DELETE", "/v1/schedules/{name}", {}, [api](const HttpRequest& r) { return Delete(api, r); });
  router.Add("POST", "/v1/schedules/{name}/pause", action, [api](const HttpRequest& r) { return PauseOrResume(api, r, true); });
  router.Add("POST", "/v1/schedules/{name}/resume", action, [api](const HttpRequest& r) { return PauseOrResume(api, r, false); });
  router.Add("POST", "/v1/schedules/{name}/trigger", action, [api](const HttpRequest& r) { return Trigger(api, r); });
}

}  // namespace acl::coordinator
