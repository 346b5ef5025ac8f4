#pragma once
// Objects made member by member, for what is made many times a second: with room for all of them from the start (an object that grows
// copies its members, keys and values), and without a search for a key that is known to be new.

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
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

// An object made from keys that come from outside, of which there may be very many and some twice: the last value counts, at the place of
// the first. Json's own operator[] compares a key with every one before it.
class KeyedObject {
 public:
  KeyedObject() = default;
  explicit KeyedObject(Json::object_t members) : members_(std::move(members)) {}  // no key twice
  explicit KeyedObject(std::size_t members) { members_.reserve(members); }

  void Put(std::string_view key, Json value) {
    constexpr std::size_t kFew = 16;
    if (members_.size() < kFew) {
      const auto same = std::find_if(members_.begin(), members_.end(), [&](const auto& member) { return member.first == key; });
      same == members_.end() ? (void)members_.emplace_back(key, std::move(value)) : (void)(same->second = std::move(value));
      return;
    }
    for (; known_ < members_.size(); ++known_) places_.emplace((members_.begin() + std::ptrdiff_t(known_))->first, known_);
    const auto [place, fresh] = places_.try_emplace(std::string(key), known_);
    if (!fresh) {
      (members_.begin() + std::ptrdiff_t(place->second))->second = std::move(value);
      return;
    }
    ++known_;
    members_.emplace_back(key, std::move(value));
  }
  std::size_t size() const { return members_.size(); }
  Json Take() && { return Json(std::move(members_)); }

 private:
  Json::object_t members_;
  std::unordered_map<std::string, std::size_t> places_;  // of the first known_ members, once they are many
  std::size_t known_ = 0;
};

// Where the members of an object are, for whoever looks for many of them.
class MembersByKey {
 public:
  explicit MembersByKey(const Json& object) {
    if (!object.is_object()) return;
    const auto& members = object.get_ref<const Json::object_t&>();
    found_.reserve(members.size());
    for (const auto& [key, value] : members) found_.emplace(key, &value);
  }
  const Json* Find(std::string_view key) const {
    const auto found = found_.find(key);
    return found == found_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<std::string_view, const Json*> found_;
};

// Empties what is about to be destroyed, from below: a container that still has members when it is destroyed moves them, and theirs, to a
// list made for it, however flat it is. For what is no deeper than an entry of a state.
inline void DestroyIteratively(Json& value) {
  if (value.is_object()) {
    auto& members = value.get_ref<Json::object_t&>();
    for (auto& [key, member] : members) {
      if (member.is_structured()) DestroyIteratively(member);
    }
    members.clear();
  } else if (value.is_array()) {
    auto& items = value.get_ref<Json::array_t&>();
    for (Json& item : items) {
      if (item.is_structured()) DestroyIteratively(item);
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
