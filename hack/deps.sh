#!/usr/bin/env bash
# deps.sh [test]: install the programs Mullion needs from the distribution, with "test" also those that only its tests need.
# On Debian and Ubuntu with apt-get; elsewhere name them and stop.
set -euo pipefail

# program or file to look for -> Debian package
needs=(
  "/usr/lib/wine/wine64:wine64"
  "runc:runc"
  "nft:nftables"
  "ip:iproute2"
  "ping:iputils-ping"
  "x86_64-w64-mingw32-gcc:gcc-mingw-w64-x86-64"
  "make:make"
  "git:git"
)
# Tests ask servers with curl, as the guide does.
[ "${1:-}" != test ] || needs+=("curl:curl")
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
  echo "Go is not installed: install Go 1.26 or newer and put it on PATH" >&2; exit 1
fi
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
log=$(mktemp); trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  cat "$log" >&2; echo "apt-get did not install: ${missing[*]}" >&2; exit 1
fi
