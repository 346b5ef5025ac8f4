#include "shared/base/canonical_json.h"

#include <algorithm>
#include <vector>

#include "shared/base/check.h"
#include "shared/base/json_text.h"
#include "shared/base/sha256.h"

namespace acl {

namespace {

constexpr std::uint64_t kLargestExact = std::uint64_t(1) << 53;

// UTF-8 sorts by code point; UTF-16 puts the supplementary planes (lead bytes F0..F4) before U+E000..U+FFFF (EE, EF).
int Utf16Rank(unsigned char byte) { return byte == 0xee || byte == 0xef ? byte + 0x10 : byte; }

bool LessUtf16(const std::string& a, const std::string& b) {
  auto [i, j] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (j == b.end()) return false;
  if (i == a.end()) return true;
  return Utf16Rank(static_cast<unsigned char>(*i)) < Utf16Rank(static_cast<unsigned char>(*j));
}

void Append(const Json& value, std::string& out) {
  switch (value.type()) {
    case Json::value_t::null: out += "null"; return;
    case Json::value_t::boolean: out += value.get<bool>() ? "true" : "false"; return;
    case Json::value_t::string: AppendJsonString(value.get_ref<const std::string&>(), out); return;
    case Json::value_t::number_float: AppendEcmaScriptNumber(value.get<double>(), out); return;
    case Json::value_t::number_unsigned: {
      auto number = value.get<std::uint64_t>();
      if (number > kLargestExact) return AppendEcmaScriptNumber(double(number), out);
      out += std::to_string(number);
      return;
    }
    case Json::value_t::number_integer: {
      auto number = value.get<std::int64_t>();
      if (number > std::int64_t(kLargestExact) || number < -std::int64_t(kLargestExact)) return AppendEcmaScriptNumber(double(number), out);
      out += std::to_string(number);
      return;
    }
    case Json::value_t::array: {
      char before = '[';
      for (const Json& item : value) {
        out += before;
        before = ',';
        Append(item, out);
      }
      out += before == '[' ? "[]" : "]";
      return;
    }
    case Json::value_t::object: {
      std::vector<std::pair<const std::string*, const Json*>> members;
      members.reserve(value.size());
      for (auto it = value.begin(); it != value.end(); ++it) members.emplace_back(&it.key(), &it.value());
      std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return LessUtf16(*a.first, *b.first); });
      char before = '{';
      for (const auto& [key, member] : members) {
        out += before;
        before = ',';
        AppendJsonString(*key, out);
        out += ':';
        Append(*member, out);
      }
      out += before == '{' ? "{}" : "}";
      return;
    }
    case Json::value_t::binary:
    case Json::value_t::discarded: break;
  }
  ACL_CHECK(false, "a value that is not JSON; CheckStorable refuses it");
}

}  // namespace

std::string CanonicalJson(const Json& value) {
  std::string out;
  Append(value, out);
  return out;
}

Hash256 CanonicalHash(const Json& value) { return Sha256(CanonicalJson(value)); }

}  // namespace acl
