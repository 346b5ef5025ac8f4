#pragma once
// What may become continuity in a project (document 004, 6.1), from where it is kept: ratified facts of the ledger, open drift, turns, the
// work that is unfinished. Kept in an index that follows its sources; all of it may be thrown away and is made again.

#include <memory>
#include <mutex>

#include "coordinator/commands/command_service.h"
#include "coordinator/projects/desk.h"
#include "shared/aegis/artifact_index.h"
#include "shared/kernel/ask_rows.h"

namespace acl::coordinator {

class AskArtifacts {
 public:
  // All of it outlives this. `projects` may be null.
  AskArtifacts(const ProjectId& project, AskRows& rows, CommandService& ledgers, ProjectDesk* projects, aegis::FindsSecret finds_secret);

  // Brings the index up to date and gathers. `intent`: declared with this question, by its turn; may be empty.
  Result<aegis::CandidateSet> Gather(const aegis::GatherAsked& asked, const aegis::Kernel& kernel, const std::string& intent,
                                     const std::string& turn_id);

 private:
  Status Update(const std::string& session);
  Status TakeFacts();
  Status TakeDrift();
  Status TakeTurns(const std::string& session);
  Status TakeWork();
  // Puts these and takes away what was put under `source` before and is not among them.
  void Replace(const std::string& source, std::vector<aegis::Artifact> artifacts);

  const ProjectId project_;
  AskRows& rows_;
  CommandService& ledgers_;
  ProjectDesk* projects_;
  std::mutex mutex_;  // of what follows
  aegis::ArtifactIndex index_;
  Document ledger_;                                                    // as it was taken last
  std::map<std::string, std::map<std::string, aegis::Artifact>> put_;  // by source, then id
};

}  // namespace acl::coordinator
