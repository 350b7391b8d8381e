#!/usr/bin/env bash
# deps.sh [test|machines|hyperv|ovn|root|lint|list]: install the programs Mullion needs from the distribution, with "test" also those that only its
# tests need, with "machines" those that make and run virtual machines. With "hyperv" those that virtual machines of pods need, with "ovn" those of
# the test with OVN, with "root" what makes a root of Debian (root.sh), with "lint" what lint needs beside Go, and nothing else.
# On Debian and Ubuntu with apt-get; elsewhere name them and stop.
# "list" prints the packages that a machine needs on which Mullion only runs.
set -euo pipefail

# program or file to look for -> Debian package
runs=(
  "/usr/lib/wine/wine64:wine64"
  "/usr/lib/wine/wine64-preloader:wine64-preloader"
  "nft:nftables"
  "ip:iproute2"
  "ping:iputils-ping"
)
if [ "${1:-}" = list ]; then printf '%s\n' "${runs[@]#*:}"; exit 0; fi
needs=(
  "${runs[@]}"
  "x86_64-w64-mingw32-gcc:gcc-mingw-w64-x86-64"
  "gcc:gcc"
  "/usr/include/stdio.h:libc6-dev"
  "/usr/include/seccomp.h:libseccomp-dev"
  "pkg-config:pkg-config"
  "make:make"
  "git:git"
)
# Under the emulation of qemu 7.2, which Debian 12 has, Debian 13's kernel fails at once: its backports have 10.0.
release=
if [ "${1:-}" = machines ]; then
  needs+=("qemu-system-x86_64:qemu-system-x86" "debootstrap:debootstrap" "mke2fs:e2fsprogs")
  qemu=$(qemu-system-x86_64 --version 2>/dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p' || true)
  if [ "${qemu:-0}" -lt 8 ] && grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release; then release=bookworm-backports; fi
fi
# What boots virtual machines of pods. From Debian 13 on virtiofsd is a package of its own; before, hack/hyperv.sh finds it.
if [ "${1:-}" = hyperv ]; then
  needs=("qemu-system-x86_64:qemu-system-x86")
  ! apt-cache show virtiofsd >/dev/null 2>&1 || needs+=("/usr/libexec/virtiofsd:virtiofsd")
fi
if [ "${1:-}" = ovn ]; then
  needs=("ovs-vswitchd:openvswitch-switch" "ovn-northd:ovn-central" "ovn-controller:ovn-host" "ethtool:ethtool" "nft:nftables")
fi
[ "${1:-}" != root ] || needs=("debootstrap:debootstrap")
# Debian 12 has clang-format 14, whose output is meant.
[ "${1:-}" != lint ] || needs=("clang-format:clang-format")
# Tests ask servers with curl, as the guide does, format disks, log in to a target of iSCSI, use shares, and get tickets of Kerberos.
[ "${1:-}" != test ] || needs+=("curl:curl" "mkfs.xfs:xfsprogs" "tgtd:tgt" "smbd:samba" "krb5kdc:krb5-kdc" "kadmin.local:krb5-admin-server")
# The browser that the page of conformance results is looked at in; the test takes chromium or Chrome as well.
if [ "${1:-}" = test ] && ! command -v chromium >/dev/null && ! command -v google-chrome >/dev/null; then
  needs+=("chromium-headless-shell:chromium-headless-shell")
fi
missing=()
for need in "${needs[@]}"; do
  what=${need%%:*}; package=${need#*:}
  if [[ $what == /* ]]; then [ -e "$what" ] || missing+=("$package"); else command -v "$what" >/dev/null || PATH=$PATH:/usr/sbin:/sbin command -v "$what" >/dev/null || missing+=("$package"); fi
done
if ! command -v go >/dev/null; then
  echo "there is no go on PATH or in /usr/local/go/bin: install Go 1.26 or newer. sudo has a PATH of its own: sudo env \"PATH=\$PATH\" make up" >&2; exit 1
fi
[ -z "$release" ] || [[ " ${missing[*]} " == *" qemu-system-x86 "* ]] || missing+=(qemu-system-x86)
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
  echo "Mullion needs these programs (Debian's package names): ${missing[*]}" >&2
  echo "Install them with your distribution's package manager and run this again." >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "Packages are missing: ${missing[*]}" >&2
  echo "Run as root, or: sudo apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
echo "installing with apt-get: ${missing[*]}"
log=$(mktemp); source=/etc/apt/sources.list.d/mullion-backports.list
trap 'rm -f "$log"; [ -z "$release" ] || rm -f "$source"' EXIT
export DEBIAN_FRONTEND=noninteractive
install() {
  local target=()
  apt-get update || return
  if [ -n "$release" ]; then
    # From the server that the machine has its release from; the source is gone again afterwards.
    local server; server=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: ${release%-backports}" | head -n 1)
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $server $release main" >"$source"
    target=(-t "$release")
    apt-get update || return
  fi
  apt-get install -y --no-install-recommends "${target[@]}" "${missing[@]}"
}
if ! install >"$log" 2>&1; then
  cat "$log" >&2; echo "apt-get did not install: ${missing[*]}" >&2; exit 1
fi
# Servers of tests are started by the tests, in network namespaces, and not for the machine's network.
if [ -d /run/systemd/system ]; then
  for service in tgt openvswitch-switch ovn-central ovn-host krb5-kdc krb5-admin-server; do
    [[ " ${missing[*]} " != *" $service "* ]] || systemctl disable --quiet --now "$service"
  done
  [[ " ${missing[*]} " != *" samba "* ]] || systemctl disable --quiet --now smbd nmbd samba-ad-dc
fi
