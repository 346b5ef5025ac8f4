#pragma once
// Offsets of IANA time zones from the system's tz database (/usr/share/zoneinfo), safe from any thread (TZ and tzset are not).

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "shared/base/result.h"

namespace acl {

struct ZoneOffset {
  std::int64_t seconds = 0;  // east of UTC
  std::string suffix;        // "Z", "+01:00", or "" for local time
};

// "utc" in any case; "local"; an IANA name. kInvalid for an unknown name.
Result<ZoneOffset> OffsetOf(std::string_view zone, std::int64_t unix_seconds);

// A zone read once, for who asks often. Copies share what was read; safe from any thread.
class TimeZone {
 public:
  // "utc" in any case, or an IANA name ("local" is none: it differs between machines). kInvalid for an unknown name, kUnavailable without
  // a time zone database.
  static Result<TimeZone> Load(std::string_view name);

  const std::string& name() const { return name_; }        // "UTC" for utc, else as it was given
  std::int64_t OffsetAt(std::int64_t unix_seconds) const;  // seconds east of UTC

 private:
  TimeZone(std::string name, std::shared_ptr<const std::string> file) : name_(std::move(name)), file_(std::move(file)) {}
  std::string name_;
  std::shared_ptr<const std::string> file_;  // TZif; null: UTC
};

// The offset at that time out of a TZif file's bytes (RFC 8536). kCorrupt if it is none.
Result<std::int64_t> TzifOffset(std::string_view file, std::int64_t unix_seconds);

// The offset a POSIX TZ rule ("CET-1CEST,M3.5.0,M10.5.0/3") gives at that time. kInvalid if it is none.
Result<std::int64_t> PosixTzOffset(std::string_view rule, std::int64_t unix_seconds);

}  // namespace acl
