#include "shared/kinds/ledger/ledger_kind.h"

#include <algorithm>

#include "shared/base/sha256.h"
#include "shared/kinds/ledger/evolve.h"

namespace acl::ledger {

namespace {

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

class LedgerKind final : public TimedCommandKind {
 public:
  std::string_view Name() const override { return kKindName; }
  Delta Evolve(const Document& state, const EventDraft& draft) const override { return ledger::Evolve(state, draft); }

  std::optional<ShownRow> Show(std::string_view key, const Json* value) const override {
    if (!key.starts_with(kFactPrefix)) return std::nullopt;
    const std::string id(key.substr(kFactPrefix.size()));
    return ShownRow{"ledger_fact", id, value == nullptr ? std::nullopt : std::optional(DumpJson(ShownFact(FactFrom(*value))))};
  }

 protected:
  CommandDecided DecideCommand(const Document& state, const Json& command, WallTime now) const override {
    return ledger::Decide(state, command, now);
  }
  CommandDecided DecideTimer(const Document& state, const std::string& timer_id, WallTime now) const override {
    return DecideExpired(state, timer_id, now);
  }
  std::string_view ReleasedEvent() const override { return events::kReleased; }
};

}  // namespace

std::shared_ptr<const CommandKind> MakeLedgerKind() { return std::make_shared<LedgerKind>(); }

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
