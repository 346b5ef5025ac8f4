#include "coordinator/projects/store_desk.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/canonical_json.h"
#include "shared/base/limits.h"
#include "shared/journal/difference.h"
#include "shared/kernel/fold.h"
#include "shared/kinds/project/project_kind.h"

namespace acl::coordinator {
namespace {

constexpr std::size_t kMostViewBytes = std::size_t(128) << 20;

SubjectId SubjectOf(const ProjectId& project) { return SubjectId{project.uuid}; }

ProjectDesk::Done DoneOf(const ProjectId& project, const Reply& reply) {
  CommandAnswer answer = ReadAnswer(reply.answer);
  return {project, reply.head_seq, std::move(answer.answer), std::move(answer.refused), reply.replayed};
}

Error KeyConflict() { return {Code::kInvalid, "this Idempotency-Key was used for another command: take a new one for each command"}; }

CommandAsked AskedOf(const ProjectDesk::Asked& asked) {
  CommandAsked one;
  one.command = project::CommandToJson(asked.command, asked.expected_seq);
  one.key = asked.request_key;
  one.hash = CanonicalHash(asked.same_as ? *asked.same_as : one.command);
  return one;
}

std::shared_ptr<const ProjectView> ViewOf(const ProjectId& project, CommandService::View read, std::shared_ptr<LastRead> last_read) {
  auto view = std::make_shared<ProjectView>();
  view->id = project;
  view->head_seq = read.head_seq;
  view->chain = read.chain;
  view->head_at = read.head_at;
  view->state = std::move(read.state);
  view->agenda = std::static_pointer_cast<project::Agenda>(std::move(read.aid));
  view->last_read = std::move(last_read);
  return view;
}

ProjectDesk::Done TakenAlready(const ProjectName& name) {
  return {name.id, 0, Json::object(),
          project::Refusal{
              Code::kConflict, "EXISTS", fmt::format("there is a project \"{}\" already", name.name), {{"project_id", name.id.ToString()}}},
          false};
}

}  // namespace

project::NextStep ProjectView::Next(std::string_view actor) const {
  return agenda ? agenda->Choose(state, actor) : project::ChooseNext(work(), state.Root(), actor);
}

const project::Work& ProjectView::work() const {
  std::call_once(once_, [this] {
    if (!last_read) {
      work_ = std::make_shared<const project::Work>(project::ReadWork(state));
      return;
    }
    std::lock_guard lock(last_read->mutex);
    auto work = last_read->work ? std::make_shared<project::Work>(*last_read->work) : std::make_shared<project::Work>();
    for (const std::string& entry : Difference(last_read->state, state)) project::PutEntry(entry, state.Find(entry), *work);
    work_ = std::move(work);
    last_read->state = state;
    last_read->work = work_;
  });
  return *work_;
}

StoreDesk::StoreDesk(KernelStore& store, Queries& queries, ProjectNames& names, const CommandKind& kind, Uuid7Maker& ids,
                     CommandService::Options options)
    : store_(store), queries_(queries), names_(names), kind_(kind), ids_(ids), commands_(store, queries, kind, ids, options) {}

Result<std::vector<ProjectDesk::Listed>> StoreDesk::List(const std::string& after, int max) {
  auto names = names_.List(after, max);
  if (!names) return names.error();
  std::vector<Listed> listed;
  for (ProjectName& one : *names) listed.push_back({one.id, std::move(one.name), one.reserved_at});
  return listed;
}

Result<ProjectDesk::Listed> StoreDesk::Find(const std::string& id_or_name) {
  auto found = names_.Find(id_or_name);
  if (!found) return found.error();
  return Listed{found->id, std::move(found->name), found->reserved_at};
}

Result<ProjectDesk::Done> StoreDesk::Execute(const ProjectId& project, const Asked& asked) {
  auto reply = commands_.Execute(SubjectOf(project), AskedOf(asked));
  if (!reply) return reply.error();
  if (reply->key_conflict) return KeyConflict();
  return DoneOf(project, *reply);
}

// The name first, then the subject, whose first event is the project's: whoever comes in between finishes the same.
Result<ProjectDesk::Done> StoreDesk::Create(const Asked& asked) {
  // Its form, before a name is taken.
  project::Decided tried = project::Decide(Document{}, asked.command, WallTime{});
  if (tried.refused) return Done{{}, 0, Json::object(), std::move(tried.refused), false};
  auto name = names_.Reserve(asked.command.arguments.at("name"), ids_.New<ProjectId>());
  if (!name) return name.error();
  if (name->made && !asked.request_key) return TakenAlready(*name);
  project::Decided decided = project::Decide(Document{}, asked.command, name->reserved_at);
  Document state;
  CreateItem item;
  item.subject = SubjectOf(name->id);
  item.project = name->id;
  item.kind = std::string(kind_.Name());
  item.queue = project::kProjectQueue;
  item.request_key = asked.request_key;
  item.request_hash = CanonicalHash(project::CommandToJson(asked.command, {}));
  item.make_ready = false;
  for (EventDraft& draft : decided.events) {
    auto event = FoldDraft(kind_, state, std::move(draft));
    if (!event) return event.error();
    item.events.push_back(std::move(*event));
  }
  item.state_root = state.Root();
  const auto events = std::int64_t(item.events.size());
  auto made = store_.Create({&item, 1});
  // PostgreSQL lets nobody begin a journal that has begun (kDenied): somebody was first, or an import under that name is unfinished.
  const bool refused = !made && (made.code() == Code::kConflict || made.code() == Code::kDenied);
  if (refused && queries_.GetSubject(item.subject)) return TakenAlready(*name);
  if (!made) return made.error();
  if (made->front().kind == CreateOutcome::Kind::kKeyConflict) return KeyConflict();
  Json answer = std::move(decided.answer);
  answer["project_id"] = name->id.ToString();
  answer["name"] = name->name;
  return Done{name->id, events, std::move(answer), std::nullopt, made->front().kind == CreateOutcome::Kind::kReplayed};
}

Result<std::shared_ptr<const ProjectView>> StoreDesk::Read(const ProjectId& project) {
  std::shared_ptr<const ProjectView> before;
  {
    std::lock_guard lock(mutex_);
    if (const auto known = views_.find(project); known != views_.end()) before = known->second;
  }
  auto read = commands_.Read(SubjectOf(project));
  if (!read) return read.error();
  if (before && before->head_seq == read->head_seq && before->chain == read->chain) return before;
  const std::shared_ptr<const ProjectView> view =
      ViewOf(project, std::move(*read), before ? before->last_read : std::make_shared<LastRead>());
  const std::size_t bytes = view->state.stored_bytes();
  std::lock_guard lock(mutex_);
  if (view_bytes_ + bytes > kMostViewBytes) views_.clear(), view_bytes_ = 0;  // each is made again when it is asked for
  auto& last = views_[project];
  if (last) view_bytes_ -= last->state.stored_bytes();
  view_bytes_ += bytes;
  last = view;
  return view;
}

Result<std::shared_ptr<const ProjectView>> StoreDesk::ReadAt(const ProjectId& project, std::optional<std::int64_t> at_seq,
                                                             std::optional<WallTime> at_time) {
  if (!at_seq && !at_time) return Read(project);
  const SubjectId subject = SubjectOf(project);
  if (!at_seq) {
    auto head = queries_.GetSubject(subject);
    if (!head) return head.error();
    at_seq = head->head.seq;
  }
  auto read = commands_.ReadAt(subject, *at_seq, at_time.value_or(WallTime::max()));
  if (!read) return read.error();
  return ViewOf(project, std::move(*read), nullptr);
}

}  // namespace acl::coordinator
