#include "shared/kinds/ledger/ledger_kind.h"

#include <algorithm>

#include "shared/base/sha256.h"
#include "shared/kinds/ledger/evolve.h"

namespace acl::ledger {

namespace {

Decision DecisionOf(Decided decided) {
  Decision decision;
  decision.events = std::move(decided.events);
  decision.timers_set = std::move(decided.timers_set);
  decision.timers_cleared = std::move(decided.timers_cleared);
  return decision;
}

Json ShownFact(const Fact& fact) {
  const bool decided = fact.status != FactStatus::kProposed;
  return {{"ledger_id", fact.id},
          {"claim", fact.claim},
          {"source", fact.source},
          {"confidence", fact.confidence},
          {"subject", fact.subject.empty() ? Json() : Json(fact.subject)},
          {"contradicts", fact.contradicts},
          {"status", NameOf(fact.status)},
          {"proposed_by", fact.proposed_by},
          {"proposed_at", FormatWallTime(fact.proposed_at)},
          {"decided_by", decided ? Json(fact.decided_by) : Json()},
          {"decided_at", decided ? Json(FormatWallTime(fact.decided_at)) : Json()},
          {"reason", fact.reason.empty() ? Json() : Json(fact.reason)}};
}

class LedgerKind final : public CommandKind {
 public:
  std::string_view Name() const override { return kKindName; }

  Decision Decide(const Document& state, const Input& input, WallTime now) const override {
    const auto* said = std::get_if<InboxInput>(&input);
    if (said == nullptr) return {};
    if (said->kind == "timer") return DecisionOf(DecideExpired(state, said->payload.value("timer_id", ""), now));
    if (said->kind != "quarantine_released" || !state.Has(kLedgerKey)) return {};  // read, and of no meaning here
    Decision decision;
    EventDraft draft;
    draft.type = events::kReleased;
    draft.facts = {{"by", said->payload.value("by", "")}, {"reason", said->payload.value("reason", "")}};
    draft.at = now;
    decision.events.push_back(std::move(draft));
    return decision;
  }

  Answered Answer(const Document& state, const Json& command, WallTime now, Aid*) const override {
    Decided decided = ledger::Decide(state, command, now);
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

  Delta Evolve(const Document& state, const EventDraft& draft) const override { return ledger::Evolve(state, draft); }

  Next WhatNext(const Document&, const NextContext&) const override {
    Next next;
    next.waiting = Waiting{"command", std::nullopt};
    return next;
  }

  std::optional<ShownRow> Show(std::string_view key, const Json* value) const override {
    if (!key.starts_with(kFactPrefix)) return std::nullopt;
    const std::string id(key.substr(kFactPrefix.size()));
    return ShownRow{"ledger_fact", id, value == nullptr ? std::nullopt : std::optional(DumpJson(ShownFact(FactFrom(*value))))};
  }
};

}  // namespace

std::shared_ptr<const CommandKind> MakeLedgerKind() { return std::make_shared<LedgerKind>(); }

ledger::Answer AnswerFromJson(const Json& told) {
  ledger::Answer answer;
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

// The first six bytes (the time, of which a UUIDv7 is ordered) are the project's.
SubjectId LedgerOf(const ProjectId& project) {
  const Hash256 hash = Sha256({"acl-ledger-v1", std::string_view("\0", 1), project.ToString()});
  SubjectId id;
  std::copy(hash.begin(), hash.begin() + 16, id.uuid.bytes.begin());
  std::copy(project.uuid.bytes.begin(), project.uuid.bytes.begin() + 6, id.uuid.bytes.begin());
  id.uuid.bytes[6] = std::uint8_t(0x70 | (id.uuid.bytes[6] & 0x0f));
  id.uuid.bytes[8] = std::uint8_t(0x80 | (id.uuid.bytes[8] & 0x3f));
  return id;
}

}  // namespace acl::ledger
