#!/bin/bash
# Base backups and the write-ahead log of ACL's database, and the way back to any moment since the first of them
# (docs/operate/backup.md). Run it as the user that PostgreSQL runs as, on PostgreSQL's machine.
#
#   backup.sh prepare  URL WAL               once: the server archives its log into the folder WAL from its next restart on
#   backup.sh base     URL BACKUPS           every night: a copy of the whole server in BACKUPS/base-TIME, checked when it is there
#   backup.sh restore  BASE WAL DATA [TIME]  after the disaster: makes the data directory DATA as it was at TIME (none: as late as WAL knows)
#
# URL is that of a superuser. It holds a password: leave it out of the command line and say - to have it taken from ADMIN_DATABASE_URL.
set -euo pipefail

die() { echo "backup.sh: $*" >&2; exit 1; }
usage() { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
url() { [ "$1" = - ] && echo "${ADMIN_DATABASE_URL:?set it, or name the URL}" || echo "$1"; }
# PostgreSQL's own programs, where Debian keeps them; the newest of several versions.
program() {
  command -v "$1" || ls -d /usr/lib/postgresql/*/bin/"$1" 2>/dev/null | sort -V | tail -n 1 | grep . || die "$1 is not installed"
}
# In a text of PostgreSQL's settings and in a command line of its shell a path is only safe if it is plain.
plain() { [[ $1 =~ ^/[A-Za-z0-9._/@+-]+$ ]] || die "\"$1\" must be an absolute path of letters, digits and ._/@+-"; }

prepare() {
  local wal=$2
  plain "$wal"
  [ -d "$wal" ] && [ -w "$wal" ] || die "the folder $wal is not there, or $(id -un) may not write to it"
  # A file is whole before it has its name, and one that is there is never written over.
  psql -Xq -v ON_ERROR_STOP=1 -d "$(url "$1")" <<SQL
ALTER SYSTEM SET archive_mode = on;
ALTER SYSTEM SET archive_timeout = '60s';
ALTER SYSTEM SET archive_command = 'test ! -f $wal/%f && cp %p $wal/%f.part && sync $wal/%f.part && mv $wal/%f.part $wal/%f';
SQL
  echo "restart PostgreSQL; then it archives into $wal at least once a minute while anything is written"
}

base() {
  local into
  [ -d "$2" ] || die "the folder $2 is not there"
  into=$2/base-$(date -u +%Y%m%dT%H%M%SZ)
  "$(program pg_basebackup)" -d "$(url "$1")" -D "$into.part" --wal-method=stream --checkpoint=fast --manifest-checksums=SHA256
  "$(program pg_verifybackup)" --quiet "$into.part" || die "the backup is not what the server sent: $into.part"
  mv "$into.part" "$into"
  echo "$into"
}

restore() {
  local base=$1 wal=$2 data=$3 time=${4:-}
  plain "$wal"; plain "$data"
  [ -f "$base/backup_manifest" ] || die "$base is no base backup: it has no backup_manifest"
  [ -d "$wal" ] || die "the folder $wal is not there"
  [ ! -e "$data" ] || die "$data is there: move it away (keep it: what was not archived is only there), or name another folder"
  [ -z "$time" ] || [[ $time =~ ^[0-9T:.\ +Z-]+$ ]] || die "\"$time\" is no time: say 2026-11-28 03:10:00+00"
  "$(program pg_verifybackup)" --quiet "$base" || die "the backup is damaged: take an earlier one"
  cp -a "$base" "$data.part"
  chmod 700 "$data.part"
  {
    echo "restore_command = 'cp $wal/%f %p'"
    [ -z "$time" ] || echo "recovery_target_time = '$time'"
    echo "recovery_target_action = 'promote'"
  } >>"$data.part/postgresql.auto.conf"
  touch "$data.part/recovery.signal"
  mv "$data.part" "$data"
  echo "start PostgreSQL on $data; when it takes writes: airun db new-epoch, before any process of ACL is started"
}

case ${1:-} in
  prepare) [ $# = 3 ] || usage; prepare "$2" "$3" ;;
  base) [ $# = 3 ] || usage; base "$2" "$3" ;;
  restore) [ $# = 4 ] || [ $# = 5 ] || usage; restore "$2" "$3" "$4" "${5:-}" ;;
  *) usage ;;
esac
