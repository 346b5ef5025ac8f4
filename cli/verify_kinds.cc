#include "cli/verify_kinds.h"

#include <fmt/format.h>

#include "shared/capability/manifest.h"
#include "shared/kinds/agent/agent_kind.h"
#include "shared/kinds/ask/ask_kind.h"
#include "shared/kinds/ledger/ledger_kind.h"
#include "shared/kinds/project/check.h"
#include "shared/kinds/project/project_kind.h"
#include "shared/workflow/approvals.h"
#include "shared/workflow/events.h"
#include "shared/workflow/run_view.h"

namespace acl::cli {
namespace {

Result<verify::StateFacts> FactsOfRun(const Document& state) {
  auto view = workflow::ViewOf(state);
  if (!view) return view.error();
  auto files = ReadManifest(state);
  if (!files) return files.error();
  if (auto impossible = ImpossibleIn(*files)) return Error{Code::kCorrupt, "the run's files: " + *impossible};
  verify::StateFacts facts;
  facts.status = view->status;
  for (const auto& [path, entry] : *files) {
    if (!entry.is_dir) facts.contents.emplace("file " + path, entry.hash);
  }
  return facts;
}

// What a session shows in the listing follows from where it stands, as the last move left it.
Result<verify::StateFacts> FactsOfAgent(const Document& state) {
  if (!agent::FindStanding(state) || !agent::KnownAgents().Of(state)) return Error{Code::kCorrupt, "a session without its entries"};
  auto files = ReadManifest(state);
  if (!files) return files.error();
  if (auto impossible = ImpossibleIn(*files)) return Error{Code::kCorrupt, "the session's files: " + *impossible};
  verify::StateFacts facts;
  facts.status = agent::ShownStatus(state);
  for (const auto& [path, entry] : *files)
    if (!entry.is_dir) facts.contents.emplace("file " + path, entry.hash);
  return facts;
}

Result<verify::StateFacts> FactsOfProject(const Document& state) {
  if (state.size() == 0) return verify::StateFacts{};  // an import that has only begun (coordinator/projects/transfer.h)
  if (Status sound = project::CheckState(state); !sound) return sound.error();
  return verify::StateFacts{};
}

verify::KindChecks ProjectChecks() {
  verify::KindChecks checks;
  checks.facts = FactsOfProject;
  checks.commanded = true;
  checks.show = [kind = project::MakeProjectKind()](std::string_view key, const Json& value) { return kind->Show(key, &value); };
  return checks;
}

// A session's state is small and written by Evolve alone; what is on record stands in its events, and is compared row by row.
Result<verify::StateFacts> FactsOfAsk(const Document& state) {
  if (!ask::FindSession(state) && state.Find(ask::kMadeKey) == nullptr) return Error{Code::kCorrupt, "a session without its entries"};
  return verify::StateFacts{};
}

verify::KindChecks AskChecks() {
  verify::KindChecks checks;
  checks.facts = FactsOfAsk;
  checks.commanded = true;
  const auto kind = ask::MakeAskKind();
  checks.show = [kind](std::string_view key, const Json& value) { return kind->Show(key, &value); };
  checks.show_event = [kind](std::string_view type, const Json& facts, WallTime at) { return kind->ShowEvent(type, facts, at); };
  return checks;
}

Result<verify::StateFacts> FactsOfLedger(const Document& state) {
  const auto ledger = ledger::FindLedger(state);
  if (!ledger) return Error{Code::kCorrupt, "a ledger without its entry 'ledger'"};
  std::int64_t facts = 0, held = 0;
  state.ForEach([&](const std::string& key, const Json& value) {
    facts += key.starts_with(ledger::kFactPrefix);
    if (key.starts_with(ledger::kHoldPrefix)) held += value.value("micros", std::int64_t(0));
    return true;
  });
  if (facts != ledger->facts) return Error{Code::kCorrupt, fmt::format("{} facts, and {} are counted", facts, ledger->facts)};
  if (held != ledger->account.reserved_micros)
    return Error{Code::kCorrupt, fmt::format("{} are set aside for calls, and {} are counted", held, ledger->account.reserved_micros)};
  return verify::StateFacts{};
}

verify::KindChecks LedgerChecks() {
  verify::KindChecks checks;
  checks.facts = FactsOfLedger;
  checks.commanded = true;
  checks.show = [kind = ledger::MakeLedgerKind()](std::string_view key, const Json& value) { return kind->Show(key, &value); };
  return checks;
}

}  // namespace

verify::KindTable VerifyKinds() {
  return {{"workflow", {FactsOfRun, workflow::event::Ends, workflow::event::MayFollowTheEnd, false, {}, workflow::ShownApprovals}},
          {std::string(agent::kKindName), {FactsOfAgent, {}, {}, false, {}}},
          {std::string(project::kKindName), ProjectChecks()},
          {std::string(ask::kKindName), AskChecks()},
          {std::string(ledger::kKindName), LedgerChecks()}};
}

}  // namespace acl::cli
