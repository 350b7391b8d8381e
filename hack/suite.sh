#!/usr/bin/env bash
# suite.sh [NAME]: run a rung of the tests, or a suite of those that `make test` leaves out, with what it needs installed and built. `make test-NAME` calls it
# with the compiler's flags of everything else, and so does `make conformance-NAME`. Without a name it lists them; "night" lists those of `make nightly`.
# Environment: the variables that the list has in brackets.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin:/sbin

# name | * if `make nightly` runs it | what it is
suites() {
  cat <<'END'
pure                 | | rung pure: no root, nothing built
kernel               | | rung kernel: packets, namespaces, mounts (root)
wine                 | | rung wine: the shims and upstream's .exe files (root, what is built)
cluster              | | rung cluster: what a user does (root, what is built) [RUN=storage,faults or TestDualStack, E2E_DATA_DIR]
conformance          | | rung conformance: suite smoke of Kubernetes' e2e tests
guest                | | the guest side alone: vetted for Windows, its tests on Linux and under Wine
field                |*| the long tests, of whatever rung: the programs of the field
machines             |*| every ordinary machine, emulated: hours [MULLION_MACHINES=bookworm,trixie]
attack-guest         |*| the suite of attacks in a guest that enforces SELinux's policy
attack-each          |*| every way to starve a machine, one after the other
conformance-windows  | | Kubernetes' suite of Windows nodes [CONFORMANCE_FLAGS]
conformance-parallel |*| upstream's suite for a release, in parallel [CONFORMANCE_FLAGS]
conformance-serial   |*| upstream's serial suite [CONFORMANCE_FLAGS]
conformance-hpa      |*| upstream's autoscaling suite [CONFORMANCE_FLAGS]
conformance-storage  |*| upstream's storage suite with a CSI driver: hours [FOCUS, SKIP, CONFORMANCE_FLAGS]
programs             |*| the programs that people run, with each Wine [SUITES="bookworm trixie", MULLION_PROGRAMS=IDs]
wines                |*| the rung wine with the Wine of each release of Debian [SUITES="trixie"]
documents            |*| every sample of the documents [MULLION_DOCUMENTS=IDs]
units                |*| all of upstream's unit tests for Windows
skew                 |*| nodes of three minor versions
fuzz                 |*| every fuzz target, a minute each [TIME=1m, FUZZ=pattern]
chaos                |*| 200 kills by chance [KILLS=200]
overload             |*| fifty pods at once on busy processors, ten times, each with a new cluster: hours [N=10]
ovn                  | | transparent networks carried by OVN, which it installs
release              | | dist's .deb files in fresh roots of Debian [SUITES="bookworm trixie"]
package              | | attacks and upstream's smoke tests on the programs of dist's tarballs
image                | | dist's container image in Docker and Podman of an emulated machine, and in a pod: an hour
END
}

rows() { suites | sed -E 's/ *\|(.)\| /\t\1\t/'; }

build() { go run ./hack/build "$@"; }

# root: refuse to go on without it. These tests leave themselves out then, and nothing would have been tested.
root() {
  [ "$(id -u)" -eq 0 ] || { echo "these tests need root (network namespaces, mounts): run sudo make test-$suite" >&2; exit 1; }
}

# on TAG TIME TEST PACKAGE: run tests of the rung TAG, in at most TIME; TIMES of them, one after the other. One that is not there fails.
on() {
  root
  local listed
  listed=$(go test -vet=off -tags "$1" -list "${3%%/*}" "$4")
  [[ $listed == Test* ]] || { echo "there is no test $3 in $4" >&2; exit 1; }
  go test -count="${TIMES:-1}" -vet=off -tags "$1" -timeout "$2" -v -run "$3" "$4"
}

# quiet: leave out the packages without tests.
quiet() { grep -v -e '\[no test files\]' || true; }

