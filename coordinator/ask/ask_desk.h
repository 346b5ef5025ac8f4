#pragma once
// Where language models are asked in this coordinator (document 004; docs/guides/aegis.md). One ask is seven functions in the order that
// the types of shared/aegis/pipeline.h hold; what each promised is on record before the next begins:
//
//   session_open_or_resume -> compile -> render -> (prepared, on record) -> invoke -> scan -> write_exchange -> the answer
//
// A coordinator that dies after `prepared` leaves a call whose outcome nobody knows: at its deadline it is UNCERTAIN, by a timer.
//
// From any thread; blocks on the database and on the model.

#include <atomic>
#include <set>

#include "coordinator/ask/ask_artifacts.h"
#include "coordinator/ask/ask_setup.h"
#include "coordinator/ask/ask_telemetry.h"
#include "shared/aegis/pipeline.h"
#include "shared/kinds/ask/ask_kind.h"
#include "shared/kinds/ask/intents.h"
#include "shared/kinds/ledger/ledger_kind.h"

namespace acl::coordinator {

// The observational tools of this coordinator (sight_tools.h); gives one output for each that the kernel declares.
using LooksAround = std::function<std::vector<aegis::ToolOutput>(const aegis::Kernel& kernel)>;

// The attempt of a step that asks (llm.ask): it may as long as it holds what its token says.
struct AskingStep {
  SubjectId run;
  std::string step;
  Token token;
  bool dispatched = false;  // the token is the task's, not the run's
};

struct AskAsked {
  ProjectId project;
  std::string by, question;
  std::string intent;                // what this question is for, in the asker's words; may be empty
  bool deep_history = false;         // ring 2 was asked for
  bool new_session = false;          // not the one that is open
  std::optional<SubjectId> session;  // this one
  std::optional<std::string> key;    // request key: the same answer again
  TraceContext caller;               // the span of the request, if it has one
  std::optional<AskingStep> asking;  // with a key. What it asked under it and surely did not run is asked anew
};

// Why there is no answer to show.
struct AskRefusal {
  std::string code;     // "budget", "busy", "not-recorded", "model-failed", "uncertain", "under-way", ...
  std::string message;  // for people: what, and what to do
  int status = 409;     // of HTTP
  Json details = Json::object();
};

class AskDesk {
 public:
  struct Dependencies {
    KernelStore& store;
    Queries& queries;
    AskRows& rows;
    const CommandKind& ask_kind;
    const CommandKind& ledger_kind;
    ProjectDesk* projects;  // may be null
    Uuid7Maker& ids;
    const Clock& clock;
    Random& random;
    LooksAround look;                   // may be empty: nothing is seen
    AskTelemetry* telemetry = nullptr;  // may be null
  };
  AskDesk(Dependencies parts, std::unique_ptr<AskSetup> setup);  // a null setup: nobody can ask; what was asked can be read

  // From now on nobody is asked, and whoever waits for a model leaves it: what became of such a call is UNCERTAIN, and on record.
  void StopCalls() { stopping_ = true; }

  // What stands on record of the exchange, with its answer (GET /v1/ask/exchanges/{id}).
  std::variant<Json, AskRefusal> Ask(const AskAsked& asked);

  // Facts and budget: commands of shared/kinds/ledger/decide.h, by people. What they say is sanitised.
  Result<CommandAnswer> Ledger(const ProjectId& project, Json command, const std::optional<std::string>& key);
  // The ledger's state; an empty document: it has none.
  Result<Document> ReadLedger(const ProjectId& project);
  // Of an ask session: close_drift, close_session. What people say is sanitised.
  Result<CommandAnswer> Session(const SubjectId& session, Json command, const std::optional<std::string>& key);
  // What models proposed in these sessions, and what became of it; one by its id. kNotFound.
  Result<std::vector<ask::Intent>> Intents(const ProjectId& project, int most_sessions);
  Result<ask::Intent> Intent(const ProjectId& project, const std::string& intent_id);
  // The record of an exchange as its journal has it: what its bundle was compiled from. kNotFound.
  Result<Json> Recorded(const SubjectId& session, const std::string& exchange_id);

  AskRows& rows() { return parts_.rows; }
  const AskSetup* setup() const { return setup_.get(); }
  CommandService& asks() { return asks_; }
  CommandService& ledgers() { return ledgers_; }

  static constexpr int kMostAtOnce = 8;  // asks of this coordinator: each holds a thread until the model has answered

 private:
  class Exchange;

  void SanitizeWords(Json* command) const;
  static Result<CommandAnswer> Command(CommandService& commands, const SubjectId& subject, Json command,
                                       const std::optional<std::string>& key);
  Status MakeSubject(const CommandKind& kind, const SubjectId& id, const ProjectId& project, const char* queue, EventDraft first);
  Status EnsureLedger(const ProjectId& project, const std::string& by);
  std::shared_ptr<AskArtifacts> ArtifactsOf(const ProjectId& project);

  Dependencies parts_;
  const std::unique_ptr<AskSetup> setup_;
  const aegis::Sanitizer sanitizer_;  // without a setup: by the rules, with a key that nobody keeps
  CommandService asks_, ledgers_;
  std::atomic<int> under_way_{0};
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;  // of what follows
  std::map<ProjectId, std::shared_ptr<AskArtifacts>> artifacts_;
  std::set<ProjectId> has_ledger_;
};

}  // namespace acl::coordinator
