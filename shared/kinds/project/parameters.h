#pragma once
// How the tables of operations (operations.cc, memory_operations.cc) say what an operation takes: a name as in JSON, a flag or a word of
// the command line, and its help.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "shared/kinds/project/forms.h"
#include "shared/kinds/project/operations.h"

namespace acl::project {

inline Parameter TextParameter(std::string name, std::string flag, std::string help, std::size_t most) {
  Parameter one;
  one.name = std::move(name);
  one.flag = std::move(flag);
  one.help = std::move(help);
  one.most = most;
  return one;
}

inline Parameter ListParameter(std::string name, std::string flag, std::string help, std::size_t most, std::size_t items = kMostItems) {
  Parameter one = TextParameter(std::move(name), std::move(flag), std::move(help), most);
  one.form = Form::kTexts;
  one.most_items = items;
  return one;
}

inline Parameter NumberParameter(std::string name, std::string flag, std::string help, std::int64_t least, std::int64_t greatest) {
  Parameter one = TextParameter(std::move(name), std::move(flag), std::move(help), 0);
  one.form = Form::kNumber;
  one.least = least;
  one.greatest = greatest;
  return one;
}

inline Parameter FlagParameter(std::string name, std::string flag, std::string help) {
  Parameter one = TextParameter(std::move(name), std::move(flag), std::move(help), 0);
  one.form = Form::kFlag;
  return one;
}

inline Parameter OneOf(Parameter one, std::vector<std::string> words) {
  one.words = std::move(words);
  return one;
}

inline Parameter Needed(Parameter one) {
  one.required = true;
  return one;
}

}  // namespace acl::project
