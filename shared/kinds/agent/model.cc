#include "shared/kinds/agent/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace acl::agent {

namespace {

constexpr std::array<std::string_view, 18> kPointNames = {
    "after_prepare", "look",          "before_plan",    "plan",     "after_plan",    "before_request",
    "request",       "after_request", "before_process", "choose",   "before_action", "approve",
    "act",           "after_action",  "after_process",  "end_turn", "before_rest",   "after_rest"};

Point PointFrom(std::string_view name) {
  const auto* found = std::find(kPointNames.begin(), kPointNames.end(), name);
  return found == kPointNames.end() ? Point::kEndTurn : Point(found - kPointNames.begin());
}

void PutTime(Json& json, const char* key, const std::optional<WallTime>& at) {
  if (at) json[key] = FormatWallTime(*at);
}

std::optional<WallTime> FindTime(const Json& json, const char* key) {
  if (!json.contains(key)) return std::nullopt;
  return TimeIn(json, key);
}

Json ListOf(const std::vector<Stimulus>& stimuli) {
  Json list = Json::array();
  for (const Stimulus& one : stimuli) list.push_back(ToJson(one));
  return list;
}

std::vector<Stimulus> StimuliIn(const Json& json, const char* key) {
  std::vector<Stimulus> stimuli;
  const auto found = json.find(key);
  if (found == json.end()) return stimuli;
  for (const Json& one : *found) stimuli.push_back(StimulusFrom(one));
  return stimuli;
}

template <class T>
void PutUnlessZero(Json& json, const char* key, T value) {
  if (value != T{}) json[key] = value;
}

}  // namespace

std::string_view NameOf(Point point) { return kPointNames[std::size_t(point)]; }

Json ToJson(const Stimulus& stimulus) {
  Json json = {{"number", stimulus.number}, {"mode", stimulus.mode}, {"kind", stimulus.kind}, {"at", FormatWallTime(stimulus.at)}};
  if (!stimulus.text.empty()) json["text"] = stimulus.text;
  if (!stimulus.payload.is_null()) json["payload"] = stimulus.payload;
  if (!stimulus.by.empty()) json["by"] = stimulus.by;
  return json;
}

Stimulus StimulusFrom(const Json& json) {
  Stimulus stimulus;
  stimulus.number = NumberIn(json, "number");
  stimulus.mode = TextIn(json, "mode");
  stimulus.kind = TextIn(json, "kind");
  stimulus.text = TextIn(json, "text");
  if (json.contains("payload")) stimulus.payload = json["payload"];
  stimulus.by = TextIn(json, "by");
  stimulus.at = TimeIn(json, "at");
  return stimulus;
}

Json ToJson(const Standing& standing) {
  Json json = {
      {"status", standing.status}, {"since", FormatWallTime(standing.since)}, {"moves", standing.moves}, {"turns", standing.turns}};
  if (!standing.reason.empty()) json["reason"] = standing.reason;
  PutTime(json, "wake_at", standing.wake_at);
  PutUnlessZero(json, "stimuli", standing.stimuli);
  PutUnlessZero(json, "requests", standing.requests);
  PutUnlessZero(json, "actions", standing.actions);
  PutUnlessZero(json, "passages", standing.passages);
  PutUnlessZero(json, "tokens", standing.tokens);
  PutUnlessZero(json, "micros", standing.micros);
  if (standing.spend_since != WallTime{}) json["spend_since"] = FormatWallTime(standing.spend_since);
  PutUnlessZero(json, "near_limit", standing.near_limit);
  PutUnlessZero(json, "turns_awake", standing.turns_awake);
  if (standing.moves_in_minute > 0) {
    json["minute"] = FormatWallTime(standing.minute);
    json["moves_in_minute"] = standing.moves_in_minute;
  }
  PutUnlessZero(json, "look_again", standing.look_again);
  PutUnlessZero(json, "failed_requests", standing.failed_requests);
  if (!standing.waiting.empty()) json["waiting"] = standing.waiting;
  if (!standing.again.empty()) json["again"] = ListOf(standing.again);
  if (!standing.uncertain.is_null()) json["uncertain"] = standing.uncertain;
  if (!standing.last.is_null()) json["last"] = standing.last;
  return json;
}

std::optional<Standing> FindStanding(const Document& state) {
  const Json* entry = state.Find(kStandingKey);
  if (entry == nullptr) return std::nullopt;
  const Json& json = *entry;
  Standing standing;
  standing.status = TextIn(json, "status");
  standing.reason = TextIn(json, "reason");
  standing.since = TimeIn(json, "since");
  standing.wake_at = FindTime(json, "wake_at");
  standing.moves = NumberIn(json, "moves");
  standing.turns = NumberIn(json, "turns");
  standing.stimuli = NumberIn(json, "stimuli");
  standing.requests = NumberIn(json, "requests");
  standing.actions = NumberIn(json, "actions");
  standing.passages = NumberIn(json, "passages");
  standing.tokens = NumberIn(json, "tokens");
  standing.micros = NumberIn(json, "micros");
  standing.spend_since = FindTime(json, "spend_since").value_or(WallTime{});
  standing.near_limit = json.value("near_limit", false);
  standing.turns_awake = int(NumberIn(json, "turns_awake"));
  standing.minute = TimeIn(json, "minute");
  standing.moves_in_minute = int(NumberIn(json, "moves_in_minute"));
  standing.look_again = json.value("look_again", false);
  standing.failed_requests = int(NumberIn(json, "failed_requests"));
  if (json.contains("waiting")) standing.waiting = json["waiting"].get<std::vector<std::int64_t>>();
  standing.again = StimuliIn(json, "again");
  if (json.contains("uncertain")) standing.uncertain = json["uncertain"];
  if (json.contains("last")) standing.last = json["last"];
  return standing;
}

