#!/usr/bin/env bash
# vuln.sh [package|symbol]: the known vulnerabilities of the packages that our programs are built of, by Go's own
# govulncheck; with symbol, of the functions that they can call, which takes long. The database is a copy: the Go module
# golang.org/x/vulndb, which comes from the module proxy as all modules do; VULNDB=VERSION asks for another than the
# newest. The exit code is 1 if there are any, and 2 if it could not be looked.
set -uo pipefail
cd "$(dirname "$0")/.."
scan=${1:-package}
fail() { echo "vuln: $*" >&2; exit 2; }

module=$(cd / && go mod download -json "golang.org/x/vulndb@${VULNDB:-latest}") || fail "the database cannot be had: $module"
field() { sed -n "s/^\t\"$1\": \"\(.*\)\",$/\1/p" <<<"$module"; }
database=$(field Dir)/data/osv
[ -d "$database" ] || fail "golang.org/x/vulndb $(field Version) has no data/osv"

tools=$(mktemp -d) && trap 'rm -rf "$tools"' EXIT
GOBIN=$tools go install golang.org/x/vuln/cmd/govulncheck@v1.9.0 || fail "govulncheck cannot be built"

echo "== govulncheck v1.9.0 of each $scan, $(go env GOVERSION), database $(field Version)"
rc=0
for system in linux windows; do
  packages=(./cmd/...)
  [ $system = linux ] || packages=(./guest/cmd/...)
  out=$(GOOS=$system "$tools/govulncheck" -db "file://$database" -scan "$scan" "${packages[@]}" 2>&1)
  code=$?
  case $code in
    0) echo "ok   ${packages[*]}" ;;
    3)
      rc=1
      echo "FOUND ${packages[*]}"
      awk '/^Vulnerability #/ { id = $3; text = ""; getline; while ($0 !~ /More info:/) { sub(/^ +/, ""); text = text " " $0; getline } }
        /Found in:/ { found = $3 }
        /Fixed in:/ { printf "     %s %s, fixed in %s:%s\n", id, found, $3, text }' <<<"$out"
      ;;
    *) fail "$out" ;;
  esac
done
exit $rc
