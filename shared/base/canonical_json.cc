#include "shared/base/canonical_json.h"

#include <algorithm>
#include <array>
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

void Append(const Json& value, std::string& out);

void AppendObject(const Json::object_t& object, std::string& out) {
  using Member = const Json::object_t::value_type*;
  constexpr std::size_t kFew = 16;  // sorted without asking for memory
  std::array<Member, kFew> few;
  std::vector<Member> many;
  if (object.size() > kFew) many.resize(object.size());
  Member* const members = object.size() > kFew ? many.data() : few.data();
  std::size_t count = 0;
  for (const auto& member : object) members[count++] = &member;
  std::sort(members, members + count, [](Member a, Member b) { return LessUtf16(a->first, b->first); });
  char before = '{';
  for (std::size_t i = 0; i < count; ++i) {
    out += before;
    before = ',';
    AppendJsonString(members[i]->first, out);
    out += ':';
    Append(members[i]->second, out);
  }
  out += before == '{' ? "{}" : "}";
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
      for (const Json& item : value.get_ref<const Json::array_t&>()) {
        out += before;
        before = ',';
        Append(item, out);
      }
      out += before == '[' ? "[]" : "]";
      return;
    }
    case Json::value_t::object: {
      return AppendObject(value.get_ref<const Json::object_t&>(), out);
    }
    case Json::value_t::binary:
    case Json::value_t::discarded: break;
  }
  ACL_CHECK(false, "a value that is not JSON; CheckStorable refuses it");
}

}  // namespace

std::string CanonicalJson(const Json& value) {
  return WithScratch([&](std::string& out) {
    Append(value, out);
    return std::string(out);
  });
}

CanonicalMeasure MeasureCanonical(const Json& value) {
  return WithScratch([&](std::string& out) {
    Append(value, out);
    return CanonicalMeasure{Sha256(out), out.size()};
  });
}

Hash256 CanonicalHash(const Json& value) { return MeasureCanonical(value).hash; }

}  // namespace acl
