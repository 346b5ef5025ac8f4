#!/bin/bash
# schema_dump.sh URL: the schema of a database as text that two equal schemas share: tables, constraints, indexes, functions, views, triggers,
# policies, grants, owners and storage, without what a runner keeps for itself. migrations/schema.sql is its answer for a new database.
set -euo pipefail
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/postgres.sh"
"$pg_bin/pg_dump" --schema-only --exclude-table=schema_migrations --exclude-table=migration_checksums --exclude-table=schema_objects -d "$1" |
  grep -vE '^(--$|-- (Name|Dumped|PostgreSQL)|\\|SET |SELECT pg_catalog\.set_config)' | cat -s | sed -e '1{/^$/d}' -e '${/^$/d}'
