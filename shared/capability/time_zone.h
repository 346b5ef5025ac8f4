#pragma once
// Offsets of IANA time zones from the system's tz database (/usr/share/zoneinfo), safe from any thread (TZ and tzset are not).

#include <cstdint>
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

// The offset at that time out of a TZif file's bytes (RFC 8536). kCorrupt if it is none.
Result<std::int64_t> TzifOffset(std::string_view file, std::int64_t unix_seconds);

// The offset a POSIX TZ rule ("CET-1CEST,M3.5.0,M10.5.0/3") gives at that time. kInvalid if it is none.
Result<std::int64_t> PosixTzOffset(std::string_view rule, std::int64_t unix_seconds);

}  // namespace acl
