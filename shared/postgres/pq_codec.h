#pragma once
// PostgreSQL's wire forms: parameters go out in binary (numbers big-endian, arrays with their element type), results come in as text.
// Binary arrays through unnest cost the backend 4-6 us a step less than text and leave no quoting to get wrong.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "shared/base/clock.h"
#include "shared/base/ids.h"
#include "shared/base/result.h"

namespace acl::pg {

// Types by their number in pg_type.
enum class Oid : std::uint32_t { kBool = 16, kBytea = 17, kInt8 = 20, kInt4 = 23, kText = 25, kTimestamptz = 1184, kUuid = 2950 };

// One value in binary form; the SQL must cast the parameter to exactly this type.
std::string EncodeInt64(std::int64_t value);                                          // $x::bigint
std::string EncodeInt32(std::int32_t value);                                          // $x::int
std::string EncodeBool(bool value);                                                   // $x::boolean
std::string EncodeUuid(const Uuid& value);                                            // $x::uuid
std::string EncodeTime(WallTime value);                                               // $x::timestamptz
inline std::string EncodeText(std::string_view value) { return std::string(value); }  // $x::text
inline std::string EncodeHash(const Hash256& value) { return {reinterpret_cast<const char*>(value.data()), value.size()}; }  // $x::bytea

// A one-dimensional array in wire form. A nullable scalar is sent as an array of one or none: ($x::text[])[1].
class Array {
 public:
  explicit Array(Oid element) : element_(element) {}
  Array& Null();
  Array& Int64(std::int64_t value) { return Element(EncodeInt64(value)); }
  Array& Int32(std::int32_t value) { return Element(EncodeInt32(value)); }
  Array& Bool(bool value) { return Element(EncodeBool(value)); }
  Array& Id(const Uuid& value) { return Element(EncodeUuid(value)); }
  Array& Time(WallTime value) { return Element(EncodeTime(value)); }
  Array& Text(std::string_view value) { return Element(value); }
  Array& Bytes(const Hash256& value) { return Element(AsBytesOf(value)); }
  Array& Bytes(std::string_view value) { return Element(value); }
  Array& MaybeTime(const std::optional<WallTime>& value) { return value ? Time(*value) : Null(); }
  Array& MaybeText(const std::optional<std::string>& value) { return value ? Text(*value) : Null(); }
  std::string Encode() const;
  int size() const { return count_; }

 private:
  static std::string_view AsBytesOf(const Hash256& hash) { return {reinterpret_cast<const char*>(hash.data()), hash.size()}; }
  Array& Element(std::string_view bytes);

  Oid element_;
  int count_ = 0;
  bool nulls_ = false;
  std::string body_;
};

// The row types a program sends, by name: each database numbers them as it made them.
using RowTypes = std::map<std::string, Oid>;
inline constexpr const char* kSentTypes[] = {"commit_item",  "commit_event",   "commit_attempt", "commit_completion",
                                             "commit_timer", "commit_listing", "create_row",     "packed_entry"};

// An array of rows of such a type, each column in its place with its type.
class RowArray {
 public:
  RowArray(Oid type, int columns) : type_(type), columns_(columns) {}
  // The next row; `columns` values follow.
  RowArray& Row();
  RowArray& Null(Oid type);
  RowArray& Int64(std::int64_t value) { return Value(Oid::kInt8, EncodeInt64(value)); }
  RowArray& Int32(std::int32_t value) { return Value(Oid::kInt4, EncodeInt32(value)); }
  RowArray& Bool(bool value) { return Value(Oid::kBool, EncodeBool(value)); }
  RowArray& Id(const Uuid& value) { return Value(Oid::kUuid, {reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()}); }
  RowArray& Time(WallTime value) { return Value(Oid::kTimestamptz, EncodeTime(value)); }
  RowArray& Text(std::string_view value) { return Value(Oid::kText, value); }
  RowArray& Bytes(const Hash256& value) { return Value(Oid::kBytea, {reinterpret_cast<const char*>(value.data()), value.size()}); }
  RowArray& MaybeInt32(const std::optional<std::int32_t>& value) { return value ? Int32(*value) : Null(Oid::kInt4); }
  RowArray& MaybeTime(const std::optional<WallTime>& value) { return value ? Time(*value) : Null(Oid::kTimestamptz); }
  RowArray& MaybeText(const std::optional<std::string>& value) { return value ? Text(*value) : Null(Oid::kText); }
  std::string Encode() const;
  std::string EncodeOne() const;  // the only row, as a value of the type itself

 private:
  RowArray& Value(Oid type, std::string_view bytes);
  void EndRow() const;

  Oid type_;
  int columns_;
  int count_ = 0, values_ = 0;  // rows; values of the last one
  std::size_t row_at_ = 0;      // where the length of the last row stands
  mutable std::string body_;
};

// Bits that are all 0: $x::varbit.
std::string EncodeBits(int count);

// Text results. They come from our own statements, so a value that does not parse is a bug and is thrown (std::invalid_argument).
std::int64_t DecodeInt(std::string_view text);
bool DecodeBool(std::string_view text);
Uuid DecodeUuid(std::string_view text);
std::string DecodeBytes(std::string_view text);  // \x hex
Hash256 DecodeHash(std::string_view text);
// "2026-11-22 01:02:03.123456+00": ISO style, the session's time zone is UTC.
WallTime DecodeTime(std::string_view text);

}  // namespace acl::pg
