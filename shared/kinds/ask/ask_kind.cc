#include "shared/kinds/ask/ask_kind.h"

#include "shared/kinds/ask/evolve.h"
#include "shared/kinds/ask/shown.h"

namespace acl::ask {

namespace {

Decision DecisionOf(Decided decided) {
  Decision decision;
  decision.events = std::move(decided.events);
  decision.timers_set = std::move(decided.timers_set);
  decision.timers_cleared = std::move(decided.timers_cleared);
  return decision;
}

class AskKind final : public CommandKind {
 public:
  std::string_view Name() const override { return kKindName; }

  Decision Decide(const Document& state, const Input& input, WallTime now) const override {
    const auto* said = std::get_if<InboxInput>(&input);
    if (said == nullptr) return {};
    if (said->kind == "timer") return DecisionOf(DecideDeadline(state, said->payload.value("timer_id", ""), now));
    if (said->kind != "quarantine_released" || !state.Has(kSessionKey)) return {};  // read, and of no meaning here
    Decision decision;
    EventDraft draft;
    draft.type = events::kReleased;
    draft.facts = {{"by", said->payload.value("by", "")}, {"reason", said->payload.value("reason", "")}};
    draft.at = now;
    decision.events.push_back(std::move(draft));
    return decision;
  }

  Answered Answer(const Document& state, const Json& command, WallTime now, Aid*) const override {
    Decided decided = ask::Decide(state, command, now);
    Json answer;
    if (decided.refused) {
      Json refused = {
          {"code", CodeName(decided.refused->code)}, {"reason", decided.refused->reason}, {"message", decided.refused->message}};
      if (!decided.refused->details.empty()) refused["details"] = decided.refused->details;
      answer = {{"refused", std::move(refused)}};
    } else {
      answer = {{"answer", std::move(decided.answer)}};
    }
    return {DecisionOf(std::move(decided)), std::move(answer)};
  }

  Delta Evolve(const Document& state, const EventDraft& draft) const override { return ask::Evolve(state, draft); }

  Next WhatNext(const Document&, const NextContext&) const override {
    Next next;
    next.waiting = Waiting{"command", std::nullopt};
    return next;
  }

  std::optional<ShownRow> Show(std::string_view key, const Json* value) const override {
    if (key == kSessionKey && value != nullptr) return RowOfSession(*value);
    return std::nullopt;
  }

  bool ShowsEvents() const override { return true; }
  std::vector<ShownRow> ShowEvent(std::string_view type, const Json& facts, WallTime at) const override {
    std::vector<ShownRow> rows = RowsOfEvent(type, facts, at);
    for (const Json& joined : facts.value(std::string(kAlsoKey), Json::array())) {  // what happened in the same moment
      for (ShownRow& row : RowsOfEvent(joined.value("type", ""), joined, at)) rows.push_back(std::move(row));
    }
    return rows;
  }
};

}  // namespace

std::shared_ptr<const CommandKind> MakeAskKind() { return std::make_shared<AskKind>(); }

ask::Answer AnswerFromJson(const Json& told) {
  ask::Answer answer;
  if (const auto refused = told.find("refused"); refused != told.end()) {
    const std::string code = refused->at("code");
    answer.refused = Refusal{code == CodeName(Code::kNotFound)   ? Code::kNotFound
                             : code == CodeName(Code::kConflict) ? Code::kConflict
                                                                 : Code::kInvalid,
                             refused->at("reason"), refused->at("message"), refused->value("details", Json::object())};
  } else {
    answer.answer = told.value("answer", Json::object());
  }
  return answer;
}

}  // namespace acl::ask
