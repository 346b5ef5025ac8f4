#include "shared/postgres/pq_codec.h"

#include <array>
#include <charconv>
#include <limits>
#include <stdexcept>

namespace acl::pg {
namespace {

constexpr std::int64_t kPostgresEpochMicros = 946'684'800'000'000;  // 2000-01-01 since 1970-01-01

template <class T>
void AppendBigEndian(std::string& out, T value) {
  std::array<char, sizeof(T)> bytes;
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes[i] = char((value >> (8 * (sizeof(T) - 1 - i))) & 0xff);
  out.append(bytes.data(), bytes.size());
}

std::string ArrayHead(int count, bool nulls, Oid element) {
  std::string out;
  AppendBigEndian(out, std::uint32_t(count == 0 ? 0 : 1));  // dimensions
  AppendBigEndian(out, std::uint32_t(nulls ? 1 : 0));
  AppendBigEndian(out, std::uint32_t(element));
  if (count == 0) return out;
  AppendBigEndian(out, std::uint32_t(count));
  AppendBigEndian(out, std::uint32_t(1));  // lower bound
  return out;
}

[[noreturn]] void Bad(const char* what, std::string_view text) {
  throw std::invalid_argument(std::string("not a ") + what + " from the database: '" + std::string(text.substr(0, 80)) + "'");
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string EncodeInt64(std::int64_t value) {
  std::string out;
  AppendBigEndian(out, std::uint64_t(value));
  return out;
}

std::string EncodeInt32(std::int32_t value) {
  std::string out;
  AppendBigEndian(out, std::uint32_t(value));
  return out;
}

std::string EncodeBool(bool value) { return std::string(1, value ? '\1' : '\0'); }

std::string EncodeUuid(const Uuid& value) { return {reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()}; }

std::string EncodeTime(WallTime value) { return EncodeInt64(MicrosOf(value) - kPostgresEpochMicros); }

Array& Array::Element(std::string_view bytes) {
  ACL_CHECK(bytes.size() < std::size_t(std::numeric_limits<std::int32_t>::max()), "a value over 2 GB does not fit a parameter");
  AppendBigEndian(body_, std::uint32_t(bytes.size()));
  body_.append(bytes);
  ++count_;
  return *this;
}

Array& Array::Null() {
  AppendBigEndian(body_, std::uint32_t(0xffffffff));
  nulls_ = true;
  ++count_;
  return *this;
}

std::string Array::Encode() const { return ArrayHead(count_, nulls_, element_) + body_; }

RowArray& RowArray::Row() {
  EndRow();
  row_at_ = body_.size();
  values_ = 0;
  ++count_;
  AppendBigEndian(body_, std::uint32_t(0));  // its length, known at its end
  AppendBigEndian(body_, std::uint32_t(columns_));
  return *this;
}

RowArray& RowArray::Null(Oid type) {
  AppendBigEndian(body_, std::uint32_t(type));
  AppendBigEndian(body_, std::uint32_t(0xffffffff));
  ++values_;
  return *this;
}

RowArray& RowArray::Value(Oid type, std::string_view bytes) {
  ACL_CHECK(bytes.size() < std::size_t(std::numeric_limits<std::int32_t>::max()), "a value over 2 GB does not fit a parameter");
  AppendBigEndian(body_, std::uint32_t(type));
  AppendBigEndian(body_, std::uint32_t(bytes.size()));
  body_.append(bytes);
  ++values_;
  return *this;
}

void RowArray::EndRow() const {
  if (count_ == 0) return;
  ACL_CHECK(values_ == columns_, "a row has a value or a null for each column");
  const std::size_t size = body_.size() - row_at_ - 4;
  ACL_CHECK(size < std::size_t(std::numeric_limits<std::int32_t>::max()), "a row over 2 GB does not fit a parameter");
  for (std::size_t i = 0; i < 4; ++i) body_[row_at_ + i] = char((size >> (24 - 8 * i)) & 0xff);
}

std::string RowArray::Encode() const {
  EndRow();
  return ArrayHead(count_, false, type_) + body_;
}

std::string RowArray::EncodeOne() const {
  ACL_CHECK(count_ == 1, "one row");
  EndRow();
  return body_.substr(4);
}

std::string EncodeBits(int count) {
  std::string out;
  AppendBigEndian(out, std::uint32_t(count));
  return out.append((std::size_t(count) + 7) / 8, '\0');
}

std::int64_t DecodeInt(std::string_view text) {
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) Bad("whole number", text);
  return value;
}

bool DecodeBool(std::string_view text) {
  if (text != "t" && text != "f") Bad("boolean", text);
  return text == "t";
}

Uuid DecodeUuid(std::string_view text) {
  auto uuid = Uuid::Parse(text);
  if (!uuid) Bad("UUID", text);
  return *uuid;
}

std::string DecodeBytes(std::string_view text) {
  if (text.size() < 2 || text.size() % 2 != 0 || text.substr(0, 2) != "\\x") Bad("bytea", text);
  std::string out((text.size() - 2) / 2, '\0');
  for (std::size_t i = 0; i < out.size(); ++i) {
    int high = HexDigit(text[2 + 2 * i]), low = HexDigit(text[3 + 2 * i]);
    if (high < 0 || low < 0) Bad("bytea", text);
    out[i] = char(high * 16 + low);
  }
  return out;
}

Hash256 DecodeHash(std::string_view text) {
  std::string bytes = DecodeBytes(text);
  Hash256 hash;
  if (bytes.size() != hash.size()) Bad("hash", text);
  std::memcpy(hash.data(), bytes.data(), hash.size());
  return hash;
}

WallTime DecodeTime(std::string_view text) {
  // "2026-11-22 01:02:03.5+00"
  std::string iso(text);
  if (iso.size() > 10) iso[10] = 'T';
  if (iso.size() > 3 && iso.substr(iso.size() - 3) == "+00") iso.replace(iso.size() - 3, 3, "Z");
  auto time = ParseWallTime(iso);
  if (!time) Bad("time", text);
  return *time;
}

}  // namespace acl::pg
