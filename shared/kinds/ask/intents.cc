#include "shared/kinds/ask/intents.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/approval/digest.h"
#include "shared/base/json_members.h"
#include "shared/base/sha256.h"
#include "shared/kernel/create.h"

namespace acl::ask {

namespace {

void SayIntent(CommandDecided& out, std::string_view type, Json facts, WallTime now) {
  EventDraft draft;
  draft.type = type;
  draft.facts = std::move(facts);
  draft.at = now;
  out.events.push_back(std::move(draft));
}

Intent IntentFrom(const Json& json) {
  Intent intent;
  if (auto request = approval::RequestFrom(json.value("request", Json::object()))) intent.request = std::move(*request);
  intent.exchange_id = TextIn(json, "exchange_id");
  intent.tool = TextIn(json, "tool");
  intent.workflow = TextIn(json, "workflow");
  intent.run_id = TextIn(json, "run_id");
  intent.error = TextIn(json, "error");
  return intent;
}

// The run of an intent has an id of its own making, so that whoever decides it twice asks for the same. Its first six bytes are the time.
SubjectId RunOfIntent(const Intent& intent, WallTime now) {
  const Hash256 hash = Sha256(
      {"acl-intent-run-v1", std::string_view("\0", 1), intent.request.run_id, std::string_view("\0", 1), intent.request.approval_id});
  SubjectId id;
  std::copy(hash.begin(), hash.begin() + 16, id.uuid.bytes.begin());
  const std::int64_t ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  for (int i = 0; i < 6; ++i) id.uuid.bytes[std::size_t(i)] = std::uint8_t(ms >> (40 - 8 * i));
  id.uuid.bytes[6] = std::uint8_t(0x70 | (id.uuid.bytes[6] & 0x0f));
  id.uuid.bytes[8] = std::uint8_t(0x80 | (id.uuid.bytes[8] & 0x3f));
  return id;
}

approval::Request RequestOf(const Json& proposed, const UnderWay& exchange, const std::string& session_id, const std::string& id,
                            WallTime now) {
  approval::Request request;
  request.approval_id = request.step_id = id;
  request.run_id = session_id;
  request.step_name = TextIn(proposed, "tool");
  request.workflow = "what a language model proposed";
  request.message = fmt::format("A language model proposes {}. May it run?", request.step_name);
  request.description = TextIn(proposed, "about");
  request.risk = "HIGH";
  request.arguments = {{"tool", request.step_name},
                       {"arguments", proposed.value("arguments", Json::object())},
                       {"kernel_hash", TextIn(proposed, "kernel_hash")},
                       {"workflow_hash", "sha256:" + ToHex(Sha256(TextIn(proposed, "workflow")))}};
  for (const Json& one : proposed.value("approvers", Json::array())) request.approvers.push_back(one);
  request.requesters = {exchange.by};
  request.allow_requester = proposed.value("allow_requester", true);
  request.requested_at = now;
  request.expires_at = now + kIntentOpenFor;
  request.digest = approval::DigestOf(request);
  return request;
}

// One command about one intent, read by its form.
class IntentReader : private CommandReader {
 public:
  IntentReader(const Json& command, WallTime now) : CommandReader(command, now) {}

