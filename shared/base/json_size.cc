#include <cmath>

#include "shared/base/json.h"
#include "shared/base/json_text.h"

namespace acl {

namespace {

std::size_t QuotedBytes(const std::string& text) {
  if (FindBadUtf8(text) != std::string_view::npos) {
    std::string written;
    AppendJson(Json(text), written);
    return written.size();
  }
  std::size_t bytes = text.size() + 2;
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '\b' || c == '\t' || c == '\n' || c == '\f' || c == '\r') {
      ++bytes;  // \" ...
    } else if (static_cast<unsigned char>(c) < 0x20) {
      bytes += 5;  // \u00xx
    }
  }
  return bytes;
}

std::size_t ScalarBytes(const Json& value) {
  return WithScratch([&](std::string& out) {
    AppendJson(value, out);
    return out.size();
  });
}

}  // namespace

std::size_t DumpedBytes(const Json& value) {
  if (value.is_string()) return QuotedBytes(value.get_ref<const std::string&>());
  if (!value.is_structured()) return ScalarBytes(value);
  std::size_t bytes = 2 + (value.empty() ? 0 : value.size() - 1);  // brackets, commas
  if (value.is_array()) {
    for (const Json& item : value.get_ref<const Json::array_t&>()) bytes += DumpedBytes(item);
  } else {
    for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) bytes += QuotedBytes(key) + 1 + DumpedBytes(member);
  }
  return bytes;
}

std::size_t SizeOf(const Json& value, std::size_t most) {
  if (value.is_string()) return value.get_ref<const std::string&>().size() + 2;
  std::size_t size = 8;
  if (value.is_array()) {
    for (const Json& item : value.get_ref<const Json::array_t&>())
      if ((size += SizeOf(item, most)) > most) return size;
  } else if (value.is_object()) {
    for (const auto& [key, item] : value.get_ref<const Json::object_t&>())
      if ((size += key.size() + SizeOf(item, most)) > most) return size;
  }
  return size;
}

}  // namespace acl
