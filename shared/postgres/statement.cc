#include "shared/postgres/statement.h"

#include <algorithm>
#include <cctype>

#include "shared/base/check.h"

namespace acl::pg {
namespace {

std::vector<const Statement*>& Registry() {
  static std::vector<const Statement*> all;
  return all;
}

bool IsNameChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

NumberedSql NumberParameters(std::string_view text) {
  NumberedSql out;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (!quoted && text.substr(i, 2) == "--") {  // a comment may hold anything
      std::size_t line = std::min(text.find('\n', i), text.size());
      out.sql.append(text.substr(i, line - i));
      i = line - 1;
      continue;
    }
    if (c == '\'') quoted = !quoted;
    bool starts = c == '$' && !quoted && i + 1 < text.size() && std::isalpha(static_cast<unsigned char>(text[i + 1])) != 0;
    if (!starts) {
      out.sql.push_back(c);
      continue;
    }
    std::size_t end = i + 1;
    while (end < text.size() && IsNameChar(text[end])) ++end;
    std::string name(text.substr(i + 1, end - i - 1));
    auto found = std::find(out.parameters.begin(), out.parameters.end(), name);
    if (found == out.parameters.end()) found = out.parameters.insert(out.parameters.end(), name);
    out.sql += "$" + std::to_string(found - out.parameters.begin() + 1);
    i = end - 1;
  }
  return out;
}

Statement::Statement(const char* name, Kind kind, std::string text, bool hot)
    : name_(name), text_(std::move(text)), kind_(kind), hot_(hot), numbered_(NumberParameters(text_)) {
  for (const Statement* other : Registry()) ACL_CHECK(other->name() != name_, "two statements have one name");
  Registry().push_back(this);
}

const std::vector<const Statement*>& Statement::All() { return Registry(); }

Params& Params::Set(const char* name, std::string encoded) {
  values_[name] = std::move(encoded);
  return *this;
}

std::vector<const std::string*> Params::InOrder(const std::vector<std::string>& names, const std::string& statement) const {
  std::vector<const std::string*> values;
  values.reserve(names.size());
  for (const std::string& name : names) {
    auto it = values_.find(name);
    ACL_CHECK(it != values_.end(), (statement + ": parameter $" + name + " was not set").c_str());
    values.push_back(&it->second);
  }
  return values;
}

}  // namespace acl::pg
