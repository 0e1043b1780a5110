#!/bin/sh
# Creates Temporal's databases and brings their tables to the version of this image.
# Every step does nothing when it has been done before. The tool reads SQL_PLUGIN, SQL_HOST,
# SQL_PORT, SQL_USER and SQL_PASSWORD from the environment.
set -eu

schemas=/etc/temporal/schema/postgresql/v12

for kind in temporal visibility; do
  case $kind in
    temporal) database=temporal ;;
    visibility) database=temporal_visibility ;;
  esac
  temporal-sql-tool --db "$database" create
  temporal-sql-tool --db "$database" setup-schema --version 0.0
  temporal-sql-tool --db "$database" update-schema --schema-dir "$schemas/$kind/versioned"
done
