#pragma once
// What a process was started with stands in /proc/PID/environ and /proc/PID/cmdline for as long as it lives, where the programs that
// steps run could read it. Called once the settings are read, before the first thread.

#include "shared/config/settings.h"

namespace acl {

// Overwrites the values of secret settings (and of addresses that hold a password) in the environment and on the command line, and has the
// kernel refuse to show this process's memory to others of its user: no ptrace, no core dump. A worker that runs as root runs programs as
// root too, from whom nothing of this hides the rest of its memory.
void HideSecrets(Program program, int argc, char** argv);

// The parts of it, for tests: `environment` as environ is.
void EraseSecretVariables(char** environment);
void EraseSecretArguments(Program program, int argc, char** argv);

}  // namespace acl
