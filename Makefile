# Mullion: Windows nodes for Kubernetes on a Linux machine.
#
#   make up      install what is missing, build, bring up a mixed cluster with a sample
#   make test    every test but the long ones, six rungs (as root; without root only the pure rung)
#   make down    remove every trace of the cluster
#
# Variables: DATA_DIR (state, default /var/lib/mullion), UP_FLAGS (for `mullion up`), CONFORMANCE_FLAGS (for `mullion conformance run`).

SHELL        := /bin/bash
GO           ?= go
BIN          := $(CURDIR)/bin
KUBE_VERSION := v1.37.1
VERSION      ?= v0.1.0-dev+$(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)
DATA_DIR     ?= /var/lib/mullion
UP_FLAGS     ?=

# The version of Debian 12, where its name carries the number too.
CLANG_FORMAT ?= $(or $(shell command -v clang-format-14),clang-format)
C_FILES       = $(shell find guest/c -name '*.[ch]' | sort)

# What everything is compiled with: programs, tests, lint. A package that two of them use is compiled once only if this is the same. Nothing here
# has debug information when it is linked (-s -w), so none is compiled.
export CGO_ENABLED := 0
COMPILE := -trimpath -gcflags=all=-dwarf=false
export GOFLAGS := $(strip $(COMPILE) $(filter-out $(COMPILE),$(GOFLAGS)))

# hack/build has the table of all programs; `go run ./hack/build -list` prints it.
export MULLION_VERSION = $(VERSION)
BUILD   = $(GO) run ./hack/build
LDFLAGS = -s -w -X mullion.dev/mullion/internal/base/version.version=$(VERSION)

# Parts that hack/build makes under the same name.
PARTS := build mullion shims kubernetes upstream agent agnhost crictl e2e.test critest node-suite exporter csi-proxy csi kubeadm flannel calico \
  cyclonus kube-linter containerd-windows

.DEFAULT_GOAL := build
.PHONY: $(PARTS) bundle e2e sample test-build plugins release image up down deps test-deps machines-deps lint-deps help update verify lint fmt clean \
  test test-pure test-kernel test-wine test-cluster test-conformance test-field test-machines test-programs test-documents test-wines test-image \
  nightly guest test-attack-guest test-attack-each test-skew test-units test-release test-package quick fuzz chaos bench picture machine domain hyperv ovn e2e-storage \
  conformance-windows conformance-parallel conformance-serial conformance-hpa

help: ## what the targets do
	@{ printf '%s: ## build a part (go run ./hack/build -list says of what, and why)\n' 'build, mullion, shims, …'; grep -hE '^[a-z0-9.-]+:.*##' $(MAKEFILE_LIST); } | sed -E 's/:[^#]*## /\t/' | expand -t 16

deps: ## install what is missing (Debian packages; elsewhere it names them)
	@hack/deps.sh

test-deps: ## install what is missing for the tests too (a browser, curl)
	@hack/deps.sh test

machines-deps: ## install what makes and runs virtual machines (qemu, debootstrap)
	@hack/deps.sh machines

lint-deps: ## install what lint needs beside Go (clang-format)
	@hack/deps.sh lint

$(PARTS): ## build a part; `make build` is all that a release has (go run ./hack/build -list)
	@$(BUILD) $@

bundle: ## build another version's programs too, for `mullion up --kubernetes-version` (VERSION=v1.35.8)
	@$(BUILD) -kubernetes $(VERSION) bundle

conformance-windows conformance-parallel conformance-serial conformance-hpa: conformance-%: deps test-build ## run a suite of Kubernetes' e2e tests
	@hack/conformance.sh $*

e2e-storage: deps test-build csi ## run Kubernetes' e2e tests of storage for a CSI driver on a Windows node (hours)
	@hack/storage.sh

e2e: ## all that `mullion conformance run` needs
	@$(BUILD) mullion e2e

sample: ## build the sample's image into bin/
	@$(BUILD) sample

test-build: ## build all that the tests need
	@$(BUILD) build sample e2e

plugins: ## build the checker alone, kubectl-mullion, for Linux, macOS and Windows
	@for p in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64; do \
	  case $$p in windows/*) e=.exe;; *) e=;; esac; \
	  hack/step.sh "build kubectl-mullion for $$p" env GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -trimpath -ldflags '$(LDFLAGS)' \
	    -o $(BIN)/plugin/$${p%/*}-$${p#*/}/kubectl-mullion$$e ./cmd/kubectl-mullion || exit 1; \
	done

