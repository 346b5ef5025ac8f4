#include "shared/capability/launchers.h"

#include <algorithm>

namespace acl {

namespace {
constexpr std::string_view kItsPurpose = "its purpose: the program is an argument", kCode = "runs the code it is given";
}  // namespace

const std::vector<Launcher>& Launchers() {
  static const std::vector<Launcher> launchers{
      {"sh", kCode},
      {"bash", kCode},
      {"dash", kCode},
      {"zsh", kCode},
      {"busybox", "holds a shell"},
      {"python", kCode},
      {"python3", kCode},
      {"perl", kCode},
      {"ruby", kCode},
      {"node", kCode},
      {"php", kCode},
      {"lua", kCode},
      {"java", kCode},
      {"npm", "scripts of packages, `npm exec`"},
      {"npx", kItsPurpose},
      {"pip", "code of packages"},
      {"git", "hooks, aliases (`-c alias.x='!CMD'`), `core.sshCommand`, filters, pagers"},
      {"find", "`-exec`, `-execdir`, `-ok`"},
      {"env", kItsPurpose},
      {"xargs", kItsPurpose},
      {"awk", "`system()`, pipes"},
      {"gawk", "`system()`, pipes"},
      {"mawk", "`system()`, pipes"},
      {"sed", "the command `e`, the flag `e` of `s`"},
      {"sort", "`--compress-program`"},
      {"split", "`--filter`"},
      {"install", "`--strip-program`"},
      {"tar", "`--to-command`, `--checkpoint-action`, `-I`"},
      {"zip", "`-TT`"},
      {"cpio", "`--rsh-command`"},
      {"rsync", "`-e`"},
      {"ssh", "`-o ProxyCommand`, and what it runs on the other machine"},
      {"scp", "`-S`, `-o ProxyCommand`"},
      {"sftp", "`-S`, `!`"},
      {"wget", "`--use-askpass`"},
      {"make", "recipes"},
      {"cmake", "`-P`, `-E env`"},
      {"gcc", "`-wrapper`, plugins"},
      {"vi", "`:!`"},
      {"vim", "`:!`"},
      {"ed", "`!`"},
      {"less", "`!`, `LESSOPEN`"},
      {"more", "`!`"},
      {"man", "`-P`, `-H`"},
      {"gdb", "`shell`, any code"},
      {"strace", kItsPurpose},
      {"psql", "`\\!`, `COPY ... PROGRAM` on the server"},
      {"sqlite3", "`.shell`, `.load`"},
      {"openssl", "engines and providers that it loads"},
      {"docker", "containers with the machine's files"},
      {"systemd-run", kItsPurpose},
      {"sudo", kItsPurpose},
      {"su", kItsPurpose},
      {"timeout", kItsPurpose},
      {"nice", kItsPurpose},
      {"nohup", kItsPurpose},
      {"setsid", kItsPurpose},
      {"stdbuf", kItsPurpose},
      {"time", kItsPurpose},
      {"flock", kItsPurpose},
      {"watch", kItsPurpose},
      {"script", "`-c`"},
      {"chroot", kItsPurpose},
      {"unshare", kItsPurpose},
  };
  return launchers;
}

std::vector<std::string> LaunchersAmong(const std::vector<std::string>& programs) {
  std::vector<std::string> among;
  for (const std::string& program : programs) {
    const auto& all = Launchers();
    if (std::any_of(all.begin(), all.end(), [&](const Launcher& one) { return one.name == program; })) among.push_back(program);
  }
  return among;
}

}  // namespace acl
