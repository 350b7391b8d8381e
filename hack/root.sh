#!/usr/bin/env bash
# root.sh NAME: make a root of Debian 13 with programs that tests use and the machine shall not have, in the cache folder; nothing of the machine's own is
# touched. It needs root and debootstrap. Environment: MULLION_MACHINES_CACHE.
#   domain     Samba's domain controller, the Active Directory of service accounts: Debian 12's Samba, 4.17, knows no group managed ones
#   firewalls  what changes a machine's firewall beside a cluster: ufw, firewalld, Docker and nftables' service
set -euo pipefail
cd "$(dirname "$0")/.."
# debootstrap knows no virtual packages: some are named that only others want.
case ${1:-} in
  domain) packages=samba-ad-dc,samba-ad-provision,winbind,samba-common-bin,ldb-tools,python3-cffi-backend ;;
  firewalls) packages=nftables,iptables,iproute2,procps,ufw,firewalld,dbus,libpam-systemd,docker.io,runc ;;
  *) echo "usage: hack/root.sh domain|firewalls" >&2; exit 2 ;;
esac
[ "$(id -u)" -eq 0 ] || { echo "making a root needs root: run sudo hack/root.sh $1" >&2; exit 1; }
root=${MULLION_MACHINES_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/mullion/machines}/$1-trixie
[ ! -e "$root" ] || exit 0
hack/deps.sh root
mkdir -p "$(dirname "$root")"
rm -rf --one-file-system "$root.new"
debootstrap --variant=minbase --include="$packages" trixie "$root.new"
rm -f "$root.new"/var/cache/apt/archives/*.deb
mv "$root.new" "$root"