release: test-build plugins ## make dist: tarball, .deb and .rpm of Mullion, of its bundle of Kubernetes and of its e2e tests, and the checker alone (VERSION=v1.2.3; BUNDLES="v1.35.8" for more bundles; URL=https://… for krew's manifest)
	@for v in $(BUNDLES); do $(BUILD) -kubernetes $$v bundle || exit 1; done
	@mkdir -p dist && rm -f dist/mullion[_-]* dist/kubectl-mullion-* dist/mullion.yaml dist/SHA256SUMS
	@hack/step.sh "build the release tool" $(GO) -C hack/release build -o $(CURDIR)/dist/.release .
	@hack/step.sh "write the manual pages" $(GO) run -ldflags '$(LDFLAGS)' ./hack/man -time "$$(git log -1 --format=%ct)" dist/.man
	@hack/step.sh "make the packages of $(VERSION)" dist/.release -version '$(VERSION)' -kubernetes '$(KUBE_VERSION)' -others '$(BUNDLES)' -url '$(URL)' -man dist/.man -time "$$(git log -1 --format=%ct)"
	@rm -rf dist/.release dist/.man; ls -l dist

image: machines-deps ## make a container image of dist's .deb files, an archive for docker load and podman load
	@hack/image.sh '$(VERSION)' "$$(git log -1 --format=%ct)"

test-release: machines-deps ## install dist's .deb files in fresh roots of Debian and use it (SUITES="bookworm trixie")
	@hack/step.sh "test the release tool" $(GO) -C hack/release test ./...
	@hack/try-plugin.sh
	@hack/try-release.sh $${SUITES:-bookworm trixie}

test-package: ## run the attack suite and upstream's smoke tests on the programs of dist's tarballs
	@hack/try-package.sh

up: deps ## bring up a cluster with a Linux node, two Windows nodes and the sample; it builds what that needs
	@$(BUILD) up
	@$(BIN)/mullion --data-dir $(DATA_DIR) up --sample $(UP_FLAGS)

down: ## remove every trace of the cluster
	@if [ -x $(BIN)/mullion ]; then $(BIN)/mullion --data-dir $(DATA_DIR) down; else echo "nothing built, nothing up"; fi

test: test-deps test-build ## every test but the long ones: pure, kernel, wine, cluster, conformance, one machine
	@hack/deps.sh machines || true
	@hack/nightly.sh left
	@hack/test.sh pure kernel+wine cluster conformance machines

nightly: test-deps test-build ## what make test leaves out, before a release: a night and more; how each part ended is kept in results/nightly.tsv
	@hack/nightly.sh

quick: ## the tests that need no root and nothing built, some five minutes the first time
	@set -o pipefail; $(GO) test -vet=off ./... | { grep -v -e '\[no test files\]' || true; }

guest: shims ## test the guest side alone: vetted for Windows, tested on Linux, its programs and its Windows API under Wine
	GOOS=windows $(GO) vet ./guest/... ./internal/windows/wire/...
	@set -o pipefail; $(GO) test -vet=off ./guest/... ./internal/windows/wire/... | { grep -v -e '\[no test files\]' || true; }
	PATH=$$PATH:/usr/sbin:/sbin $(GO) test -count=1 -vet=off -tags wine -timeout 30m ./test/winapi ./test/winrun

fuzz: ## fuzz what reads images, requests, frames, links and files of others (TIME=1m for each target, FUZZ=pattern)
	@hack/fuzz.sh $${TIME:-1m} $$FUZZ

chaos: build sample ## kill processes of a cluster by chance, with work that must go on (KILLS=200); 200 take some eight minutes
	@E2E_KILLS=$${KILLS:-200} $(GO) test -count=1 -tags cluster -timeout 3h -v -run 'TestCluster/^chaos$$' ./test/e2e

test-conformance: test-deps e2e

test-pure test-kernel test-wine test-cluster test-conformance: test-%: ## one rung
	@hack/test.sh $*

test-field: test-deps test-build domain csi ## the long tests of the rung cluster: by hand, and before a release (half an hour and more)
	@hack/test.sh field

domain: ## make a root of Debian 13 with Samba's domain controller, as Active Directory of the tests (nothing else needs it)
	@hack/deps.sh domain
	@hack/step.sh "root with Samba's domain controller" hack/domain.sh

