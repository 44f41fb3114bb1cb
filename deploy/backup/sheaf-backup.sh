#!/bin/sh
# A backup of a running server, for cron or a timer; docs/guide/backup-and-restore.md explains it.
#   sheaf-backup.sh night   a whole backup, night-<time>
#   sheaf-backup.sh hour    hour-<time>: what has changed since the newest complete night-<time>
#   sheaf-backup.sh check   reads the newest of them, with what it adds to, and compares all of it with its sums
#   sheaf-backup.sh prune 7 removes those of them from before the newest night that is at least 7 days old and lacks nothing
# The last two run where the backups are: SHEAF_BACKUP_FOLDER names their folder. With SHEAF_ARCHIVE, check reads the archive, too.
# It needs the command `sheaf` (SHEAF, if that is not in PATH), and SHEAF_URL and SHEAF_KEY as every command does.
# It prints nothing unless something is wrong, so that cron sends mail only then.
set -eu
sheaf=${SHEAF:-sheaf}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Runs a command, and prints what it said only if it failed.
quietly() {
  "$@" >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
  }
}

# Of the complete backups of this script, newest first: the lines that an expression of JavaScript makes of them.
pick() {
  made=$("$sheaf" backup list --json)
  printf '%s' "$made" | node -e '
    const all = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
    const made = all.filter(({ name, state }) => state === "complete" && /^(night|hour)-/.test(name));
    const nights = made.filter(({ name }) => name.startsWith("night-"));
    for (const { name } of eval(process.argv[1])) console.log(name);' "$1"
}

usage() {
  echo "usage: $0 night|hour|check, or $0 prune DAYS" >&2
  exit 2
}

time=$(date -u +%Y%m%dT%H%M%SZ)
case ${1:-} in
night) quietly "$sheaf" backup "night-$time" ;; # Fails, too, where a damaged collection could not be copied.
hour)
  base=$(pick 'nights.slice(0, 1)')
  if [ -z "$base" ]; then
    echo "there is no complete backup night-… to add to: run $0 night" >&2
    exit 1
  fi
  quietly "$sheaf" backup "hour-$time" --incremental "$base"
  ;;
check)
  folder=${SHEAF_BACKUP_FOLDER:?must name the folder of the backups}
  newest=$(pick 'made.slice(0, 1)')
  if [ -z "$newest" ]; then
    echo "there is no complete backup night-… or hour-… to check: run $0 night" >&2
    exit 1
  fi
  if [ -n "${SHEAF_ARCHIVE:-}" ]; then set -- --archive "$SHEAF_ARCHIVE"; else set --; fi
  quietly "$sheaf" backup verify "$folder/$newest" "$@"
  ;;
prune)
  folder=${SHEAF_BACKUP_FOLDER:?must name the folder of the backups}
  case ${2:-} in '' | *[!0-9]*) usage ;; esac
  # Hours before nights, for they add to them; and no night that one of the hours that stay adds to.
  old=$(pick "(() => {
    const oldest = nights.find((one) => one.damaged === 0 && Date.parse(one.finished_at) <= Date.now() - Number('$2') * 86400000);
    if (oldest === undefined) return [];
    const isOld = (one) => Date.parse(one.finished_at) < Date.parse(oldest.started_at);
    const kept = new Set(made.filter((one) => !isOld(one)).map((one) => one.incremental));
    const old = made.filter((one) => isOld(one) && !kept.has(one.name));
    return [...old.filter((one) => !nights.includes(one)), ...old.filter((one) => nights.includes(one))];
  })()")
  # One that is needed by a backup of another name stays, and the others go all the same.
  failed=0
  for name in $old; do (quietly "$sheaf" backup remove "$folder/$name") || failed=1; done
  exit "$failed"
  ;;
*) usage ;;
esac
