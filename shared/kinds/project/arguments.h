#pragma once
// A command's arguments, each read with its form. Inside a decision a refusal is thrown (Refused): it ends the decision, and Decide catches
// it.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shared/kinds/project/decide.h"

namespace acl::project {

using Refused = CommandRefused;
[[noreturn]] void Refuse(Code code, std::string reason, std::string message, Json details = Json::object());
[[noreturn]] void BadForm(const std::string& message);
[[noreturn]] void Conflict(std::string reason, std::string message, Json details = Json::object());
void Check(const Status& form);
std::string Joined(const std::vector<std::string>& words, std::string_view between = ", ");

class Arguments {
 public:
  explicit Arguments(const Json& object);

  bool Has(const char* name);
  std::string Text(const char* name, std::size_t most);  // needed, one line
  std::string Reason(const char* name = "reason");       // may be left out
  std::string String(const char* name, bool needed);     // in any form
  std::vector<std::string> Texts(const char* name, std::size_t most, std::size_t most_bytes);
  std::int64_t Number(const char* name, std::int64_t otherwise, std::int64_t least, std::int64_t most);
  bool Flag(const char* name);
  const Json* Find(const char* name);
  // Refuses what nobody asked for.
  void NothingElse(std::string_view command) const;

 private:
  const Json& object_;
  std::set<std::string> known_;
};

}  // namespace acl::project
