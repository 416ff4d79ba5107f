#!/bin/sh
# Runs once, in an empty PostgreSQL: a database and a role each for consensus and for Airflow.
set -eu
for name in reclock airflow; do
    case $name in
        reclock) password=$RECLOCK_DB_PASSWORD ;;
        airflow) password=$AIRFLOW_DB_PASSWORD ;;
    esac
    psql --username "$POSTGRES_USER" --dbname postgres --set ON_ERROR_STOP=1 --set name="$name" --set password="$password" <<'SQL'
CREATE ROLE :"name" LOGIN PASSWORD :'password';
CREATE DATABASE :"name" OWNER :"name";
SQL
done
