#pragma once
// The record of a run: one JSON object a line, in the order in which things happened to the driver. Everything a report says is computed
// from it, so it can be checked again later and elsewhere.
//
//   run       what was tested: seed, profile, versions, settings                phase   a phase of the run begins
//   invoke    a client asks: op, process, f, args                               ok fail info   the same op's end; info: nobody knows
//   fault     event: inject observed healed well, or failed with its error      skipped a fault that could not be done here, and why
//   effect    a call as the effects server saw it, and its verdict              final   a run as the database shows it after the drain
//   project_head project_event project_answer project_task   of the projects that agents worked on, after the drain
//   agent_session agent_event agent_move   of the sessions of agents, after the drain
//   grants    what lease_history says of grants and takeovers                   metrics what the workers counted
//   checker   one invariant: rows examined, anomalies, examples                 end     the driver came to its end

#include <filesystem>
#include <fstream>
#include <mutex>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/json.h"
#include "shared/base/result.h"

namespace acl::chaos {

class Recorder {
 public:
  static Result<std::unique_ptr<Recorder>> Create(const std::filesystem::path& file, const Clock& clock);

  // Adds type and time. From any thread.
  void Write(const std::string& type, Json fields);
  // An operation: its number, to be given to Complete.
  std::int64_t Invoke(const std::string& process, const std::string& f, Json args);
  void Complete(std::int64_t op, const std::string& process, const std::string& f, const std::string& outcome, Json value);
  const std::filesystem::path& file() const { return file_; }

 private:
  Recorder(std::filesystem::path file, const Clock& clock) : file_(std::move(file)), clock_(clock), out_(file_, std::ios::binary) {}

  const std::filesystem::path file_;
  const Clock& clock_;
  std::mutex mutex_;
  std::ofstream out_;
  std::int64_t next_op_ = 1;
};

// kInvalid with the line's number if it is not a history.
Result<std::vector<Json>> LoadHistory(const std::filesystem::path& file);
Result<std::vector<Json>> ParseHistory(std::string_view text);

}  // namespace acl::chaos
