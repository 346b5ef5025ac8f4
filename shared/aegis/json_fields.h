#pragma once
// Reading recorded JSON back, member by member; the first that is wrong is kept as the error, and names its place.

#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/json.h"
#include "shared/base/result.h"

namespace acl::aegis {

class JsonFields {
 public:
  // `what` names the object in messages. `json` must outlive this.
  JsonFields(const Json& json, std::string what) : json_(json), what_(std::move(what)) {
    if (!json.is_object()) Fail("is not an object");
  }

  // nullptr if it is not there.
  const Json* Find(const char* key) const {
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }
  const Json* Need(const char* key) {
    const Json* found = Find(key);
    if (!found) Fail(std::string("has no '") + key + "'");
    return found;
  }
  std::string Text(const char* key) {
    const Json* found = Need(key);
    return found ? TextOf(*found, key) : std::string();
  }
  std::string TextOr(const char* key, std::string otherwise = {}) {
    const Json* found = Find(key);
    return found ? TextOf(*found, key) : otherwise;
  }
  std::int64_t Integer(const char* key) {
    const Json* found = Need(key);
    if (found && !found->is_number_integer()) Fail(std::string("'") + key + "' is not an integer");
    return found && found->is_number_integer() ? found->get<std::int64_t>() : 0;
  }
  bool BooleanOr(const char* key, bool otherwise) {
    const Json* found = Find(key);
    if (found && !found->is_boolean()) Fail(std::string("'") + key + "' is not true or false");
    return found && found->is_boolean() ? found->get<bool>() : otherwise;
  }
  WallTime Time(const char* key) {
    const auto time = ParseWallTime(Text(key));
    if (!time) Fail(std::string("'") + key + "' is not a time");
    return time.value_or(WallTime{});
  }
  std::vector<std::string> TextsOr(const char* key) {
    std::vector<std::string> texts;
    const Json* found = Find(key);
    if (!found) return texts;
    if (!found->is_array()) Fail(std::string("'") + key + "' is not a list");
    if (found->is_array())
      for (const Json& item : *found) texts.push_back(TextOf(item, key));
    return texts;
  }
  void Fail(const std::string& why) {
    if (status_.ok()) status_ = Status(Code::kInvalid, what_ + " " + why + "; record it anew with the function that writes it");
  }
  const Status& status() const { return status_; }

 private:
  std::string TextOf(const Json& value, const char* key) {
    if (value.is_string()) return value.get<std::string>();
    Fail(std::string("'") + key + "' is not a text");
    return {};
  }

  const Json& json_;
  std::string what_;
  Status status_;
};

}  // namespace acl::aegis
