#pragma once
// Named SQL. A statement's text names its parameters ($subject::uuid); the name of the statement is also the name of the prepared
// statement, the metric's label and the span. Every statement registers itself, so that one test prepares all of them and explains
// the hot ones. A test may replace a statement's text by name (PgStoreOptions::override_sql) to see that the checkers notice.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/postgres/pq_codec.h"

namespace acl::pg {

// The text with $1, $2 ... and which parameter each is.
struct NumberedSql {
  std::string sql;
  std::vector<std::string> parameters;
};
// $name becomes $n in order of first appearance; a name is a letter, then letters, digits and underscores. Quotes and comments are left
// alone.
NumberedSql NumberParameters(std::string_view text);

class Statement {
 public:
  enum class Kind {
    kRead,   // changes nothing: a lost answer is kUnavailable
    kWrite,  // a lost answer is kOutcomeUnknown
  };
  // `name` and `text` must outlive the program: constants. `hot`: the plan must not contain a sequential scan or a hash join.
  Statement(const char* name, Kind kind, std::string text, bool hot = false);
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }  // with named parameters
  const NumberedSql& numbered() const { return numbered_; }
  Kind kind() const { return kind_; }
  bool hot() const { return hot_; }

  static const std::vector<const Statement*>& All();

 private:
  std::string name_, text_;
  Kind kind_;
  bool hot_;
  NumberedSql numbered_;
};

// Values by parameter name, in binary form.
class Params {
 public:
  Params& Set(const char* name, std::string encoded);
  Params& Int64(const char* name, std::int64_t value) { return Set(name, EncodeInt64(value)); }
  Params& Int32(const char* name, std::int32_t value) { return Set(name, EncodeInt32(value)); }
  Params& Bool(const char* name, bool value) { return Set(name, EncodeBool(value)); }
  Params& Id(const char* name, const Uuid& value) { return Set(name, EncodeUuid(value)); }
  template <class Tag>
  Params& Id(const char* name, const acl::Id<Tag>& value) {
    return Id(name, value.uuid);
  }
  Params& Text(const char* name, std::string_view value) { return Set(name, std::string(value)); }
  Params& Bytes(const char* name, const Hash256& value) { return Set(name, EncodeHash(value)); }
  Params& Time(const char* name, WallTime value) { return Set(name, EncodeTime(value)); }
  Params& List(const char* name, const Array& value) { return Set(name, value.Encode()); }
  Params& List(const char* name, const RowArray& value) { return Set(name, value.Encode()); }
  Params& Bits(const char* name, int count) { return Set(name, EncodeBits(count)); }

  // Aborts if a parameter of the statement was not set: a programmer's error.
  std::vector<const std::string*> InOrder(const std::vector<std::string>& names, const std::string& statement) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace acl::pg
