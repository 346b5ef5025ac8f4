#pragma once
// Counts the statements of the fleet's database while it lives, by pg_stat_statements, which does nothing at other times.

#include <string>
#include <vector>

#include "tests/bench/run/server.h"
#include "tests/bench/wire/database.h"

namespace acl::bench {

class StatementCount {
 public:
  StatementCount(const Server& server, const std::string& database);
  ~StatementCount();
  StatementCount(const StatementCount&) = delete;
  StatementCount& operator=(const StatementCount&) = delete;

  double Calls();
  // Those that took most time, a line each, with what they cost for each of `steps`.
  std::vector<std::string> Costliest(double steps);

 private:
  void Track(const char* what);

  Database switcher_, asker_;
};

}  // namespace acl::bench