  std::string Id() const { return Text("intent_id", approval::kLongestName); }
  approval::Decision Said() const {
    approval::Decision said;
    said.decision = Text("decision", approval::kLongestName);
    said.by = Text("by", approval::kLongestName);
    said.digest = Text("digest", approval::kLongestName);
    said.comment = Text("comment", approval::kLongestComment, false);
    said.assurance = Text("assurance", approval::kLongestName, false);
    said.channel = Text("channel", approval::kLongestName, false);
    said.shown_digest = Text("shown_digest", approval::kLongestName, false);
    for (const Json& role : command_.value("roles", Json::array()))
      if (role.is_string()) said.roles.push_back(role);
    return said;
  }
};

Json VoteFacts(const std::string& id, const approval::Decision& said) {
  return {{"intent_id", id}, {"by", said.by}, {"assurance", said.assurance}, {"channel", said.channel}, {"comment", said.comment}};
}

Json AskedRun(const Intent& intent, const approval::Decision& said) {
  Json requesters = intent.request.requesters;
  requesters.push_back(said.by);
  return {{"intent", intent.request.approval_id},
          {"step_id", intent.request.approval_id},
          {"exchange_id", intent.exchange_id},
          {"file", intent.workflow},
          {"inputs", intent.request.arguments.value("arguments", Json::object())},
          {"submitter", said.by},
          {"requesters", std::move(requesters)}};
}

}  // namespace

Json ToJson(const Intent& intent) {
  Json json = {{"request", approval::ToJson(intent.request)}, {"exchange_id", intent.exchange_id}, {"tool", intent.tool}};
  if (!intent.workflow.empty()) json["workflow"] = intent.workflow;
  if (!intent.run_id.empty()) json["run_id"] = intent.run_id;
  if (!intent.error.empty()) json["error"] = intent.error;
  return json;
}

std::optional<Intent> FindIntent(const Document& state, std::string_view id) {
  const Json* json = state.Find(IntentKey(id));
  return json == nullptr ? std::nullopt : std::optional(IntentFrom(*json));
}

std::vector<Intent> Intents(const Document& state) {
  std::vector<Intent> all;
  state.ForEach([&](const std::string& key, const Json& value) {
    if (key.starts_with(kIntentPrefix)) all.push_back(IntentFrom(value));
    return true;
  });
  std::sort(all.begin(), all.end(), [](const Intent& a, const Intent& b) { return a.request.approval_id < b.request.approval_id; });
  return all;
}

Json ProposeIntents(const Document& state, const Json& proposed, const UnderWay& exchange, const std::string& session_id, WallTime now,
                    CommandDecided& out) {
  Json ids = Json::array();
  std::size_t there = Intents(state).size();
  for (const Json& one : proposed) {
    if (there++ >= std::size_t(kMostIntents) || ids.size() >= std::size_t(kMostIntentsOfExchange)) break;
    const std::string id = fmt::format("{}.{}", exchange.exchange_id, ids.size() + 1);
    Intent intent;
    intent.request = RequestOf(one, exchange, session_id, id, now);
    intent.exchange_id = exchange.exchange_id;
    intent.tool = intent.request.step_name;
    intent.workflow = TextIn(one, "workflow");
    SayIntent(out, events::kIntentProposed, {{"intent_id", id}, {"intent", ToJson(intent)}}, now);
    out.timers_set.push_back({IntentKey(id), *intent.request.expires_at});
    ids.push_back(id);
  }
  return ids;
}

CommandDecided DecideIntent(const Document& state, const Json& command, WallTime now) {
  const IntentReader reader(command, now);
  const std::string id = reader.Id();
  const auto intent = FindIntent(state, id);
  if (!intent) RefuseCommand(Code::kNotFound, "NOT_FOUND", fmt::format("there is no intent \"{}\" in this session", id));
  const approval::Decision said = reader.Said();
  const approval::Verdict verdict = approval::Decide(intent->request, intent->request.votes, said, now);
  CommandDecided out;
  using Kind = approval::Verdict::Kind;
  if (verdict.kind == Kind::kRefused) {
    std::string reason;
    for (const char c : verdict.code) reason += c == '-' ? '_' : char(std::toupper(static_cast<unsigned char>(c)));
    RefuseCommand(verdict.code == "invalid-decision" ? Code::kInvalid : Code::kConflict, reason, verdict.why);
  }
  Json facts = VoteFacts(id, said);
  if (verdict.kind == Kind::kVote) {
    SayIntent(out, events::kIntentVoted, std::move(facts), now);
    return out;
  }
  out.timers_cleared.push_back(IntentKey(id));
  if (verdict.kind == Kind::kRejects) {
    SayIntent(out, events::kIntentRejected, std::move(facts), now);
    return out;
  }
  const SubjectId run = RunOfIntent(*intent, now);
  facts["run_id"] = run.ToString();
  SayIntent(out, events::kIntentApproved, std::move(facts), now);
  out.outbox.push_back(CreateOf(run, "workflow", AskedRun(*intent, said)));
  out.answer = {{"run_id", run.ToString()}};
  return out;
}

CommandDecided ExpireIntent(const Document& state, const std::string& id, WallTime now) {
  CommandDecided out;
  const auto intent = FindIntent(state, id);
  if (intent && intent->request.pending() && intent->request.expires_at && now >= *intent->request.expires_at)
    SayIntent(out, events::kIntentExpired, {{"intent_id", id}}, now);
  return out;
}

CommandDecided IntentNotMade(const Document& state, const Json& payload, WallTime now) {
  CommandDecided out;
  const Json said = payload.value("said", Json::object());
  const auto intent = FindIntent(state, TextIn(said, "step_id"));
  if (intent && intent->run_id == TextIn(payload, "from") && intent->error.empty())
    SayIntent(out, events::kIntentFailed, {{"intent_id", intent->request.approval_id}, {"error", TextIn(said, "error")}}, now);
  return out;
}

std::optional<Intent> IntentAfter(const Document& state, std::string_view type, const Json& facts, WallTime at) {
  if (type == events::kIntentProposed) return IntentFrom(facts.value("intent", Json::object()));
  auto intent = FindIntent(state, TextIn(facts, "intent_id"));
  if (!intent) return std::nullopt;
  approval::Request& request = intent->request;
  if (type == events::kIntentFailed) {
    intent->error = TextIn(facts, "error");
    return intent;
  }
  const std::string by = TextIn(facts, "by");
  if (type == events::kIntentVoted || type == events::kIntentApproved)
    request.votes.push_back({by, at, TextIn(facts, "assurance"), TextIn(facts, "channel"), TextIn(facts, "comment")});
  if (type == events::kIntentVoted) return intent;
  request.state = type == events::kIntentApproved   ? approval::kApproved
                  : type == events::kIntentRejected ? approval::kRejected
                                                    : approval::kTimeout;
  request.decided_by = by;
  request.comment = TextIn(facts, "comment");
  request.decided_at = at;
  intent->run_id = TextIn(facts, "run_id");
  intent->workflow.clear();  // the event that proposed it has it
  return intent;
}

}  // namespace acl::ask
