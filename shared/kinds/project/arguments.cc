#include "shared/kinds/project/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shared/kinds/project/forms.h"

namespace acl::project {

void Refuse(Code code, std::string reason, std::string message, Json details) {
  RefuseCommand(code, std::move(reason), std::move(message), std::move(details));
}
void BadForm(const std::string& message) { RefuseForm(message); }
void Conflict(std::string reason, std::string message, Json details) {
  Refuse(Code::kConflict, std::move(reason), std::move(message), std::move(details));
}
void Check(const Status& form) {
  if (!form) BadForm(form.message());
}

std::string Joined(const std::vector<std::string>& words, std::string_view between) { return fmt::format("{}", fmt::join(words, between)); }

Arguments::Arguments(const Json& object) : object_(object) {
  if (!object.is_object()) BadForm("the arguments are no object");
}

bool Arguments::Has(const char* name) {
  known_.insert(name);
  return object_.contains(name);
}

std::string Arguments::Text(const char* name, std::size_t most) {
  const std::string text = String(name, true);
  Check(CheckText(name, text, most));
  return text;
}

std::string Arguments::Reason(const char* name) {
  const std::string text = String(name, false);
  Check(CheckReason(name, text));
  return text;
}

std::string Arguments::String(const char* name, bool needed) {
  if (!Has(name)) {
    if (needed) BadForm(fmt::format("{}: is missing", name));
    return "";
  }
  const Json& value = object_.at(name);
  if (!value.is_string()) BadForm(fmt::format("{}: is not text", name));
  return value;
}

std::vector<std::string> Arguments::Texts(const char* name, std::size_t most, std::size_t most_bytes) {
  std::vector<std::string> texts;
  if (!Has(name)) return texts;
  const Json& value = object_.at(name);
  if (!value.is_array()) BadForm(fmt::format("{}: is not a list", name));
  if (value.size() > most) BadForm(fmt::format("{}: has {} entries, {} at most", name, value.size(), most));
  for (const Json& one : value) {
    const std::string field = fmt::format("{}[{}]", name, texts.size());
    if (!one.is_string()) BadForm(field + ": is not text");
    texts.push_back(one);
    Check(CheckText(field, texts.back(), most_bytes));
  }
  return texts;
}

std::int64_t Arguments::Number(const char* name, std::int64_t otherwise, std::int64_t least, std::int64_t most) {
  if (!Has(name)) return otherwise;
  const Json& value = object_.at(name);
  const bool small = value.is_number_integer() && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= std::uint64_t(INT64_MAX));
  if (!small || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most) {
    BadForm(fmt::format("{}: is not a whole number from {} to {}", name, least, most));
  }
  return value;
}

bool Arguments::Flag(const char* name) {
  if (!Has(name)) return false;
  if (!object_.at(name).is_boolean()) BadForm(fmt::format("{}: is not true or false", name));
  return object_.at(name);
}

const Json* Arguments::Find(const char* name) { return Has(name) ? &object_.at(name) : nullptr; }

void Arguments::NothingElse(std::string_view command) const {
  for (const auto& [name, value] : object_.items()) {
    if (!known_.contains(name)) BadForm(fmt::format("{} takes no argument \"{}\"; it takes: {}", command, name, fmt::join(known_, ", ")));
  }
}

}  // namespace acl::project
