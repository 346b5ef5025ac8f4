#pragma once
// Projects out of this fleet and into it: their whole journal as lines (shared/kinds/project/export.h).
//
// An import reads and replays all lines before anything is written. Then its name is reserved as for a project that is made, the subject is
// created with the one event `project.imported`, and the origin's events follow in bounded batches, each a command of its own: events, rows
// that show them, all or nothing. Until the head is behind the last of them the project is not there for anybody: its name and id find
// nothing (`ProjectNames`, made). It becomes visible in the transaction of the last batch.
//
//   reserve name -> create [project.imported] -> batch -> ... -> last batch and timers of claims: it is there
//                         \______ cut off here, it is unfinished; the same lines under the same name go on where the head is
//
// Several may import the same lines under one name at once: each batch is decided on the head that its transaction locked.
//
// From any thread; calls block on the database.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "shared/base/uuid7.h"
#include "shared/kernel/command.h"
#include "shared/kernel/project_names.h"
#include "shared/kernel/queries.h"
#include "shared/kernel/store.h"
#include "shared/kinds/project/decide.h"
#include "shared/kinds/project/export.h"

namespace acl::coordinator {

class ProjectTransfer {
 public:
  struct Options {
    std::size_t batch_events = 256, batch_bytes = std::size_t(1) << 20;  // of payloads; a batch has one event at least
  };
  ProjectTransfer(KernelStore& store, Queries& queries, ProjectNames& names, const CommandKind& kind, Uuid7Maker& ids, Options options)
      : store_(store), queries_(queries), names_(names), kind_(kind), ids_(ids), options_(options) {}
  ProjectTransfer(KernelStore& store, Queries& queries, ProjectNames& names, const CommandKind& kind, Uuid7Maker& ids)
      : ProjectTransfer(store, queries, names, kind, ids, Options{}) {}

  // All lines, up to the head of now. `room`: asked before each page of events for that many bytes more. kNotFound: no such project.
  // kCorrupt: its journal does not verify. kInvalid: a content of it was removed.
  Result<std::string> Export(const std::string& id_or_name, const std::function<Status(std::size_t)>& room);

  struct Imported {
    ProjectId project;
    std::string name;
    std::int64_t head_seq = 0;
    Hash256 state_root{};
    std::optional<project::Refusal> refused;  // EXISTS, UNFINISHED (an import of other lines), FORM (the name)
    bool replayed = false;                    // it was imported under this request key before
  };
  struct Asked {
    std::optional<std::string> as;  // its name here; none: that of the origin
    std::string by;
    std::optional<std::string> request_key = {};  // kept in the first event
  };
  // kInvalid with the line that does not fit, or IsKeyConflict: nothing is written. kUnavailable: it is unfinished; say it again.
  Result<Imported> Import(std::string_view lines, const Asked& asked);

 private:
  Result<std::optional<project::Refusal>> Begin(const ProjectName& name, const project::Exported& exported, const Asked& asked);
  Result<bool> IsRepeat(const ProjectName& name, const project::Exported& exported, const std::string& key);
  static Result<std::optional<project::Refusal>> GoesOn(const ProjectName& name, const Event& first, const project::Exported& exported);
  Status Append(const SubjectId& subject, const project::Exported& exported);

  KernelStore& store_;
  Queries& queries_;
  ProjectNames& names_;
  const CommandKind& kind_;
  Uuid7Maker& ids_;
  const Options options_;
};

}  // namespace acl::coordinator
