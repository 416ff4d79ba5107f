#!/bin/sh
# Back up the environment into a new folder of the folder on the command line, now and every BACKUP_EVERY (such as 1d or 6h).
# After each backup, delete those that are older than BACKUP_DAYS days. A folder whose name is a time is a complete backup.
set -eu
while :; do
    name=$(date -u +%Y-%m-%dT%H%M%S)
    rm -rf "$1/unfinished"
    reclock backup "$1/unfinished"
    mv "$1/unfinished" "$1/$name"
    find "$1" -mindepth 1 -maxdepth 1 -mtime "+$BACKUP_DAYS" -exec rm -r {} +
    sleep "$BACKUP_EVERY"
done
