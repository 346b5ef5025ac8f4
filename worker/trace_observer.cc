#include "worker/trace_observer.h"

#include "shared/base/random.h"
#include "shared/kernel/call_format.h"
#include "shared/workflow/end_reason.h"
#include "worker/log_observer.h"

namespace acl {

namespace {

// scheme://host/path: no user, no query, for these may be secrets.
std::string PlainUrl(const std::string& url) {
  const auto scheme = url.find("://");
  if (scheme == std::string::npos) return {};
  auto rest = url.substr(scheme + 3, url.find_first_of("?#", scheme) - scheme - 3);
  const auto slash = rest.find('/'), at = rest.rfind('@', slash);
  if (at != std::string::npos) rest.erase(0, at + 1);
  return url.substr(0, scheme + 3) + rest;
}

// OpenTelemetry's conventions for HTTP clients.
void DescribeHttp(const CapabilityCall& call, Span& span) {
  constexpr std::string_view kHttp = "net.http.";
  if (!call.capability.starts_with(kHttp)) return;
  std::string method = call.capability.substr(kHttp.size());
  for (char& c : method) c = c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c;
  span.kind = Span::Kind::kClient;
  span.attributes["http.request.method"] = method;
  auto url = call.inputs.find("url");
  if (url == call.inputs.end() || !url->is_string()) return;
  const std::string plain = PlainUrl(url->get<std::string>());
  if (plain.empty()) return;
  span.attributes["url.full"] = plain;
  const auto host = plain.find("://") + 3;
  span.attributes["server.address"] = plain.substr(host, plain.find_first_of("/:", host) - host);
}

// A run's id holds the moment of its creation (RFC 9562, version 7).
WallTime BornAt(const SubjectId& subject, WallTime otherwise) {
  const auto& bytes = subject.uuid.bytes;
  if (bytes[6] >> 4 != 7) return otherwise;
  std::int64_t ms = 0;
  for (int i = 0; i < 6; ++i) ms = ms << 8 | bytes[std::size_t(i)];
  return std::min(WallTimeFromMicros(ms * 1'000), otherwise);
}

std::string_view DispositionName(Disposition disposition) {
  switch (disposition) {
    case Disposition::kKeep: return "keep";
    case Disposition::kRelease: return "release";
    case Disposition::kClose: return "close";
  }
  return "keep";
}

std::string_view CommitOutcomeName(CommitOutcome::Kind kind) {
  switch (kind) {
    case CommitOutcome::Kind::kCommitted: return "committed";
    case CommitOutcome::Kind::kFenced: return "fenced";
    case CommitOutcome::Kind::kBusy: return "busy";
    case CommitOutcome::Kind::kMoved: return "moved";
    case CommitOutcome::Kind::kRejected: return "rejected";
  }
  return "rejected";
}

}  // namespace

std::string OutgoingTraceparent(const Tracer& tracer, const StepCall& call) {
  const TraceContext& parent = call.trace;
  if (parent.trace_id.empty()) return {};
  const bool sampled = tracer.Samples(parent);
  if (!sampled && !parent.span_id.empty()) return FormatTraceparent({parent.trace_id, parent.span_id, !tracer.on() && parent.sampled});
  return FormatTraceparent({parent.trace_id, AttemptSpanId(call.subject, call.step.step_id, call.attempt_id, call.token), sampled});
}

TraceObserver::Run* TraceObserver::Find(const SubjectId& subject) {
  auto it = runs_.find(subject);
  return it == runs_.end() ? nullptr : &it->second;
}

Span TraceObserver::Begin(const SubjectId& subject, const Run& run, std::string name) const {
  Span span;
  span.trace_id = run.parent.trace_id;
  span.parent_id = RunSpanId(subject);
  span.name = std::move(name);
  span.attributes = {{"acl.run_id", subject.ToString()}, {"acl.worker", worker_name_}, {"acl.token", run.token.value}};
  return span;
}

void TraceObserver::OnClaim(const Claimed& claimed, const Restored& restored, const SubjectKind& kind) {
  SubjectTrace trace = kind.Trace(restored.state);
  if (!tracer_.Samples(trace.parent)) return;
  Run run;
  run.token = claimed.token;
  run.parent = std::move(trace.parent);
  run.name = std::move(trace.name);
  Span claim = Begin(claimed.subject, run, "claim");
  claim.span_id = ClaimSpanId(claimed.subject, claimed.token);
  claim.start = claimed.db_now;
  claim.end = std::max(clock_.Wall(), claimed.db_now);
  claim.attributes["acl.events_replayed"] = claimed.sticky ? 0 : restored.replayed;
  claim.attributes["acl.head_seq"] = claimed.head.seq;
  claim.attributes["acl.takeovers_without_progress"] = claimed.takeovers_without_progress;
  for (const AttemptRow& row : claimed.attempts) {
    const StepTrace step_trace = kind.TraceOf(restored.state, row.step_id);
    if (step_trace.over) continue;
    Step& step = run.steps.try_emplace(row.step_id, Step{row.started_at, claimed.db_now, 0, false, "", "", false}).first->second;
    step.began = std::min(step.began, row.started_at);
    step.attempts = std::max(step.attempts, row.attempt_id);
    const bool lost = step_trace.open_attempt == row.attempt_id;
    if (row.attempt_id < step.attempts && !lost) continue;
    step.last_span = AttemptSpanId(claimed.subject, row.step_id, row.attempt_id, row.token);
    step.last_lost = lost;
    if (!lost) continue;
    Span span = Begin(claimed.subject, run, "attempt");
    span.span_id = step.last_span;
    span.parent_id = StepSpanId(claimed.subject, row.step_id);
    span.start = row.started_at;
    span.end = claimed.db_now;
    span.failed = true;
    span.message = "its worker lost the run before the outcome was recorded";
    span.attributes.erase("acl.worker");  // the one that lost it: its claim span has the same token
    span.attributes["acl.reported_by"] = worker_name_;
    span.attributes["acl.token"] = row.token.value;
    span.attributes["acl.step_id"] = row.step_id;
    span.attributes["acl.attempt"] = row.attempt_id;
    span.attributes["acl.outcome"] = "lost";
    span.attributes["error.type"] = "lost";
    span.events.push_back({"acl.lost", claimed.db_now, {{"acl.next_token", claimed.token.value}}});
    span.links.push_back({ClaimSpanId(claimed.subject, row.token), {{"acl.link", "claim"}}});
    claim.links.push_back({ClaimSpanId(claimed.subject, row.token), {{"acl.link", "taken_over_from"}}});
    run.lost.push_back(std::move(span));
  }
  if (claimed.takeovers_without_progress > 0 || !run.lost.empty()) {
    claim.events.push_back({"acl.takeover", claimed.db_now, {{"acl.lost_attempts", std::int64_t(run.lost.size())}}});
  }
  tracer_.Export(std::move(claim));
  runs_.insert_or_assign(claimed.subject, std::move(run));
}

Span TraceObserver::BeginAttempt(const StepCall& call, const Run& run) const {
  const CapabilityCall wanted = CallFromJson(call.step.call);
  Span span = Begin(call.subject, run, "attempt " + wanted.capability);
  span.span_id = AttemptSpanId(call.subject, call.step.step_id, call.attempt_id, call.token);
  span.parent_id = StepSpanId(call.subject, call.step.step_id);
  span.start = span.end = clock_.Wall();
  span.attributes["acl.step_id"] = call.step.step_id;
  span.attributes["acl.attempt"] = call.attempt_id;
  span.attributes["acl.capability"] = wanted.capability;
  span.attributes["acl.effect"] = std::string(EffectName(call.step.effect));
  DescribeHttp(wanted, span);
  return span;
}

void TraceObserver::BeginDispatch(const StepCall& call) {
  if (!tracer_.Samples(call.trace)) return;
  Run run;
  run.token = call.token;
  run.parent = call.trace;
  Span span = BeginAttempt(call, run);
  span.attributes["acl.dispatched"] = true;
  dispatches_.insert_or_assign(DispatchKey{call.subject, call.step.step_id, call.attempt_id, call.token}, std::move(span));
}

bool TraceObserver::EndDispatch(const StepEnd& end, const StepResult& result) {
  auto it = dispatches_.find(DispatchKey{end.subject, end.step_id, end.attempt_id, end.token});
  if (it == dispatches_.end()) return false;
  Span span = std::move(it->second);
  dispatches_.erase(it);
  Describe(result, span);
  tracer_.Export(std::move(span));
  return true;
}

void TraceObserver::OnStep(const StepCall& call) {
  if (std::string_view(call.scope) == "run/step") return BeginDispatch(call);
  Run* run = Find(call.subject);
  if (!run) return;
  const std::string& step_id = call.step.step_id;
  Attempt attempt;
  Span& span = attempt.span = BeginAttempt(call, *run);
  const WallTime now = span.start;
  Step& step = run->steps.try_emplace(step_id, Step{now, now, 0, false, "", "", false}).first->second;
  step.attempts = std::max(step.attempts, call.attempt_id);
  attempt.id = call.attempt_id;
  attempt.token = call.token;
  attempt.leaves_row = NeedsRowFirst(call.step.effect);
  if (!step.last_span.empty()) {
    const char* why = step.last_lost ? "takeover" : "retry";
    span.links.push_back({step.last_span, {{"acl.link", why}}});
    span.events.push_back({std::string("acl.") + why, now, {{"acl.attempt", call.attempt_id}}});
  }
  step.last_span = span.span_id;
  step.last_lost = false;
  run->attempts[step_id] = std::move(attempt);
}

void TraceObserver::Describe(const StepResult& result, Span& span) const {
  span.end = std::max(clock_.Wall(), span.start);
  const std::string outcome(StepOutcomeName(result.outcome));
  span.attributes["acl.outcome"] = outcome;
  if (span.kind == Span::Kind::kClient && result.outputs.is_object()) {
    if (auto status = result.outputs.find("status_code"); status != result.outputs.end() && status->is_number_integer()) {
      span.attributes["http.response.status_code"] = *status;
    }
  }
  if (result.outcome == StepResult::Outcome::kSucceeded) return;
  span.failed = true;
  span.message = outcome;  // not the error's text, which quotes what the step was given and answered: a collector is for more eyes
  span.attributes["error.type"] = outcome;
}

void TraceObserver::OnStepDone(const StepEnd& end, const StepResult& result) {
  if (EndDispatch(end, result)) return;
  Run* run = Find(end.subject);
  auto it = run ? run->attempts.find(end.step_id) : std::map<std::string, Attempt>::iterator();
  if (!run || it == run->attempts.end() || it->second.id != end.attempt_id) return;
  Describe(result, it->second.span);
}

void TraceObserver::OnRecorded(const StepEnd& end, const SubjectKind& kind, const Document& state) {
  Run* run = Find(end.subject);
  if (!run) return;
  auto it = run->attempts.find(end.step_id);
  if (it != run->attempts.end() && it->second.id == end.attempt_id) {
    Step& step = run->steps[end.step_id];
    step.ended = it->second.span.end;
    step.failed = it->second.span.failed;
    step.message = it->second.span.message;
    tracer_.Export(std::move(it->second.span));
    run->attempts.erase(it);
  }
  if (kind.TraceOf(state, end.step_id).over) EndStep(end.subject, *run, end.step_id);
}

void TraceObserver::EndStep(const SubjectId& subject, Run& run, const std::string& step_id) {
  auto it = run.steps.find(step_id);
  if (it == run.steps.end()) return;
  const Step& step = it->second;
  Span span = Begin(subject, run, "step " + step_id);
  span.span_id = StepSpanId(subject, step_id);
  span.start = step.began;
  span.end = step.ended;
  span.failed = step.failed;
  span.message = step.message;
  span.attributes["acl.step_id"] = step_id;
  span.attributes["acl.attempts"] = step.attempts;
  tracer_.Export(std::move(span));
  run.steps.erase(it);
}

void TraceObserver::OnBatch(std::size_t items, SteadyTime::duration took) {
  batch_items_ = items;
  batch_took_ = took;
}

void TraceObserver::OnOutcome(const CommitItem& item, const CommitOutcome& outcome) {
  Run* run = Find(item.subject);
  if (!run || run->token != item.token) return;
  const bool committed = outcome.kind == CommitOutcome::Kind::kCommitted;
  Span span = Begin(item.subject, *run, "commit");
  SystemRandom random;
  const std::uint64_t number = random.Next() | 1;
  span.span_id = ToHex(&number, sizeof number);
  span.kind = Span::Kind::kClient;
  span.end = clock_.Wall();
  span.start = span.end - std::chrono::duration_cast<std::chrono::microseconds>(batch_took_);
  span.attributes["db.system.name"] = "postgresql";
  span.attributes["db.operation.batch.size"] = std::int64_t(batch_items_);
  span.attributes["acl.events"] = std::int64_t(item.events.size());
  span.attributes["acl.base_seq"] = item.base_seq;
  span.attributes["acl.disposition"] = std::string(DispositionName(item.disposition));
  const std::string kind(CommitOutcomeName(outcome.kind));
  span.attributes["acl.outcome"] = kind;
  if (outcome.kind == CommitOutcome::Kind::kFenced || outcome.kind == CommitOutcome::Kind::kRejected) {
    span.failed = true;
    span.message = outcome.kind == CommitOutcome::Kind::kFenced ? "refused: the lease is somebody else's" : "rejected";
    span.attributes["error.type"] = kind;
  }
  const WallTime span_end = span.end;
  tracer_.Export(std::move(span));
  if (!committed) return;
  if (!run->lost.empty()) {
    for (Span& lost : run->lost) tracer_.Export(std::move(lost));
    run->lost.clear();
    tracer_.Hurry();  // somebody will want to see what happened
  }
  for (const DispatchRow& dispatch : item.dispatches)
    run->steps.try_emplace(dispatch.step_id, Step{span_end, span_end, dispatch.attempt_id, false, "", "", false});
  for (const CompletionRow& row : item.completions) {  // said to be done by a person, or a step that only waited: nobody ran it
    if (run->attempts.contains(row.step_id)) continue;
    for (const AttemptRow& waited : item.attempts) {
      if (waited.step_id == row.step_id)
        run->steps.try_emplace(row.step_id, Step{waited.started_at, row.completed_at, 0, false, "", "", false});
    }
    EndStep(item.subject, *run, row.step_id);
  }
}

void TraceObserver::OnLetGo(const CommitItem& item) {
  Run* run = Find(item.subject);
  if (!run || run->token != item.token) return;
  if (item.disposition == Disposition::kClose) EndRun(item, *run);
  Forget(item.subject, "released before it ended");
}

void TraceObserver::EndRun(const CommitItem& item, Run& run) {
  while (!run.steps.empty()) EndStep(item.subject, run, run.steps.begin()->first);
  Span span = Begin(item.subject, run, "workflow " + run.name);
  span.span_id = RunSpanId(item.subject);
  span.parent_id = run.parent.span_id;
  span.end = clock_.Wall();
  span.start = BornAt(item.subject, span.end);
  span.attributes["acl.workflow"] = run.name;
  span.attributes["acl.events"] = item.base_seq + std::int64_t(item.events.size());
  if (item.listing) {
    span.attributes["acl.status"] = item.listing->status;
    span.failed = item.listing->status != "COMPLETED";
    span.message = workflow::ReasonOfError(item.listing->error_message.value_or(""));
  }
  tracer_.Export(std::move(span));
  tracer_.Hurry();
}

void TraceObserver::OnLost(const SubjectId& subject, Token, const char* why) { Forget(subject, why); }

void TraceObserver::OnQuarantine(const SubjectId& subject, Token, const std::string& reason, const std::string&) {
  Forget(subject, reason.c_str());
}

void TraceObserver::Forget(const SubjectId& subject, const char* why) {
  Run* run = Find(subject);
  if (!run) return;
  for (auto& [step_id, attempt] : run->attempts) {
    if (attempt.leaves_row) continue;
    Span& span = attempt.span;
    span.end = std::max(clock_.Wall(), span.start);
    span.failed = true;
    span.message = why;
    span.attributes["acl.outcome"] = "lost";
    span.attributes["error.type"] = "lost";
    tracer_.Export(std::move(span));
  }
  runs_.erase(subject);
}

}  // namespace acl
