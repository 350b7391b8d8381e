#!/usr/bin/env bash
# try-plugin.sh: the checker alone, of dist/: unpack it for this machine and run it, install it by krew from its manifest if dist has one, and run it as a
# hook of pre-commit if that is installed.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
dist=$PWD/dist example=$PWD/examples/win-webserver.yaml
tarball=$(ls dist/kubectl-mullion-*-linux-"$(go env GOARCH)".tar.gz)
tar -xzf "$tarball" -C "$work" --strip-components=1
[ "$(find "$work" -type f | wc -l)" -eq 4 ] || { echo "$tarball has other files than four" >&2; exit 1; }
check() { # runs it on manifests with and without errors
  "$@" check --offline "$example" >"$work/out" || { cat "$work/out" >&2; return 1; }
  if "$@" check --offline examples/check >"$work/out" 2>&1; then echo "no error is found in examples/check" >&2; return 1; fi
}
check "$work/kubectl-mullion"
echo "== unpacked: $("$work/kubectl-mullion" check --help | head -n 1)"
if [ -e dist/mullion.yaml ]; then
  hack/step.sh "build krew" go -C hack/krew build -o "$work/krew" tool
  KREW_ROOT=$work/root "$work/krew" install --manifest="$dist/mullion.yaml" --archive="$dist/$(basename "$tarball")" >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; exit 1; }
  check "$work/root/bin/kubectl-mullion"
  echo "== installed by krew"
fi
if command -v pre-commit >/dev/null; then
  git init -q "$work/repo"; cp "$example" "$work/repo/"; git -C "$work/repo" add .
  commit=$(git rev-parse HEAD)
  printf 'repos:\n- repo: %s\n  rev: %s\n  hooks: [{id: mullion-check, args: [--offline]}]\n' "$PWD" "$commit" >"$work/repo/.pre-commit-config.yaml"
  (cd "$work/repo" && PATH=$work:$PATH PRE_COMMIT_HOME=$work/home pre-commit run --all-files) || { echo "the hook fails" >&2; exit 1; }
  echo "== run as a hook of pre-commit"
fi
