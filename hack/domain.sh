#!/usr/bin/env bash
# domain.sh: make a root of Debian 13 with Samba's domain controller, which the tests of service accounts use as Active Directory. Debian 12's
# Samba, 4.17, knows no group managed service accounts; nothing of the machine's own is touched. It needs root and debootstrap.
# Environment: MULLION_MACHINES_CACHE.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "making a root needs root: run sudo hack/domain.sh" >&2; exit 1; }
root=${MULLION_MACHINES_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/mullion/machines}/domain-trixie
[ ! -e "$root" ] || exit 0
hack/deps.sh domain
mkdir -p "$(dirname "$root")"
rm -rf --one-file-system "$root.new"
# debootstrap knows no virtual packages: python3-cffi-backend is what python3-cryptography wants.
debootstrap --variant=minbase --include=samba-ad-dc,samba-ad-provision,winbind,samba-common-bin,ldb-tools,python3-cffi-backend trixie "$root.new"
rm -f "$root.new"/var/cache/apt/archives/*.deb
mv "$root.new" "$root"
