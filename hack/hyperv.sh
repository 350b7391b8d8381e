#!/usr/bin/env bash
# hyperv.sh OUT: put into the folder OUT what virtual machines of pods with Hyper-V isolation need beside QEMU: the kernel of Debian's package for
# virtual machines with the modules that a guest loads, and virtiofsd where the distribution has it only within a package of QEMU's. The packages are
# fetched with apt-get and unpacked, not installed.
set -euo pipefail

out=$1
if ! command -v apt-get >/dev/null; then
  echo "hyperv.sh takes the kernel from Debian's packages with apt-get. Elsewhere put a kernel with virtiofs built in at $out/vmlinuz, and its" \
    "modules for virtio_net, if it has it as a module, into $out/modules, named so that they sort as they are loaded." >&2
  exit 1
fi
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
chmod 755 "$work"

# unpack PACKAGE: fetch and unpack a package.
unpack() {
  (cd "$work" && apt-get download "$1" >log 2>&1) || { cat "$work/log" >&2; exit 1; }
  dpkg -x "$work"/*.deb "$work/root"; rm "$work"/*.deb
}
# real PACKAGE: the package that a package without files stands for, if there is one.
real() { apt-cache depends "$1" 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1; }

# 6.12 where there is one: it is the kernel that guests are tested with.
kernel=$(real linux-image-6.12-cloud-amd64); kernel=${kernel:-$(real linux-image-cloud-amd64)}
[ -n "$kernel" ] || { echo "apt-get knows no package linux-image-cloud-amd64: run apt-get update" >&2; exit 1; }
unpack "$kernel"
mkdir -p "$work/new/modules"
cp "$work"/root/boot/vmlinuz-* "$work/new/vmlinuz"
number=0
for module in net/core/failover drivers/net/net_failover drivers/net/virtio_net; do
  for file in "$work"/root/lib/modules/*/kernel/$module.ko* "$work"/root/usr/lib/modules/*/kernel/$module.ko*; do
    [ ! -e "$file" ] || cp "$file" "$work/new/modules/$number-$(basename "$file")"
  done
  number=$((number + 1))
done
if ! [ -e /usr/libexec/virtiofsd ] && ! [ -e /usr/lib/qemu/virtiofsd ]; then
  # Debian 12 has it in qemu 7.2, backports' qemu has not.
  version=$(apt-cache madison qemu-system-common | sed -n 's/^[^|]*| *\(1:7\.[^ ]*\) .*/\1/p' | head -n 1)
  [ -z "$version" ] || unpack "qemu-system-common=$version"
  [ ! -e "$work/root/usr/lib/qemu/virtiofsd" ] || cp "$work/root/usr/lib/qemu/virtiofsd" "$work/new/virtiofsd"
fi
rm -rf "$out"; mkdir -p "$(dirname "$out")"; mv "$work/new" "$out"; chmod 755 "$out"
