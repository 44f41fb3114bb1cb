#!/bin/sh
# A backup of a running server, for cron or a timer; docs/guide/backup-and-restore.md explains it.
#   sheaf-backup.sh night   a whole backup, night-<time>
#   sheaf-backup.sh hour    hour-<time>: what has changed since the newest complete night-<time>
# It needs the command `sheaf` (SHEAF, if that is not in PATH), and SHEAF_URL and SHEAF_KEY as every command does.
# It prints nothing unless something is wrong, so that cron sends mail only then.
set -eu
sheaf=${SHEAF:-sheaf}
name=${1:-}-$(date -u +%Y%m%dT%H%M%SZ)

case ${1:-} in
night) set -- ;;
hour)
  made=$("$sheaf" backup list --json)
  base=$(printf '%s' "$made" | node -e '
    const made = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
    const base = made.find(({ name, state }) => state === "complete" && name.startsWith("night-"));
    if (base) console.log(base.name);')
  if [ -z "$base" ]; then
    echo "there is no complete backup night-… to add to: run $0 night" >&2
    exit 1
  fi
  set -- --incremental "$base"
  ;;
*)
  echo "usage: $0 night|hour" >&2
  exit 2
  ;;
esac

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# A failure, or a damaged collection that could not be copied.
if ! "$sheaf" backup "$name" "$@" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
