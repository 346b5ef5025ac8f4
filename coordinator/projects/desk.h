#pragma once
// Where projects are asked and read in this coordinator (shared/kinds/project). Several coordinators may do it at once: each command is one
// transaction under the project's lease row, and what a desk remembers of a project is compared with the journal's head in it.
//
// From any thread; calls block on the database.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "shared/journal/document.h"
#include "shared/kinds/project/agenda.h"
#include "shared/kinds/project/decide.h"
#include "shared/kinds/project/model.h"

namespace acl::coordinator {

// The last state of a project that was read as a whole: of another one only what differs is read.
struct LastRead {
  std::mutex mutex;
  Document state;
  std::shared_ptr<const project::Work> work;
};

// A project as it was when it was looked at; never changes. From any thread.
class ProjectView {
 public:
  ProjectId id;
  std::int64_t head_seq = 0;
  Hash256 chain{};
  WallTime head_at;  // of the last event
  Document state;    // its Root() is the digest

  // ChooseNext(state, actor).
  project::NextStep Next(std::string_view actor) const;
  // The same state, read: made when it is first asked for.
  const project::Work& work() const;

  std::shared_ptr<project::Agenda> agenda;  // of the project; nullptr: none, and each task is read
  std::shared_ptr<LastRead> last_read;      // of the project; nullptr: none

 private:
  mutable std::once_flag once_;
  mutable std::shared_ptr<const project::Work> work_;
};

class ProjectDesk {
 public:
  virtual ~ProjectDesk() = default;

  struct Listed {
    ProjectId id;
    std::string name;
    WallTime created_at;
  };
  // By name, behind `after`.
  virtual Result<std::vector<Listed>> List(const std::string& after, int max) = 0;
  // By its id in full or its name. kNotFound.
  virtual Result<Listed> Find(const std::string& id_or_name) = 0;

  // How a command ended. A refusal is no error: it is kept under the request key like any answer.
  struct Done {
    ProjectId project;
    std::int64_t head_seq = 0;  // after it
    Json answer = Json::object();
    std::optional<project::Refusal> refused;
    bool replayed = false;  // the key was used before: this is what was answered then
  };
  struct Asked {
    project::Command command;
    std::optional<std::string> request_key;
    std::optional<Json> same_as;               // what the key stands for, if not the command itself
    std::optional<std::int64_t> expected_seq;  // refused with CHANGED and what came since, if the project is not there any more
  };
  // kNotFound: no such project. kInvalid: the key was used for another command (IsKeyConflict). kCorrupt: it is quarantined, and why.
  virtual Result<Done> Execute(const ProjectId& project, const Asked& asked) = 0;
  // `create_project`: makes the project too. Refused with EXISTS if the name is taken.
  virtual Result<Done> Create(const Asked& asked) = 0;

  // As it is now, or (`at_seq`, `at_time`) as it was. kNotFound; kCorrupt as above; kInvalid if it was not yet.
  virtual Result<std::shared_ptr<const ProjectView>> Read(const ProjectId& project) = 0;
  virtual Result<std::shared_ptr<const ProjectView>> ReadAt(const ProjectId& project, std::optional<std::int64_t> at_seq,
                                                            std::optional<WallTime> at_time) = 0;
};

}  // namespace acl::coordinator
