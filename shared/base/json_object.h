#pragma once
// Objects made member by member, for what is made many times a second: with room for all of them from the start (an object that grows
// copies its members, keys and values), and without a search for a key that is known to be new.

#include <string_view>
#include <utility>

#include "shared/base/json.h"

namespace acl {

// An empty object with room for so many members.
inline Json ObjectFor(std::size_t members) {
  Json object = Json::object();
  object.get_ref<Json::object_t&>().reserve(members);
  return object;
}

// The key is new.
inline void AddMember(Json& object, std::string_view key, Json value) {
  object.get_ref<Json::object_t&>().emplace_back(key, std::move(value));
}

// Empties what is about to be destroyed, from below: a container that still has members when it is destroyed moves them, and theirs, to a
// list made for it, however flat it is. For what is no deeper than an entry of a state.
inline void Dismiss(Json& value) {
  if (value.is_object()) {
    auto& members = value.get_ref<Json::object_t&>();
    for (auto& [key, member] : members) {
      if (member.is_structured()) Dismiss(member);
    }
    members.clear();
  } else if (value.is_array()) {
    auto& items = value.get_ref<Json::array_t&>();
    for (Json& item : items) {
      if (item.is_structured()) Dismiss(item);
    }
    items.clear();
  }
}

// A copy with room for so many members more.
inline Json CopyWithRoom(const Json& object, std::size_t more) {
  const auto& members = object.get_ref<const Json::object_t&>();
  Json copy = ObjectFor(members.size() + more);
  for (const auto& [key, member] : members) AddMember(copy, key, member);
  return copy;
}

}  // namespace acl
