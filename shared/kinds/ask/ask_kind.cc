#include "shared/kinds/ask/ask_kind.h"

#include "shared/kernel/create.h"
#include "shared/kinds/ask/evolve.h"
#include "shared/kinds/ask/intents.h"
#include "shared/kinds/ask/shown.h"

namespace acl::ask {

namespace {

class AskKind final : public TimedCommandKind {
 public:
  std::string_view Name() const override { return kKindName; }
  Delta Evolve(const Document& state, const EventDraft& draft) const override { return ask::Evolve(state, draft); }

  std::optional<ShownRow> Show(std::string_view key, const Json* value) const override {
    return key == kSessionKey && value != nullptr ? std::optional(RowOfSession(*value)) : std::nullopt;
  }
  bool ShowsEvents() const override { return true; }
  std::vector<ShownRow> ShowEvent(std::string_view type, const Json& facts, WallTime at) const override {
    std::vector<ShownRow> rows = RowsOfEvent(type, facts, at);
    for (const Json& joined : facts.value(std::string(kAlsoKey), Json::array())) {  // what happened in the same moment
      for (ShownRow& row : RowsOfEvent(joined.value("type", ""), joined, at)) rows.push_back(std::move(row));
    }
    return rows;
  }

 protected:
  CommandDecided DecideCommand(const Document& state, const Json& command, WallTime now) const override {
    return ask::Decide(state, command, now);
  }
  CommandDecided DecideTimer(const Document& state, const std::string& timer_id, WallTime now) const override {
    return DecideDeadline(state, timer_id, now);
  }
  std::string_view ReleasedEvent() const override { return events::kReleased; }
  CommandDecided DecidePost(const Document& state, const std::string& kind, const Json& payload, WallTime now) const override {
    return kind == kChildEndedPost ? IntentNotMade(state, payload, now) : CommandDecided();
  }
};

}  // namespace

std::shared_ptr<const CommandKind> MakeAskKind() { return std::make_shared<AskKind>(); }

}  // namespace acl::ask
