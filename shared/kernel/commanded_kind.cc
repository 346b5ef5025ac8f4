#include "shared/kernel/commanded_kind.h"

#include <fmt/format.h>

namespace acl {

void RefuseCommand(Code code, std::string reason, std::string message, Json details) {
  throw CommandRefused{{code, std::move(reason), std::move(message), std::move(details)}};
}

void RefuseForm(const std::string& message) { RefuseCommand(Code::kInvalid, "FORM", message); }

Decision DecisionOf(CommandDecided decided) {
  Decision decision;
  decision.events = std::move(decided.events);
  decision.timers_set = std::move(decided.timers_set);
  decision.timers_cleared = std::move(decided.timers_cleared);
  decision.outbox = std::move(decided.outbox);
  return decision;
}

Json WordAnswer(const std::optional<CommandRefusal>& refused, Json answer) {
  if (!refused) return {{"answer", std::move(answer)}};
  Json said = {{"code", CodeName(refused->code)}, {"reason", refused->reason}, {"message", refused->message}};
  if (!refused->details.empty()) said["details"] = refused->details;
  return {{"refused", std::move(said)}};
}

CommandAnswer ReadAnswer(const Json& worded) {
  CommandAnswer out;
  const auto refused = worded.find("refused");
  if (refused == worded.end()) {
    out.answer = worded.value("answer", Json::object());
    return out;
  }
  const std::string code = refused->at("code");
  out.refused = CommandRefusal{code == CodeName(Code::kNotFound)   ? Code::kNotFound
                               : code == CodeName(Code::kConflict) ? Code::kConflict
                                                                   : Code::kInvalid,
                               refused->at("reason"), refused->at("message"), refused->value("details", Json::object())};
  return out;
}

EventDraft ReleasedBy(std::string_view type, const Json& payload, WallTime now) {
  EventDraft draft;
  draft.type = type;
  draft.facts = {{"by", payload.value("by", "")}, {"reason", payload.value("reason", "")}};
  draft.at = now;
  return draft;
}

Next WaitsForCommand() {
  Next next;
  next.waiting = Waiting{"command", std::nullopt};
  return next;
}

const Json& CommandReader::Member(const char* name) const {
  const auto found = command_.find(name);
  if (found == command_.end()) RefuseForm(fmt::format("{}: is missing", name));
  return *found;
}

std::string CommandReader::Text(const char* name, std::size_t most, bool needed) const {
  if (!needed && !command_.contains(name)) return "";
  const Json& value = Member(name);
  if (!value.is_string()) RefuseForm(fmt::format("{}: is not text", name));
  const std::string& text = value.get_ref<const std::string&>();
  if (needed && text.empty()) RefuseForm(fmt::format("{}: is empty", name));
  if (text.size() > most) RefuseForm(fmt::format("{}: is {} bytes, {} at most", name, text.size(), most));
  return text;
}

std::int64_t CommandReader::Micros(const char* name, bool needed) const {
  if (!needed && !command_.contains(name)) return 0;
  constexpr std::int64_t kMost = 1'000'000'000'000'000;  // a thousand million: sums of thousands stay well within 64 bits
  const Json& value = Member(name);
  const bool whole = value.is_number_integer() && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= std::uint64_t(kMost));
  if (!whole || value.get<std::int64_t>() < 0 || value.get<std::int64_t>() > kMost)
    RefuseForm(fmt::format("{}: is no amount in millionths of a dollar", name));
  return value;
}

WallTime CommandReader::Time(const char* name) const {
  const auto at = ParseWallTime(Text(name, 100));
  if (!at) RefuseForm(fmt::format("{}: is no time", name));
  return *at;
}

void CommandReader::Say(std::string_view type, Json facts) {
  EventDraft draft;
  draft.type = type;
  draft.facts = std::move(facts);
  draft.at = now_;
  decided_.events.push_back(std::move(draft));
}

Decision TimedCommandKind::Decide(const Document& state, const Input& input, WallTime now) const {
  const auto* said = std::get_if<InboxInput>(&input);
  if (said == nullptr) return {};
  if (said->kind == "timer") return DecisionOf(DecideTimer(state, said->payload.value("timer_id", ""), now));
  if (said->kind != "quarantine_released") return DecisionOf(DecidePost(state, said->kind, said->payload, now));
  Decision decision;
  if (state.size() > 0) decision.events.push_back(ReleasedBy(ReleasedEvent(), said->payload, now));
  return decision;
}

Answered TimedCommandKind::Answer(const Document& state, const Json& command, WallTime now, Aid*) const {
  CommandDecided decided = DecideCommand(state, command, now);
  Json answer = WordAnswer(decided.refused, std::move(decided.answer));
  return {DecisionOf(std::move(decided)), std::move(answer)};
}

}  // namespace acl
