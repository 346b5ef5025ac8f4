#include "shared/kinds/agent/create_agent.h"

#include "shared/capability/manifest.h"
#include "shared/kernel/fold.h"
#include "shared/kinds/agent/core.h"
#include "shared/kinds/agent/events.h"
#include "shared/kinds/agent/model.h"

namespace acl::agent {

Result<CreateItem> MakeCreateItem(const SubjectKind& kind, const AgentDefinition& definition, CreateAgent request) {
  if (request.message.size() > kMostStimulus) return Error{Code::kInvalid, "the message is longer than 65536 bytes"};
  CreateItem item;
  auto files = WithParents(std::move(request.files));
  if (!files) return Error{Code::kInvalid, "files: " + files.message()};
  const std::string id = request.subject.ToString();
  Json agent = {{"session_id", id},
                {"name", definition.name},
                {"version", definition.version},
                {"spec_hash", definition.hash},
                {"project_id", request.project.ToString()}};
  for (const auto& [key, text] : {std::pair("owner", definition.owner.empty() ? request.owner : definition.owner),
                                  std::pair("note", request.note.empty() ? definition.note : request.note),
                                  std::pair("traceparent", FormatTraceparent(request.trace))})
    if (!text.empty()) agent[key] = text;
  Standing standing;
  standing.since = request.now;
  standing.moves = 1;
  standing.look_again = definition.tasks;  // there may be unfinished work already
  Json entries = {{std::string(kAgentKey), agent}, {std::string(kDefinitionKey), definition.value}};
  if (request.fork) {
    for (const auto& [key, value] : request.fork->kept.items()) entries[key] = value;
    agent["forked_from"] = {{"session_id", request.fork->session_id}, {"seq", request.fork->seq}};
    entries[std::string(kAgentKey)] = agent;
    if (entries.contains(kStandingKey)) {
      Document kept;
      kept.Set(kStandingKey, entries[std::string(kStandingKey)]);
      standing = *FindStanding(kept);
    }
  }
  Json facts = agent;
  if (!request.message.empty()) {
    Stimulus first;
    first.number = ++standing.stimuli;
    first.text = request.message;
    first.by = request.owner;
    first.at = request.now;
    standing.waiting.push_back(first.number);
    entries[StimulusKey(first.number)] = ToJson(first);
    facts["message"] = ToJson(first);
  }
  if (ListenerAt(definition, Phase::kAfterPrepare, 0) != nullptr) {
    Course course;
    course.at = Point::kAfterPrepare;
    ++standing.passages;
    course.passage = standing.passages;
    course.began_at = request.now;
    entries[std::string(kCourseKey)] = ToJson(course);
  }
  entries[std::string(kStandingKey)] = ToJson(standing);
  Json patch = Json::array();
  for (const auto& [key, value] : entries.items()) patch.push_back({{"op", "add"}, {"path", PointerTo(key)}, {"value", value}});
  for (const FileChange& file : *files) {
    patch.push_back({{"op", "add"}, {"path", PointerTo(FileKey(file.path))}, {"value", FileEntryToJson(EntryOf(file))}});
    if (file.hash && !file.is_dir) item.contents.push_back(*file.hash);
  }
  for (const auto& [key, value] : entries.items())
    if (key.starts_with(kFileKeyPrefix))
      if (auto entry = FileEntryFromJson(value); entry && !entry->is_dir) item.contents.push_back(entry->hash);
  Document state;
  auto first = FoldDraft(kind, state, {std::string(event::kPrepare), std::move(facts), {{"patch", std::move(patch)}}, request.now});
  if (!first) return first.error();
  item.subject = request.subject;
  item.project = request.project;
  item.kind = std::string(kind.Name());
  item.queue = definition.queue;
  item.required_version = EventSchemaVersion();
  item.request_key = std::move(request.request_key);
  item.request_hash = request.request_hash;
  item.events.push_back(std::move(*first));
  item.state_root = state.Root();
  item.traceparent = FormatTraceparent({request.trace.trace_id, RunSpanId(request.subject), request.trace.sampled});
  item.listing = ListingRow{definition.name,      definition.version,      agent.value("owner", ""),
                            std::string(kMoving), std::move(request.text), DumpJson({{"note", agent.value("note", "")}})};
  return item;
}

Json KeptInFork(const Document& state) {
  Json kept = Json::object();
  auto standing = FindStanding(state);
  if (!standing) return kept;
  state.ForEach([&](const std::string& key, const Json& value) {
    if (key.starts_with(kStimulusPrefix) || key.starts_with(kPastPrefix) || key.starts_with(kFileKeyPrefix)) kept[key] = value;
    return true;
  });
  if (const auto course = FindCourse(state); course && course->passage == 0)
    standing->again.insert(standing->again.end(), course->stimuli.begin(), course->stimuli.end());
  standing->status = kMoving;
  standing->reason.clear();
  standing->wake_at.reset();
  standing->uncertain = Json();
  standing->failed_requests = 0;
  standing->turns_awake = 0;
  kept[std::string(kStandingKey)] = ToJson(*standing);
  return kept;
}

}  // namespace acl::agent