suite=${1:-}
case $suite in
  '') rows | awk -F'\t' '{ printf "%-21s %s\n", $1, $3 }' ;;
  night) rows | awk -F'\t' '$2 == "*" { print $1 "\t" $3 }' ;;
  pure | kernel | wine) hack/test.sh "$1" ;;
  cluster)
    # Scenarios and scripts of TestCluster by their names, on a cluster of their own or on that of E2E_DATA_DIR; or a test by its name.
    case ${RUN:-} in
      '') hack/test.sh cluster ;;
      Test*) on cluster 50m "^$RUN\$" ./test/e2e ;;
      *) E2E_RUN=$RUN on cluster 50m '^TestCluster$' ./test/e2e ;;
    esac ;;
  conformance)
    hack/deps.sh test
    build e2e
    hack/test.sh conformance ;;
  guest)
    build shims
    GOOS=windows go vet ./guest/... ./internal/windows/wire/...
    go test -vet=off ./guest/... ./internal/windows/wire/... | quiet
    go test -count=1 -vet=off -tags wine -timeout 30m ./test/winapi ./test/winrun ;;
  field)
    hack/deps.sh test
    build build sample e2e csi containerd-windows docker-windows registry
    hack/step.sh "root with Samba's domain controller" hack/root.sh domain
    hack/step.sh "root with firewalls" hack/root.sh firewalls
    MULLION_FIELD=${RUN:-} hack/test.sh field ;;
  machines)
    hack/deps.sh machines
    build build sample
    MULLION_MACHINES=${MULLION_MACHINES:-all} hack/test.sh machines ;;
  attack-guest)
    hack/deps.sh machines
    build build sample
    MULLION_MACHINES=trixie-selinux MULLION_MACHINES_STEPS=attacks hack/test.sh machines ;;
  attack-each)
    root
    build build sample
    MULLION_ATTACK_EACH=1 on cluster 60m TestAttacks ./test/attack ;;
  conformance-storage)
    hack/deps.sh
    build build sample e2e csi
    hack/storage.sh ;;
  conformance-*)
    hack/deps.sh
    build build sample e2e
    hack/conformance.sh "${1#conformance-}" ;;
  programs)
    hack/deps.sh machines
    build shims
    # shellcheck disable=SC2086 # names
    hack/try-programs.sh ${SUITES:-bookworm trixie} ;;
  wines)
    hack/deps.sh machines
    build build sample
    # shellcheck disable=SC2086 # names
    hack/try-wine.sh ${SUITES:-trixie} ;;
  documents)
    root
    build build
    MULLION_DOCUMENTS=${MULLION_DOCUMENTS:-all} on cluster 1h '^TestDocuments$' ./test/e2e ;;
  units)
    root
    build shims
    MULLION_UNITS=all on wine 60m . ./test/winunit ;;
  skew)
    root
    build build
    build -kubernetes v1.35.8 bundle
    build -kubernetes v1.34.4 bundle
    on cluster 30m TestVersionSkew ./test/e2e ;;
  fuzz) hack/fuzz.sh "${TIME:-1m}" ${FUZZ:+"$FUZZ"} ;;
  chaos)
    root
    build build sample
    E2E_RUN=chaos E2E_KILLS=${KILLS:-200} on cluster 3h '^TestCluster$' ./test/e2e ;;
  overload)
    root
    build build sample
    TIMES=${N:-10} on cluster 5h '^TestFieldOverload$' ./test/e2e ;;
  ovn)
    root
    hack/deps.sh ovn
    MULLION_OVN=1 on kernel 10m TestTransparentByOVN ./internal/network/dataplane ;;
  release)
    hack/deps.sh machines
    hack/step.sh "test the release tool" go -C hack/release test ./...
    hack/try-plugin.sh
    # shellcheck disable=SC2086 # names
    hack/try-release.sh ${SUITES:-bookworm trixie} ;;
  package) hack/try-package.sh ;;
  image)
    root
    hack/deps.sh machines
    MULLION_IMAGE=$(ls "$PWD"/dist/mullion_*_image.tar)
    export MULLION_IMAGE
    on machines 3h TestImage ./test/machines
    on cluster 1h TestInAPod ./test/e2e ;;
  *)
    echo "there is no suite $1; there are:" >&2
    "$0" >&2
    exit 2 ;;
esac
