#include "coordinator/projects/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "shared/base/limits.h"
#include "shared/journal/segment.h"
#include "shared/journal/snapshot.h"
#include "shared/kernel/fold.h"
#include "shared/kernel/item_builder.h"
#include "shared/kernel/stored_chunks.h"
#include "shared/kinds/project/project_kind.h"

namespace acl::coordinator {
namespace {

constexpr int kTransferPage = 1'000, kTransferTries = 5;
constexpr const char *kRequestKey = "request_key", *kDigest = "export_digest";

project::Refusal Exists(const ProjectName& name) {
  return {Code::kConflict,
          "EXISTS",
          fmt::format("there is a project \"{}\" already: nothing is merged into it; import it under another name", name.name),
          {{"project_id", name.id.ToString()}}};
}

// The origin's events, one after the other, and the state that they make.
class Replay {
 public:
  explicit Replay(const project::Exported& exported) : exported_(exported) {}

  // The state after so many events. kInternal: it replayed before, and does not now.
  Status GoTo(std::size_t count) {
    if (count < count_) state_ = Document(), count_ = 0;
    while (count_ < count) {
      if (Status stepped = Step(nullptr); !stepped) return stepped;
    }
    return {};
  }
  // One more; entries that it changes are added.
  Status Step(std::set<std::string>* changed) {
    const Event& event = exported_.events.at(count_);
    auto payload = ParsePayload(event);
    if (!payload) return payload.error();
    ++count_;
    const auto patch = payload->find(kDeltaKey);
    if (patch == payload->end()) return {};
    auto delta = Delta::Parse(std::move(*patch));
    if (!delta) return delta.error();
    if (changed != nullptr) {
      for (const DeltaOp& op : delta->ops) changed->insert(op.entry);
    }
    return state_.Apply(*delta);
  }
  std::size_t count() const { return count_; }
  const Document& state() const { return state_; }

