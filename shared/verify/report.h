#pragma once
// What `airun verify` found: how much was checked, and every violation with the row and what was expected there.

#include <map>
#include <string>
#include <vector>

#include "shared/base/json.h"

namespace acl::verify {

struct Violation {
  std::string table, key;  // the row: "event_rows", "<subject>/7"
  std::string check;       // name of the check, as counted in Report::checked
  std::string expected, found;
};

struct Report {
  std::map<std::string, std::int64_t> checked;  // check -> how often it was made; a check that met no row is there with 0
  std::vector<Violation> violations;            // the first kKept of them
  std::int64_t found = 0;                       // all of them

  std::vector<std::string> notes;  // what is not wrong and bounds what was checked: the first kNotes
  std::int64_t noted = 0;          // all of them

  static constexpr std::size_t kNotes = 100;
  static constexpr std::size_t kKept = 10'000;  // a database that is broken all over must not fill the memory

  bool clean() const { return found == 0; }
  // Counts one check; on failure keeps the violation.
  void Check(const std::string& check, bool holds, const std::string& table, const std::string& key, const std::string& expected,
             const std::string& found_there);
  void Add(Violation violation);
  void Note(std::string note);
};

// {"clean": bool, "checked": {...}, "violations_found": n, "violations": [{"table","key","check","expected","found"}], "notes": [...],
// "noted": n}
Json ToJson(const Report& report);
// For people: a line per check with its count, then each violation with its row, what was expected and what was found, then the sum.
std::string ToText(const Report& report);

}  // namespace acl::verify
