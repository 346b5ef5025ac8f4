#include "shared/config/hide_secrets.h"

#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "shared/config/settings_table.h"

namespace acl {

namespace {

// An address may hold a password.
bool IsSecret(const SettingRow& row) { return row.secret || row.name == "database_url"; }

void Erase(char* value) { ::explicit_bzero(value, ::strlen(value)); }

}  // namespace

void EraseSecretVariables(char** environment) {
  for (char** item = environment; *item != nullptr; ++item) {
    const std::string_view text = *item;
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const bool secret = std::any_of(SettingsTable().begin(), SettingsTable().end(), [&](const SettingRow& row) {
      return IsSecret(row) && !row.flag_only && row.Environment() == text.substr(0, equals);
    });
    if (secret) Erase(*item + equals + 1);
  }
}

void EraseSecretArguments(Program program, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    for (const SettingRow& row : SettingsTable()) {
      if ((row.programs & unsigned(program)) == 0 || !IsSecret(row)) continue;
      const std::string flag = row.Flag();
      const std::string_view argument = argv[i];
      if (argument == flag && i + 1 < argc) Erase(argv[i + 1]);
      if (argument.starts_with(flag + "=")) Erase(argv[i] + flag.size() + 1);
    }
  }
}

void HideSecrets(Program program, int argc, char** argv) {
  EraseSecretVariables(environ);
  EraseSecretArguments(program, argc, argv);
  ::prctl(PR_SET_DUMPABLE, 0);
}

}  // namespace acl
