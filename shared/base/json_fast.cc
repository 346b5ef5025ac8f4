#include "shared/base/json_fast.h"

#include <simdjson.h>

#include <algorithm>
#include <unordered_set>

namespace acl {

namespace {

namespace dom = simdjson::dom;

// A parser keeps some ten times its largest text; one for each thread is kept for texts up to this.
constexpr std::size_t kKeptBytes = 256 * 1024;

// `zeros`: an integer 0 was met, which may have been -0.
bool Build(dom::element from, int depth_left, bool& zeros, Json& to) {
  switch (from.type()) {
    case dom::element_type::STRING: to = std::string(std::string_view(from)); return true;
    case dom::element_type::INT64: {
      const std::int64_t value{from};  // an integer that is not below 0 is unsigned, as the strict parser has it
      zeros = zeros || value == 0;
      to = value < 0 ? Json(value) : Json(static_cast<std::uint64_t>(value));
      return true;
    }
    case dom::element_type::UINT64: to = std::uint64_t{from}; return true;
    case dom::element_type::DOUBLE: to = double{from}; return true;
    case dom::element_type::BOOL: to = bool{from}; return true;
    case dom::element_type::NULL_VALUE: to = nullptr; return true;
    case dom::element_type::ARRAY: {
      if (depth_left == 0) return false;
      const dom::array items = from;
      to = Json::array();
      auto& built = to.get_ref<Json::array_t&>();
      built.reserve(items.size());
      for (const dom::element item : items) {
        if (!Build(item, depth_left - 1, zeros, built.emplace_back())) return false;
      }
      return true;
    }
    case dom::element_type::OBJECT: {
      if (depth_left == 0) return false;
      const dom::object members = from;
      to = Json::object();
      auto& built = to.get_ref<Json::object_t&>();
      built.reserve(members.size());
      constexpr std::size_t kFew = 16;
      std::unordered_set<std::string_view> known;  // the keys so far, if there are many; the parser holds their text
      for (const auto& member : members) {
        const bool twice = members.size() > kFew
                               ? !known.insert(member.key).second
                               : std::any_of(built.begin(), built.end(), [&](const auto& one) { return one.first == member.key; });
        if (twice) return false;
        if (!Build(member.value, depth_left - 1, zeros, built.emplace_back(std::string(member.key), nullptr).second)) return false;
      }
      return true;
    }
  }
  return false;
}

// Whether a -0 may stand there as a number: not inside a word or a day, as in most texts that have one.
bool MayHaveMinusZero(std::string_view text) {
  for (auto at = text.find("-0"); at != std::string_view::npos; at = text.find("-0", at + 2)) {
    if (at == 0 || std::string_view(" \t\r\n,:[").find(text[at - 1]) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

std::optional<Json> ParseJsonFast(std::string_view text, int max_depth) {
  if (text.find("\\u") != std::string_view::npos) return std::nullopt;  // some surrogates that stand alone would pass
  thread_local dom::parser kept(kKeptBytes);
  std::optional<dom::parser> once;
  if (text.size() > kKeptBytes) once.emplace();
  dom::element root;
  if ((once ? *once : kept).parse(text.data(), text.size()).get(root) != simdjson::SUCCESS) return std::nullopt;
  Json value;
  bool zeros = false;
  if (!Build(root, max_depth, zeros, value)) return std::nullopt;
  if (zeros && MayHaveMinusZero(text)) return std::nullopt;  // -0 is an integer with a sign, which is lost
  return value;
}

}  // namespace acl
