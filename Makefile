# Mullion: Windows nodes for Kubernetes on a Linux machine.
#
#   make up      install what is missing, build, bring up a mixed cluster with a sample
#   make test    every test but the long ones, six rungs (as root; without root only the pure rung)
#   make down    remove every trace of the cluster
#
# Variables: DATA_DIR (state, default /var/lib/mullion), UP_FLAGS (for `mullion up`); those of tests are in the list of hack/suite.sh.
# hack/README.md says which script is behind which target, and what is run without one.

SHELL        := /bin/bash
GO           ?= go
BIN          := $(CURDIR)/bin

# Go's own instructions unpack it here, and sudo's PATH does not have it.
export PATH  := $(PATH):/usr/local/go/bin

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
BUILD = $(GO) run ./hack/build

# Parts that hack/build makes under the same name.
PARTS := build mullion shims kubernetes upstream sample e2e agent agnhost crictl pause e2e.test critest node-suite exporter csi-proxy csi kubeadm flannel \
  calico cyclonus kube-linter containerd-windows docker-windows mullion-nat registry

.DEFAULT_GOAL := build
.PHONY: $(PARTS) bundle hyperv up down test nightly bench deps lint fmt update verify release image clean help

help: ## this list
	@grep -hE '^[^ ]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^\$$\(PARTS\)/NAME/; s/%/NAME/; s/:[^#]*## /\t/' | expand -t 20

up: ## install what is missing, build, bring up a cluster with a Linux node, two Windows nodes and the sample
	@hack/deps.sh
	@$(BUILD) up
	@$(BIN)/mullion --data-dir $(DATA_DIR) up --sample $(UP_FLAGS)

down: ## remove every trace of the cluster
	@if [ -x $(BIN)/mullion ]; then $(BIN)/mullion --data-dir $(DATA_DIR) down; else echo "nothing built, nothing up"; fi

$(PARTS): ## build a part; `make build` is all that a release has (go run ./hack/build -list)
	@$(BUILD) $@

bundle: ## build another version's programs too, for `mullion up --kubernetes-version` (VERSION=v1.35.8)
	@$(BUILD) -kubernetes $(VERSION) bundle

hyperv: ## get what Hyper-V isolation needs: QEMU, and a kernel for guests into bin/ (nothing else needs it)
	@hack/deps.sh hyperv
	@$(BUILD) mullion-vm
	@hack/step.sh "kernel for virtual machines of pods" hack/hyperv.sh $(BIN)/hyperv

test: ## every test but the long ones: pure, kernel, wine, cluster, conformance, one machine
	@hack/deps.sh test
	@$(BUILD) build sample e2e
	@hack/deps.sh machines || true
	@hack/nightly.sh left
	@hack/test.sh pure kernel+wine cluster conformance machines

test-%: ## one rung, or one of the suites that make test leaves out (hack/suite.sh lists them)
	@hack/suite.sh $*

conformance-%: ## a suite of Kubernetes' e2e tests: windows, parallel, serial, hpa, storage (CONFORMANCE_FLAGS)
	@hack/suite.sh conformance-$*

nightly: ## what make test leaves out, before a release: a night and more; how each suite ended is kept in results/nightly.tsv
	@hack/deps.sh test
	@$(BUILD) build sample e2e
	@hack/nightly.sh

bench: build sample kube-linter ## measure the figures, print a table
	@hack/bench.sh

deps: ## install what is missing (Debian packages; elsewhere it names them), also for FOR=test, machines or lint
	@hack/deps.sh $(FOR)

lint: ## golangci-lint with the repository's rules, clang-format with those of guest/c
	@command -v $(CLANG_FORMAT) >/dev/null || { echo "clang-format 14 is not installed, which says whether the C of guest/c is formatted: make deps FOR=lint" >&2; exit 1; }
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

release: ## make dist: packages of Mullion, of its bundle of Kubernetes and of its e2e tests (VERSION=v1.2.3; BUNDLES="v1.35.8" for more; URL=https://…)
	@hack/release.sh '$(VERSION)' '$(KUBE_VERSION)'

image: ## make a container image of dist's .deb files, an archive for docker load and podman load
	@hack/deps.sh machines
	@hack/image.sh '$(VERSION)' "$$(git log -1 --format=%ct)"

clean: ## remove what was built
	rm -rf $(BIN)
