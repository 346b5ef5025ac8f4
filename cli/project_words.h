#pragma once
// An operation on projects as a command line gives it: its words bound to the table of operations (shared/kinds/project/operations.h).

#include <CLI/CLI.hpp>
#include <deque>

#include "cli/session.h"
#include "shared/kinds/project/operations.h"

namespace acl::cli {

class ProjectWords {
 public:
  // Adds the operation's options and arguments to `command`, and those that every operation of its kind has. Lives as long as the command.
  ProjectWords(CLI::App* command, Session* session, const project::Operation& operation);

  // An operation's further parameters on the same command, as claim_seconds of `next --take`.
  void Add(const project::Operation& operation);

  // --project or AIRUN_PROJECT. kInvalid says how to name one.
  Result<std::string> Project() const;
  // --as, AIRUN_ACTOR or USER. kInvalid says how to name one.
  Result<std::string> Actor() const;
  // What was given of the operation's parameters, as the body of a command.
  Result<Json> Arguments(const project::Operation& operation, const std::string& actor) const;
  // A reading's path with its query.
  Result<std::string> Path(const project::Operation& operation) const;
  // The path of a command.
  Result<std::string> CommandPath(const project::Operation& operation) const;
  bool Given(const std::string& parameter) const;
  const std::string& key() const { return key_; }

 private:
  struct Bound {
    const project::Parameter* parameter;
    CLI::Option* option = nullptr;
    std::string text;
    std::vector<std::string> list;
    bool flag = false;
  };

  void Bind(const project::Parameter& parameter);
  const Bound* Find(const std::string& parameter) const;
  Result<Json> ValueOf(const Bound& bound, const std::string& actor) const;

  CLI::App* command_;
  Session* session_;
  std::deque<Bound> bound_;  // whose addresses CLI11 keeps
  std::string project_, actor_, key_, at_, expected_seq_;
};

// A piece of evidence as it is written at the command line: person:WORDS, artifact:FILE, run:ID, or JSON.
Result<Json> ReadEvidence(Session* session, const std::string& text, const std::string& actor);

}  // namespace acl::cli
