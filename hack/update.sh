#!/usr/bin/env bash
# update.sh [FOLDER [RULES [PROBES]]]: write the generated documents: one page for each table of `mullion support`
# (docs/compat, or FOLDER), the rules of `mullion check` (docs/check-rules.md, or RULES), and the probes of
# `mullion diagnose` (docs/diagnose.md, or PROBES). The numbers that README.md and others quote follow (hack/figures).
# Environment: MULLION, the program (default: bin/mullion, which is built first, since one of an older source would write
# older documents).
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${MULLION:-}" ]; then go run ./hack/build mullion >&2; fi
mullion=${MULLION:-bin/mullion}
folder=${1:-docs/compat}
rules=${2:-docs/check-rules.md}
probes=${3:-docs/diagnose.md}
tables=$("$mullion" __complete support "" 2>/dev/null | grep -v '^:')
mkdir -p "$folder"
rm -f "$folder"/*.md
index=$folder/README.md
cat >"$index" <<'END'
# What works, what partly, what not

Printed by `mullion support`; `make update` writes these pages, `make verify` compares them.

END
for table in $tables; do
  {
    printf '# Support: %s\n\nPrinted by `mullion support %s -o markdown`; `make update` writes it.\n\n' "$table" "$table"
    "$mullion" support "$table" -o markdown
  } >"$folder/$table.md"
  printf -- '- [%s](%s.md)\n' "$table" "$table" >>"$index"
done
go run ./hack/shells >"$folder/shells.md"
printf -- '- [shells](shells.md): PowerShell and cmd.exe, by construct, cmdlet and class\n' >>"$index"
go run ./hack/machine table docs/compat/machines >"$folder/machines.md"
printf -- '\n[Machines](machines.md) that Mullion was tried on: distributions, kernels, hardening.\n' >>"$index"
go run ./hack/programs docs/compat/programs >"$folder/programs.md"
printf -- '\n[Programs](programs.md) that Mullion was tried with, each by several checks.\n' >>"$index"
go run ./hack/documents docs/compat/documents >"$folder/documents.md"
printf -- '\n[Documents](documents.md): what becomes of every sample in the documents about Kubernetes on Windows.\n' >>"$index"
go run ./hack/documents statements >"$folder/statements.md"
printf -- '\n[Statements](statements.md): what these documents say, statement by statement, and what of it is so here.\n' >>"$index"
"$mullion" check rules -o markdown >"$rules"
"$mullion" diagnose probes -o markdown >"$probes"
if [ "$folder" = docs/compat ]; then go run ./hack/figures; fi
