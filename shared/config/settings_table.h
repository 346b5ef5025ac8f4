#pragma once
// The table of settings (settings.h) as the parser reads it.

#include <functional>

#include "shared/config/settings.h"

namespace acl {

struct SettingRow {
  std::string name;        // snake case; ACL_NAME in the environment, --name on the command line
  unsigned programs = 0;   // Program bits
  std::string value_name;  // "MS", "HOST:PORT" ...; empty: a switch
  std::string doc;
  std::function<Status(Settings&, std::string_view)> set;
  std::function<std::string(const Settings&)> show;
  bool secret = false;     // never printed; a password inside a URL is masked in any case
  bool flag_only = false;  // an act, not a setting: no environment variable

  std::string Flag() const;         // --lease-ttl-ms
  std::string Environment() const;  // ACL_LEASE_TTL_MS
};

const std::vector<SettingRow>& SettingsTable();

// Rules that hold between settings; fills what follows from others. kInvalid with one line a rule.
Status CompleteSettings(Settings& settings, const std::map<std::string, std::string>& from);

}  // namespace acl