hyperv: ## get what Hyper-V isolation needs: QEMU, and a kernel for guests into bin/ (nothing else needs it)
	@hack/deps.sh hyperv
	@$(BUILD) mullion-vm
	@hack/step.sh "kernel for virtual machines of pods" hack/hyperv.sh $(BIN)/hyperv

ovn: ## install Open vSwitch and OVN, and have OVN carry transparent networks (a test of the rung kernel)
	@hack/deps.sh ovn
	@MULLION_OVN=1 $(GO) test -count=1 -tags kernel -run TestTransparentByOVN -v ./internal/network/dataplane

test-attack-guest: machines-deps build sample ## the suite of attacks in a guest that enforces SELinux's policy, emulated: half an hour
	@MULLION_MACHINES=trixie-selinux MULLION_MACHINES_STEPS=attacks hack/test.sh machines

test-attack-each: build sample ## every way to starve a machine, each also alone: half an hour
	@MULLION_ATTACK_EACH=1 go test -count=1 -vet=off -tags cluster -timeout 60m -v -run TestAttacks ./test/attack

test-machines: machines-deps build sample ## every ordinary machine, emulated: hours (MULLION_MACHINES=bookworm,trixie for some)
	@MULLION_MACHINES=$${MULLION_MACHINES:-all} hack/test.sh machines

test-programs: machines-deps shims ## the programs that people run, with the Wine of each release of Debian (SUITES="bookworm trixie"; MULLION_PROGRAMS=IDs for some)
	@hack/try-programs.sh $${SUITES:-bookworm trixie}

test-documents: build ## every sample of the documents about Kubernetes on Windows, on a cluster (MULLION_DOCUMENTS=IDs for some)
	@MULLION_DOCUMENTS=$${MULLION_DOCUMENTS:-all} $(GO) test -count=1 -vet=off -tags cluster -timeout 1h -v -run '^TestDocuments$$' ./test/e2e

test-wines: machines-deps build sample ## rung wine with the Wine of each release of Debian, in roots of them (SUITES="trixie")
	@hack/try-wine.sh $${SUITES:-trixie}

test-image: machines-deps ## run dist's container image in Docker and Podman of an emulated machine, and in a pod: an hour
	@MULLION_IMAGE=$$(ls $(CURDIR)/dist/mullion_*_image.tar) $(GO) test -count=1 -tags machines -timeout 3h -v -run TestImage ./test/machines
	@MULLION_IMAGE=$$(ls $(CURDIR)/dist/mullion_*_image.tar) $(GO) test -count=1 -tags cluster -timeout 1h -v -run TestInAPod ./test/e2e

machine: machines-deps build sample ## boot one of them and say how to log in (MACHINE=bookworm)
	@$(GO) run ./hack/machine $(MACHINE)

test-skew: build ## nodes of three minor versions of Kubernetes in one cluster; compiling the two older ones takes a quarter of an hour
	@$(BUILD) -kubernetes v1.35.8 bundle
	@$(BUILD) -kubernetes v1.34.4 bundle
	@$(GO) test -count=1 -tags cluster -timeout 30m -v -run TestVersionSkew ./test/e2e

test-units: shims ## all of upstream's unit tests for Windows under Wine (make test runs most packages)
	@PATH=$$PATH:/usr/sbin:/sbin MULLION_UNITS=all $(GO) test -count=1 -vet=off -tags wine -timeout 60m -v ./test/winunit

picture: test-deps ## take the picture of the page of conformance results in docs anew
	@hack/step.sh "take docs/conformance.png" $(GO) test -count=1 -tags conformance -run TestPagePicture ./internal/conformance/page -args -update

bench: build sample kube-linter ## measure the figures, print a table
	@hack/bench.sh

lint: ## golangci-lint with the repository's rules, clang-format with those of guest/c
	@command -v $(CLANG_FORMAT) >/dev/null || { echo "clang-format 14 is not installed, which says whether the C of guest/c is formatted: make lint-deps" >&2; exit 1; }
	$(CLANG_FORMAT) --dry-run -Werror $(C_FILES)
	@cd hack/lint && $(GO) test ./...
	@$(BUILD) golangci-lint
	$(BIN)/golangci-lint run ./...

fmt: ## format the code
	$(CLANG_FORMAT) -i $(C_FILES)
	$(BIN)/golangci-lint fmt ./...

update: mullion ## write the generated documents
	@hack/update.sh

verify: mullion ## check the generated documents
	@hack/verify.sh

clean: ## remove what was built
	rm -rf $(BIN)
