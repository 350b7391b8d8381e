#!/usr/bin/env bash
# try-release.sh SUITE...: install the Debian packages of dist/ in a fresh root of each release of Debian, as README says, and use it: a cluster comes up,
# the sample answers, the cluster goes; the GitHub action does the same; the packages go, and nothing of either is left. It needs root and debootstrap.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "making a root needs root: run sudo make test-release" >&2; exit 1; }
packages=(dist/mullion_*_amd64.deb)
[ -e "${packages[0]}" ] || { echo "there is no package in dist: make release" >&2; exit 1; }
[ ${#packages[@]} -eq 1 ] || { echo "dist has several packages: remove the old ones" >&2; exit 1; }
packages+=(dist/mullion-kubernetes-*_amd64.deb) # a bundle of each minor version

# The first process of the new root, in mount and PID namespaces of its own: all programs and mounts end with it. A user namespace, which every Windows
# container has, cannot be made in a mere chroot.
if [ "${1:-}" = --init ]; then
  root=$2
  mount --bind "$root" "$root"
  cd "$root"
  mount -t proc proc proc
  mount --rbind /sys sys
  mount --rbind /dev dev
  mount -t tmpfs tmpfs run
  pivot_root . mnt
  exec chroot . sh -c 'umount -l /mnt; exec sleep infinity'
fi

init='' work=''
# A cluster's links and tables are the machine's: they outlive the root's processes.
cleanup() { [ -z "$init" ] || inside mullion down >/dev/null 2>&1 || true; [ -z "$init" ] || kill -9 "$init" 2>/dev/null || true; [ -z "$work" ] || rm -rf --one-file-system "$work"; }
trap cleanup EXIT

inside() { nsenter -t "$init" -m -p -r -w env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@"; }
quiet() { "$@" >>"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; return 1; }; }
# All files but what apt and dpkg keep of themselves, logs, caches, and the kubeconfig's folder, which is the user's.
files() {
  inside find / -xdev \( -path /tmp -o -path /var/log -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /root/.kube \) -prune \
    -o ! -path /etc/ld.so.cache -print | sort
}
try() {
  local suite=$1 root=$work/root unshared address
  echo "== $suite: debootstrap"
  quiet debootstrap --variant=minbase "$suite" "$root"
  unshare --mount --pid --fork --kill-child "$0" --init "$root" 2>>"$work/log" & unshared=$!
  until init=$(pgrep -P "$unshared" -x sleep); do kill -0 "$unshared" || return 1; sleep 0.1; done
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"; chmod 755 "$root/usr/sbin/policy-rc.d"
  quiet inside apt-get -q update
  # What Mullion depends on is there before, so that what is compared is its own.
  # shellcheck disable=SC2046 # a list
  quiet inside apt-get -q install -y --no-install-recommends $(hack/deps.sh list)
  files >"$work/before"
  echo "== $suite: apt-get install ${packages[*]#dist/}"
  cp "${packages[@]}" "$root/tmp/"
  quiet inside apt-get -q install -y "${packages[@]/#dist//tmp}"
  inside mullion version
  inside mullion up --sample | tail -n 12
  inside mullion kubectl get nodes -o wide
  address=$(inside mullion kubectl get pods -l app=win-webserver -o 'jsonpath={.items[0].status.podIP}')
  echo "== $suite: GET http://$address/"
  curl -fsS --retry 5 --retry-all-errors "http://$address/"
  inside mullion down | tail -n 1
  echo "== $suite: the steps of action.yml"
  mkdir "$root/tmp/action" "$root/tmp/job"
  cp -r action.yml actions hack examples "$root/tmp/action/"
  CGO_ENABLED=0 go build -o "$root/tmp/runaction" ./hack/runaction
  inside /tmp/runaction -temp /tmp/job -input "package=$(inside sh -c 'ls /tmp/mullion*.deb')" -input windows-versions=ltsc2025 \
    -input check=/tmp/action/examples/win-webserver.yaml /tmp/action >"$work/action.log" || { tail -n 50 "$work/action.log" >&2; return 1; }
  grep -E '^(==|output|Cluster)' "$work/action.log"
  inside /tmp/runaction -temp /tmp/job /tmp/action/actions/logs >>"$work/action.log"
  inside sh -c 'cd /tmp/job/mullion-logs && find . -type f | sort | head -n 12 && grep -q . logs/kube-apiserver.log objects/nodes.yaml'
  inside mullion down | tail -n 1
  quiet inside apt-get -q purge -y mullion "mullion-kubernetes-*"
  files >"$work/after"
  if ! diff "$work/before" "$work/after"; then echo "$suite: these files differ after all is gone" >&2; return 1; fi
  echo "== $suite: nothing is left"
}
for suite in "$@"; do
  work=$(mktemp -d)
  try "$suite"
  cleanup; init='' work=''
done
