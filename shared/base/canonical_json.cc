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

bool LessUtf16(std::string_view a, std::string_view b) {
  auto [i, j] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (j == b.end()) return false;
  if (i == a.end()) return true;
  return Utf16Rank(static_cast<unsigned char>(*i)) < Utf16Rank(static_cast<unsigned char>(*j));
}

void Append(const Json& value, std::string& out);

bool IsSorted(const Json::object_t& object) {
  const std::string* before = nullptr;
  for (const auto& [key, member] : object) {
    if (before && !LessUtf16(*before, key)) return false;
    before = &key;
  }
  return true;
}

void AppendObject(const Json::object_t& object, std::string& out) {
  if (IsSorted(object)) {
    char before = '{';
    for (const auto& [key, member] : object) {
      out += before;
      before = ',';
      AppendJsonString(key, out);
      out += ':';
      Append(member, out);
    }
    out += before == '{' ? "{}" : "}";
    return;
  }
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
      AppendInteger(number, out);
      return;
    }
    case Json::value_t::number_integer: {
      auto number = value.get<std::int64_t>();
      if (number > std::int64_t(kLargestExact) || number < -std::int64_t(kLargestExact)) return AppendEcmaScriptNumber(double(number), out);
      AppendInteger(number, out);
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

// Whether its text as it is stored is its canonical text.
bool IsCanonical(const Json& value) {
  switch (value.type()) {
    case Json::value_t::number_float: return false;
    case Json::value_t::number_unsigned: return value.get<std::uint64_t>() <= kLargestExact;
    case Json::value_t::number_integer:
      return value.get<std::int64_t>() <= std::int64_t(kLargestExact) && value.get<std::int64_t>() >= -std::int64_t(kLargestExact);
    case Json::value_t::object: {
      const auto& members = value.get_ref<const Json::object_t&>();
      return IsSorted(members) &&
             std::all_of(members.begin(), members.end(), [](const auto& member) { return IsCanonical(member.second); });
    }
    case Json::value_t::array: {
      const auto& items = value.get_ref<const Json::array_t&>();
      return std::all_of(items.begin(), items.end(), IsCanonical);
    }
    default: return true;
  }
}

}  // namespace

bool CanonicalLess(std::string_view a, std::string_view b) { return LessUtf16(a, b); }

StoredText& StoredText::String(std::string_view text) {
  if (FindBadUtf8(text) == std::string_view::npos) {
    AppendJsonString(text, text_);
  } else {
    AppendJson(Json(text), text_);
  }
  return *this;
}

StoredText::Texts StoredText::Value(const Json& value) {
  const std::size_t begin = text_.size();
  AppendJson(value, text_);
  const std::string_view stored = std::string_view(text_).substr(begin);
  if (IsCanonical(value)) return {stored, stored};
  Other& other = others_.emplace_back();
  other.begin = begin;
  other.end = text_.size();
  Append(value, other.canonical);
  // What was not UTF-8 was mended on the way into the stored text, and that is the value then.
  if (FindBadUtf8(other.canonical) == std::string_view::npos) return {stored, other.canonical};
  auto mended = ParseJson(std::string_view(text_).substr(begin), {.max_bytes = text_.size(), .max_depth = 1'000});
  ACL_CHECK(mended.ok(), "a text that was just written is not JSON");
  other.canonical.clear();
  Append(*mended, other.canonical);
  return {stored, other.canonical};
}

StoredText::Hashes StoredText::Measure() const {
  Hashes hashes;
  hashes.stored = Sha256(text_);
  hashes.canonical = hashes.stored;
  if (others_.empty()) return hashes;
  std::string canonical;
  canonical.reserve(text_.size() + 64);
  std::size_t at = 0;
  for (const Other& other : others_) {
    canonical.append(text_, at, other.begin - at);
    canonical += other.canonical;
    at = other.end;
  }
  canonical.append(text_, at);
  hashes.canonical = Sha256(canonical);
  return hashes;
}

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
