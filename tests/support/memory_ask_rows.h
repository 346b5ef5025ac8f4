#pragma once
// AskRows that gives what a test put there.

#include <map>

#include "shared/kernel/ask_rows.h"

namespace acl {

class MemoryAskRows final : public AskRows {
 public:
  Result<std::optional<SubjectId>> OpenSession(const ProjectId&, const std::string&, const Json&) override { return open; }
  Result<std::vector<Json>> Sessions(const ProjectId&, const std::string&, int) override { return sessions; }
  Result<std::vector<Json>> Exchanges(const ProjectId&, const SubjectId&, const std::string&, int) override { return exchanges; }
  Result<Json> Exchange(const ProjectId&, const std::string& exchange_id) override {
    const auto one = whole.find(exchange_id);
    if (one == whole.end()) return Error{Code::kNotFound, "there is no exchange " + exchange_id + " in this project"};
    return one->second;
  }
  Result<std::optional<std::string>> ExchangeOfKey(const ProjectId&, const std::string&, const std::string&) override {
    return std::optional<std::string>();
  }
  Result<std::vector<Json>> Drift(const ProjectId&, const std::string&, int) override { return drift; }
  Result<std::optional<Json>> OneDrift(const ProjectId&, const std::string& id) override {
    for (const Json& one : drift) {
      if (one.value("driftwatch_id", "") == id) return std::optional(one);
    }
    return std::optional<Json>();
  }
  Result<std::vector<SubjectId>> SessionsWithIntents(const ProjectId&, int) override { return std::vector<SubjectId>(); }
  Result<std::vector<Json>> Turns(const ProjectId&, int) override { return std::vector<Json>(); }

  Result<std::vector<Json>> TurnsOf(const SubjectId&, int) override { return std::vector<Json>(); }

  std::optional<SubjectId> open;
  std::vector<Json> sessions, exchanges, drift;
  std::map<std::string, Json> whole;
};

}  // namespace acl
