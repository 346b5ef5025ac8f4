# What the commands say, and small things all of them use.
say() { printf '%s\n' "dev: $*" >&2; }
die() { printf '%s\n' "dev: $*" >&2; exit 1; }

# private_folder DIR: for the owner alone, whatever the mask. Logs tell of runs and people, and lie beside their files.
private_folder() { (umask 077; mkdir -p "$1"); chmod 700 "$1"; }

# What is fetched or built once for every checkout, by version.
cache_dir=${XDG_CACHE_HOME:-$HOME/.cache}/acl

jobs() { echo "${ACL_JOBS:-$(nproc)}"; }

# with_lock NAME COMMAND...: one at a time in this checkout; says so if it has to wait. Runs in a subshell, whose children do not get the lock.
# What a command calls may ask for the same lock again: it has it already.
held_locks=' '
with_lock() {
  local name=$1; shift
  if [[ $held_locks = *" $name "* ]]; then "$@"; return; fi
  mkdir -p "$local_dir"
  (
    held_locks+="$name "
    flock --nonblock 9 || { say "waiting for another ./dev ($name)"; flock 9; }
    "$@" 9>&-
  ) 9>"$local_dir/lock.$name"
}
