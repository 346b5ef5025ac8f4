#pragma once
// One ask from the question to the answer (ask_desk.h). Not for others.

#include "coordinator/ask/ask_desk.h"
#include "shared/aegis/provider/spending.h"
#include "shared/aegis/validate/validate.h"

namespace acl::coordinator {

class AskDesk::Exchange : private aegis::AuditWriter {
 public:
  Exchange(AskDesk& desk, const AskAsked& asked);

  std::variant<Json, AskRefusal> Run();

 private:
  // What ends it early.
  struct Ended {
    AskRefusal why;
  };
  [[noreturn]] void End(std::string code, std::string message, int status, Json details = Json::object()) const;
  [[noreturn]] void EndFor(const Error& error, const std::string& what) const;

  // Document 004, 10.2, by its names.
  void SessionOpenOrResume();
  aegis::CompiledBundle Compile();
  aegis::RenderedPrompt Render(aegis::CompiledBundle bundle);
  void Prepare(const aegis::RenderedPrompt& prompt);
  aegis::Invoked Invoke(aegis::RenderedPrompt prompt);
  aegis::Scanned Scan(aegis::Invoked invoked);
  Result<aegis::WriteReceipt> Write(aegis::Scanned scanned) override;

  void CheckStepHolds();
  std::optional<std::string> AskedBefore();
  Json AnsweredBefore(const std::string& exchange_id);
  Json OnRecord(const std::string& exchange_id);
  bool OpensSession();
  bool IsBounded();
  void Reserve();
  void SettleWith(aegis::Micros cost);
  void CallFailed(const aegis::ModelFailure& failure);
  aegis::ModelRequest RequestOf(const aegis::RenderedPrompt& prompt) const;
  AskRefusal Broken(std::string_view what);
  CommandAnswer Execute(Json command);
  std::string Clean(std::string_view text, const char* what) const;
  Json Said(const std::string& turn_id, const std::string& clean, std::string_view original) const;

  AskDesk& desk_;
  const AskAsked& asked_;
  const AskSetup& setup_;
  const aegis::Kernel& kernel_;
  const std::string exchange_id_, turn_user_id_, turn_aurora_id_, call_id_;
  std::string question_, intent_;  // sanitised
  SubjectId session_;
  ask::Session opened_;
  Json inputs_;  // what the bundle was compiled from
  aegis::TokenPrice price_;
  aegis::SpendEstimate estimate_;
  aegis::Micros reserved_ = 0, cost_ = 0;
  bool holds_ = false;                        // something is set aside in the ledger
  bool prepared_ = false, answered_ = false;  // on record; the model answered, and cost_ is what it cost
  aegis::ModelAnswer answer_;
  aegis::ValidationSummary summary_;
};

}  // namespace acl::coordinator