Json ToJson(const Course& course) {
  Json json = {{"at", std::string(NameOf(course.at))}, {"turn", course.turn}, {"began_at", FormatWallTime(course.began_at)}};
  if (!course.stimuli.empty()) json["stimuli"] = ListOf(course.stimuli);
  PutUnlessZero(json, "passage", course.passage);
  PutUnlessZero(json, "asked", course.asked);
  PutUnlessZero(json, "action", course.action);
  PutUnlessZero(json, "actions", course.actions);
  if (!course.open.empty()) {
    json["open"] = course.open;
    json["attempt"] = course.attempt;
  }
  PutUnlessZero(json, "attempts", course.attempts);
  PutTime(json, "asked_at", course.asked_at);
  PutTime(json, "retry_at", course.retry_at);
  if (!course.dropped.empty()) json["dropped"] = course.dropped;
  if (!course.rest_reason.empty()) json["rest_reason"] = course.rest_reason;
  PutTime(json, "wake_at", course.wake_at);
  PutUnlessZero(json, "approved", course.approved);
  PutUnlessZero(json, "must_ask", course.must_ask);
  if (!course.why_ask.empty()) json["why_ask"] = course.why_ask;
  PutUnlessZero(json, "erred", course.erred);
  if (!course.touched.empty()) json["touched"] = course.touched;
  return json;
}

std::optional<Course> FindCourse(const Document& state) {
  const Json* entry = state.Find(kCourseKey);
  if (entry == nullptr) return std::nullopt;
  const Json& json = *entry;
  Course course;
  course.at = PointFrom(TextIn(json, "at"));
  course.turn = NumberIn(json, "turn");
  course.passage = NumberIn(json, "passage");
  course.began_at = TimeIn(json, "began_at");
  course.stimuli = StimuliIn(json, "stimuli");
  course.asked = int(NumberIn(json, "asked"));
  course.action = int(NumberIn(json, "action"));
  course.actions = int(NumberIn(json, "actions"));
  course.open = TextIn(json, "open");
  course.attempt = int(NumberIn(json, "attempt"));
  course.attempts = int(NumberIn(json, "attempts"));
  course.asked_at = FindTime(json, "asked_at");
  course.retry_at = FindTime(json, "retry_at");
  course.dropped = TextIn(json, "dropped");
  course.rest_reason = TextIn(json, "rest_reason");
  course.wake_at = FindTime(json, "wake_at");
  course.approved = json.value("approved", false);
  course.must_ask = json.value("must_ask", false);
  course.why_ask = TextIn(json, "why_ask");
  course.erred = json.value("erred", false);
  if (json.contains("touched")) course.touched = json["touched"];
  return course;
}

std::string ShownStatus(const Document& state) {
  const auto standing = FindStanding(state);
  const auto course = FindCourse(state);
  if (!standing) return "";
  const bool asks = standing->status == kMoving && course && course->at == Point::kApprove;
  return asks ? std::string(kWaiting) : standing->status;
}

std::string ShownReason(const Document& state) {
  const Json* approval = state.Find(kApprovalKey);
  if (ShownStatus(state) == kWaiting && approval != nullptr) return "waits for a person: " + TextIn(*approval, "message");
  const auto standing = FindStanding(state);
  return standing ? standing->reason : "";
}

std::vector<Stimulus> WaitingStimuli(const Document& state, const Standing& standing) {
  std::vector<Stimulus> stimuli;
  for (const std::int64_t number : standing.waiting)
    if (const Json* entry = state.Find(StimulusKey(number))) stimuli.push_back(StimulusFrom(*entry));
  return stimuli;
}

std::vector<Json> PastTurns(const Document& state) {
  std::vector<Json> turns;
  for (int slot = 0; slot < kKeptTurns; ++slot)
    if (const Json* past = state.Find(std::string(kPastPrefix) + std::to_string(slot))) turns.push_back(*past);
  std::sort(turns.begin(), turns.end(), [](const Json& a, const Json& b) { return NumberIn(a, "turn") < NumberIn(b, "turn"); });
  return turns;
}

std::vector<Json> OutcomesOf(const Document& state, const Course& course) {
  std::vector<Json> outcomes;
  for (int index = 0; index < course.actions; ++index)
    if (const Json* outcome = state.Find(OutcomeKey(index))) outcomes.push_back(*outcome);
  return outcomes;
}

std::string StepIdOf(const Course& course, std::string_view what, int index) {
  const std::string id =
      fmt::format("{}-{}/{}", course.passage > 0 ? "passage" : "turn", course.passage > 0 ? course.passage : course.turn, what);
  return index < 0 ? id : fmt::format("{}[{}]", id, index);
}

std::string PointerTo(std::string_view key) {
  std::string pointer;
  AppendPointer(key, "", pointer);
  return pointer;
}

std::string Brief(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + fmt::format(" ... ({} bytes in all)", text.size());
}

}  // namespace acl::agent
