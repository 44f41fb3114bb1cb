#!/bin/sh
# As a container engine runs an image with --read-only and --network none: IMAGE DATA SECRETS UID COMMAND...
# To be started with `unshare --mount --pid --net --ipc --uts --fork`; COMMAND is process 1 there.
set -eu
image=$1 data=$2 secrets=$3 uid=$4
shift 4
mount --make-rprivate /
mount --bind "$image" "$image"
mount -t proc proc "$image/proc"
mount -t tmpfs -o mode=755 tmpfs "$image/dev"
for device in null zero random urandom; do
  touch "$image/dev/$device"
  mount --bind "/dev/$device" "$image/dev/$device"
done
mount -t tmpfs -o mode=1777 tmpfs "$image/tmp"
mount -t tmpfs -o mode=755 tmpfs "$image/run"
mkdir "$image/run/secrets"
mount --bind "$secrets" "$image/run/secrets"
mount -o remount,bind,ro "$image/run/secrets"
mount --bind "$data" "$image/var/lib/sheaf"
mount -o remount,bind,ro "$image"
ip link set lo up
# Without capabilities but those that changing root and user takes, which the change of user gives up.
exec setpriv --no-new-privs --bounding-set=-all,+sys_chroot,+setuid,+setgid \
  chroot --userspec="$uid:$uid" --groups= "$image" "$@"
