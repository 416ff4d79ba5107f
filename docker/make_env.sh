#!/bin/sh
# Write docker/.env: .env.example with a random value for each secret. Changes nothing if docker/.env is there.
set -eu
cd "$(dirname "$0")"
if [ -e .env ]; then
    echo "docker/.env is there; it stays as it is" >&2
    exit 0
fi
umask 077
while read -r line; do
    case $line in
        AIRFLOW_FERNET_KEY=) echo "$line$(head -c 32 /dev/urandom | base64 | tr '+/' '-_')" ;;
        [A-Z]*=) echo "$line$(head -c 24 /dev/urandom | od -An -v -tx1 | tr -d ' \n')" ;;
        *) echo "$line" ;;
    esac
done < .env.example > .env.unfinished
mv .env.unfinished .env
