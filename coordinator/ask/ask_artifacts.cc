#include "coordinator/ask/ask_artifacts.h"

#include <fmt/format.h>

#include "shared/base/canonical_json.h"
#include "shared/base/json_members.h"
#include "shared/journal/difference.h"
#include "shared/kinds/ledger/ledger_kind.h"
#include "shared/kinds/project/model.h"

namespace acl::coordinator {

namespace {

using aegis::Artifact;
using aegis::ArtifactType;

constexpr int kTurnsTaken = 500, kOwnTurnsTaken = 64, kDriftTaken = 200;  // 64: the most that a kernel's recent_turns says

std::string HashOf(const Artifact& artifact) {
  return "sha256:" + ToHex(CanonicalHash(Json{{"text", artifact.text}, {"value", artifact.value}}));
}

Artifact FactOf(const ledger::Fact& fact) {
  Artifact out;
  out.type = ArtifactType::kLedgerFact;
  out.id = fact.id;
  out.source = fact.id;
  out.observed_at = fact.decided_at;
  out.text = fact.claim;
  out.subject = fact.subject;
  if (!fact.subject.empty()) out.topics.push_back(fact.subject);
  out.contradicts = fact.contradicts;
  out.confidence = fact.confidence;
  out.status = ledger::NameOf(fact.status);
  out.hash = HashOf(out);
  return out;
}

Artifact DriftOf(const Json& row) {
  Artifact out;
  out.type = ArtifactType::kDriftwatch;
  out.id = TextIn(row, "driftwatch_id");
  out.source = "turn:" + TextIn(row, "turn_aurora_id");
  out.observed_at = TimeIn(row, "opened_at");
  out.text = fmt::format("{} drift ({}): {}", TextIn(row, "drift_class"), TextIn(row, "severity"), TextIn(row, "summary"));
  out.status = TextIn(row, "status");
  out.trust = aegis::Trust::kUntrusted;  // it names what a model said
  out.hash = HashOf(out);
  return out;
}

Artifact TurnOf(const Json& row) {
  Artifact out;
  out.type = ArtifactType::kTurn;
  out.id = "turn:" + TextIn(row, "turn_id");
  out.source = out.id;
  out.observed_at = TimeIn(row, "created_at");
  out.text = TextIn(row, "content");
  out.speaker = TextIn(row, "speaker");
  out.session = TextIn(row, "session_id");
  out.trust = out.speaker == "user" ? aegis::Trust::kTrusted : aegis::Trust::kUntrusted;
  out.hash = TextIn(row, "content_hash");
  return out;
}

// The task that is next or under way, with its checkpoint: what document 000 calls where we left off.
std::vector<Artifact> WorkOf(const ProjectView& view) {
  std::vector<Artifact> all;
  const project::NextStep next = view.Next("");
  const project::Work& work = view.work();
  const auto put = [&](ArtifactType type, const std::string& id, std::string text, WallTime at) {
    Artifact out;
    out.type = type;
    out.id = id;
    out.source = fmt::format("event:{}/{}", view.id.ToString(), view.head_seq);
    out.observed_at = at;
    out.text = std::move(text);
    out.hash = HashOf(out);
    all.push_back(std::move(out));
  };
  for (const auto& [id, task] : work.tasks) {
    const bool is_next = next.task == id;
    if (!is_next && task.status != project::TaskStatus::kDoing) continue;
    if (all.size() >= 8) break;
    put(is_next ? ArtifactType::kNextStep : ArtifactType::kTask, "task:" + id,
        fmt::format("{} ({})", task.title, project::NameOf(task.status)), task.updated_at);
    const auto checkpoint = work.checkpoints.find(id);
    if (checkpoint == work.checkpoints.end()) continue;
    put(ArtifactType::kCheckpoint, "checkpoint:" + id,
        fmt::format("where we left off: {}; next step: {}", checkpoint->second.where_we_left_off, checkpoint->second.next_step),
        checkpoint->second.timestamp);
  }
  return all;
}

}  // namespace

AskArtifacts::AskArtifacts(const ProjectId& project, AskRows& rows, CommandService& ledgers, ProjectDesk* projects,
                           aegis::FindsSecret finds_secret)
    : project_(project), rows_(rows), ledgers_(ledgers), projects_(projects), index_(std::move(finds_secret)) {}

void AskArtifacts::Replace(const std::string& source, std::vector<Artifact> artifacts) {
  auto& before = put_[source];
  std::map<std::string, Artifact> now;
  for (Artifact& one : artifacts) {
    const auto known = before.find(one.id);
    if (known == before.end() || !(known->second == one)) index_.Put(one);
    now.insert_or_assign(one.id, std::move(one));
  }
  for (const auto& [id, one] : before) {
    if (!now.contains(id)) index_.Remove(id);
  }
  before = std::move(now);
}

Status AskArtifacts::TakeFacts() {
  auto read = ledgers_.Read(ledger::LedgerOf(project_));
  if (!read && read.code() == Code::kNotFound) return {};
  if (!read) return read.error();
  for (const std::string& entry : Difference(ledger_, read->state)) {
    if (!entry.starts_with(ledger::kFactPrefix)) continue;
    const std::string id = entry.substr(ledger::kFactPrefix.size());
    if (const Json* fact = read->state.Find(entry)) {
      index_.Put(FactOf(ledger::FactFrom(*fact)));
    } else {
      index_.Remove(id);
    }
  }
  ledger_ = std::move(read->state);
  return {};
}

Status AskArtifacts::TakeDrift() {
  auto rows = rows_.Drift(project_, "open", kDriftTaken);
  if (!rows) return rows.error();
  std::vector<Artifact> all;
  for (const Json& row : *rows) all.push_back(DriftOf(row));
  Replace("drift", std::move(all));
  return {};
}

// The newest of the project, and those of the session however much is said elsewhere.
Status AskArtifacts::TakeTurns(const std::string& session) {
  auto rows = rows_.Turns(project_, kTurnsTaken);
  if (!rows) return rows.error();
  if (const auto id = SubjectId::Parse(session)) {
    auto own = rows_.TurnsOf(*id, kOwnTurnsTaken);
    if (!own) return own.error();
    rows->insert(rows->end(), own->begin(), own->end());
  }
  std::vector<Artifact> all;
  for (const Json& row : *rows) {
    if (TextIn(row, "authority_state") != "blocked") all.push_back(TurnOf(row));  // what was withheld is told to no model either
  }
  Replace("turns", std::move(all));
  return {};
}

Status AskArtifacts::TakeWork() {
  if (projects_ == nullptr) return {};
  auto view = projects_->Read(project_);
  if (!view && view.code() == Code::kNotFound) return {};  // it has no goals and tasks
  if (!view) return view.error();
  Replace("work", WorkOf(**view));
  return {};
}

Status AskArtifacts::Update(const std::string& session) {
  if (Status facts = TakeFacts(); !facts) return facts;
  if (Status drift = TakeDrift(); !drift) return drift;
  if (Status turns = TakeTurns(session); !turns) return turns;
  return TakeWork();
}

Result<aegis::CandidateSet> AskArtifacts::Gather(const aegis::GatherAsked& asked, const aegis::Kernel& kernel, const std::string& intent,
                                                 const std::string& turn_id) {
  std::lock_guard lock(mutex_);
  if (Status current = Update(asked.session_id); !current) return current.error();
  if (intent.empty()) return index_.Gather(asked, kernel);
  Artifact declared;  // with this question
  declared.type = ArtifactType::kIntent;
  declared.id = "intent:" + turn_id;
  declared.source = "turn:" + turn_id;
  declared.observed_at = asked.now;
  declared.text = intent;
  declared.session = asked.session_id;
  declared.hash = HashOf(declared);
  index_.Put(declared);
  auto found = index_.Gather(asked, kernel);
  index_.Remove(declared.id);
  return found;
}

}  // namespace acl::coordinator
