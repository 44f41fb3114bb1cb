#!/bin/sh
# Starts systemd with the unit of deploy/systemd, on a copy of this machine's file system: FOLDER SERVER UNIT. FOLDER gets
# what is written, SERVER is the folder that has the server installed. Nothing else of this machine is started or changed.
# To be started with `unshare --mount --pid --net --uts --ipc --cgroup --fork`; systemd is process 1 there.
set -eu
folder=$1 server=$2 unit=$3
root=$folder/root
mkdir -p "$folder/upper" "$folder/work" "$root"
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$root"
mkdir -p "$root/opt/sheaf" "$root/etc/sheaf" "$root/oldroot"
mount --bind "$server" "$root/opt/sheaf"
cp "$unit" "$root/etc/systemd/system/sheaf.service"
(umask 077 && echo a-root-key-for-tests-only > "$root/etc/sheaf/root-key")
echo SHEAF_DISK_RESERVE=1% > "$root/etc/sheaf/environment"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
# Of the boot of a machine nothing is wanted: a restarted unit would wait for it.
mkdir -p "$root/run/systemd/system/sheaf.service.d"
for name in sheaf.service.d/alone.conf alone.target; do
  printf '[Unit]\nDefaultDependencies=no\n' > "$root/run/systemd/system/$name"
done
ip link set lo up
cd "$root"
pivot_root . oldroot
umount -l /oldroot
# systemd makes mounts of its own for secrets, and shows them to services by propagation.
mount --make-rshared /
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  /lib/systemd/systemd --system --unit=alone.target --log-target=null --show-status=0