 private:
  const project::Exported& exported_;
  std::size_t count_ = 0;
  Document state_;
};

}  // namespace

Result<std::string> ProjectTransfer::Export(const std::string& id_or_name, const std::function<Status(std::size_t)>& room) {
  auto name = names_.Find(id_or_name);
  if (!name) return name.error();
  const SubjectId subject{name->id.uuid};
  auto view = queries_.GetSubject(subject);
  if (!view) return view.error();
  const Head& head = view->head;
  project::ExportHeader header{name->id, name->name, head.seq, head.chain, head.state_root, 1};
  Restored restored;
  restored.chain = ChainStart(subject);
  std::string lines;
  while (restored.head_seq < head.seq) {
    const auto most = int(std::min<std::int64_t>(kTransferPage, head.seq - restored.head_seq));
    auto page = queries_.Events(subject, restored.head_seq, most, limits::kPageBytes);
    if (!page) return page.error();
    if (page->empty())
      return Error{Code::kCorrupt,
                   fmt::format("project {}: its journal ends at event {}, its head says {}", name->name, restored.head_seq, head.seq)};
    if (page->front().seq > restored.head_seq + 1)
      return Error{Code::kInvalid, fmt::format("project {} cannot be exported: {}; a whole journal is what an import can check", name->name,
                                               DroppedText(subject, restored.head_seq, page->front().seq))};
    for (Event& event : *page) {
      if (event.payload || !event.offloaded) continue;
      auto payload = store_.GetContent(event.content_hash);
      if (!payload && payload.code() != Code::kNotFound) return payload.error();
      if (payload) event.payload = std::move(*payload);
    }
    std::size_t bytes = 0;
    for (const Event& event : *page) {
      if (!event.payload)
        return Error{Code::kInvalid,
                     fmt::format("project {} cannot be exported: the content of event {} was removed", name->name, event.seq)};
      bytes += 2 * event.payload->size() + 1'024;
    }
    if (Status taken = room(bytes); !taken) return taken.error();
    if (Status whole = GoOnRestoring(subject, *page, ReaderOf(store_, std::nullopt, *page), restored); !whole) return whole.error();
    for (const Event& event : *page) {
      header.schema = std::max(header.schema, event.schema_version);
      lines += project::ExportLine(event);
    }
  }
  if (Status matches = MatchesHead(restored, head.seq, head.chain, head.state_root); !matches) return matches.error();
  return project::ExportLine(header) + lines;
}

Result<ProjectTransfer::Imported> ProjectTransfer::Import(std::string_view lines, const Asked& asked) {
  auto exported = project::ReadExport(lines);
  if (!exported) return exported.error();
  Imported imported;
  imported.name = asked.as.value_or(exported->header.name);
  imported.state_root = exported->header.state_root;
  imported.head_seq = exported->header.head_seq + 1;
  project::Decided tried = project::Decide(Document{}, {"create_project", {{"name", imported.name}}, asked.by}, WallTime{});
  if (tried.refused) {
    imported.refused = std::move(tried.refused);
    return imported;
  }
  auto name = names_.Reserve(imported.name, ids_.New<ProjectId>());
  if (!name) return name.error();
  imported.project = name->id;
  if (name->made) {
    auto repeat = asked.request_key ? IsRepeat(*name, *exported, *asked.request_key) : Result<bool>(false);
    if (!repeat) return repeat.error();
    imported.replayed = *repeat;
    if (!*repeat) imported.refused = Exists(*name);
    return imported;
  }
  auto refused = Begin(*name, *exported, asked);
  if (!refused) return refused.error();
  if (*refused) {
    imported.refused = std::move(*refused);
    return imported;
  }
  if (Status appended = Append(SubjectId{name->id.uuid}, *exported); !appended) return appended.error();
  return imported;
}

// Whether the project of that name was imported under this request key.
Result<bool> ProjectTransfer::IsRepeat(const ProjectName& name, const project::Exported& exported, const std::string& key) {
  auto first = queries_.Events(SubjectId{name.id.uuid}, 0, 1);
  if (!first) return first.error();
  if (first->empty() || first->front().type != project::kImported || !first->front().payload) return false;
  auto payload = ParsePayload(first->front());
  if (!payload) return payload.error();
  if (payload->value(kRequestKey, "") != key) return false;
  if (payload->value(kDigest, "") == ToHex(exported.digest)) return true;
  return Error{Code::kInvalid, "the request key was used for the import of another file: take a new one for each import"};
}

// The subject with its first event, or what is there of it already. Whoever comes in between with the same lines finishes the same.
Result<std::optional<project::Refusal>> ProjectTransfer::Begin(const ProjectName& name, const project::Exported& exported,
                                                               const Asked& asked) {
  const SubjectId subject{name.id.uuid};
  auto there = queries_.Events(subject, 0, 1);
  if (!there && there.code() != Code::kNotFound) return there.error();
  if (there && !there->empty()) return GoesOn(name, there->front(), exported);
  Folded first;
  first.type = project::kImported;
  first.facts = project::ImportedFacts(exported, asked.by);
  if (asked.request_key) first.facts[kRequestKey] = *asked.request_key;
  Event event;
  event.type = first.type;
  event.schema_version = exported.events.front().schema_version;  // no newer than what follows
  WordPayload(first, Document{}, event);
  CreateItem item;
  item.subject = subject;
  item.project = name.id;
  item.kind = std::string(kind_.Name());
  item.queue = project::kProjectQueue;
  item.make_ready = false;
  item.state_root = Document{}.Root();
  item.events.push_back(std::move(event));
  auto made = store_.Create({&item, 1});
  if (made) return std::optional<project::Refusal>();
  // Its answer was lost, or somebody else was first.
  there = queries_.Events(subject, 0, 1);
  if (!there || there->empty()) return made.error();
  return GoesOn(name, there->front(), exported);
}

// Whether these lines are what the subject began with.
Result<std::optional<project::Refusal>> ProjectTransfer::GoesOn(const ProjectName& name, const Event& first,
                                                                const project::Exported& exported) {
  if (first.type != project::kImported) return std::optional(Exists(name));
  auto payload = ParsePayload(first);
  if (!payload) return payload.error();
  if (payload->value(kDigest, "") == ToHex(exported.digest)) return std::optional<project::Refusal>();
  return std::optional(project::Refusal{
      Code::kConflict,
      "UNFINISHED",
      fmt::format("an import of other lines under the name \"{}\" is unfinished: import those once more, or take another name", name.name),
      {{"project_id", name.id.ToString()}, {kDigest, payload->value(kDigest, "")}}});
}

Status ProjectTransfer::Append(const SubjectId& subject, const project::Exported& exported) {
  Replay replay(exported);
  CommandRequest request;
  request.subject = subject;
  std::int64_t known = 1;
  Error last{Code::kUnavailable, ""};
  for (int tries = 0; tries < kTransferTries; ++tries) {
    request.known_seq = known;
    bool done = false;
    auto outcome = store_.Command(request, [&](const CommandView& view) -> Result<std::optional<CommandItem>> {
      const Claimed& claimed = view.claimed;
      const auto there = std::size_t(claimed.head.seq - 1);  // of the origin's events
      known = claimed.head.seq;
      done = there >= exported.events.size();
      if (done) return std::optional<CommandItem>();
      if (Status at = replay.GoTo(there); !at) return at.error();
      if (replay.state().Root() != claimed.head.state_root)
        return Error{Code::kCorrupt,
                     fmt::format("{} is not what the lines make of it after event {}", subject.ToString(), claimed.head.seq)};
      CommandItem item;
      item.item = BeginItem(BaseOf(claimed, WorkerSessionId{}), claimed.head.state_root);
      for (const InboxRow& row : claimed.inbox)
        item.item.consumed_inbox.push_back(row.id);  // nobody could mean a project that is not there
      const WallTime now = std::max(claimed.db_now, claimed.head.last_timestamp);
      std::set<std::string> changed;
      std::size_t bytes = 0;
      while (replay.count() < exported.events.size() && item.item.events.size() < options_.batch_events && bytes < options_.batch_bytes) {
        Event event = exported.events.at(replay.count());
        if (Status stepped = replay.Step(&changed); !stepped) return stepped.error();
        event.subject = subject;
        event.seq = claimed.head.seq + std::int64_t(item.item.events.size()) + 1;
        event.journal = claimed.head.journal;
        if (event.type == kJournalRolled) event.type = project::kOriginRolled;
        event.token = claimed.token;
        event.timestamp = now;
        event.chain = ChainNext(item.item.events.empty() ? claimed.head.chain : item.item.events.back().chain, event);
        bytes += event.payload->size();
        item.item.events.push_back(std::move(event));
      }
      item.item.chain = item.item.events.back().chain;
      item.item.last_timestamp = now;
      item.item.state_root = replay.state().Root();
      for (const std::string& entry : changed) {
        if (auto row = kind_.Show(entry, replay.state().Find(entry))) item.rows.push_back(std::move(*row));
      }
      done = replay.count() == exported.events.size();
      if (done) item.item.timers_set = project::ClaimTimers(replay.state());
      return std::optional(std::move(item));
    });
    if (outcome && outcome->kind == CommitOutcome::Kind::kCommitted) {
      if (done) return {};
      known = std::int64_t(replay.count()) + 1;
      tries = -1;  // it goes on
    } else if (outcome && outcome->kind == CommitOutcome::Kind::kRejected) {
      return Error{Code::kInvalid, fmt::format("lines {} to {} cannot be written here: {}", known + 1, replay.count() + 1, outcome->error)};
    } else if (!outcome && outcome.code() == Code::kCorrupt) {
      return outcome.error();
    } else {
      last =
          outcome ? Error{Code::kUnavailable, "somebody else wrote to it"} : outcome.error();  // asked again, the head says what is there
    }
  }
  return Error{Code::kUnavailable, fmt::format("{}: the import is unfinished, {} of {} events are there: import the same file once more",
                                               last.message, known - 1, exported.events.size())};
}

}  // namespace acl::coordinator
