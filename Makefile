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
C_FILES       = $(shell find shim -name '*.[ch]' | sort)

export CGO_ENABLED := 0

CNI_PKG      := github.com/containernetworking/plugins/plugins
FLANNEL_PKG  := github.com/flannel-io/flannel
FLANNEL_LDFLAGS = -s -w -X $(FLANNEL_PKG)/pkg/version.Version=$(shell $(GO) -C upstream/flannel list -m -f '{{.Version}}' $(FLANNEL_PKG))
KUBE_PKG     := k8s.io/component-base/version
KUBE_LDFLAGS := -s -w \
  -X $(KUBE_PKG).gitVersion=$(KUBE_VERSION) \
  -X $(KUBE_PKG).gitMajor=1 -X $(KUBE_PKG).gitMinor=37 \
  -X $(KUBE_PKG).gitTreeState=clean -X $(KUBE_PKG).gitCommit=$(KUBE_VERSION) \
  -X $(KUBE_PKG).buildDate=1970-01-01T00:00:00Z
KUBE_BUILD    = $(GO) -C upstream/kubernetes build -trimpath -ldflags '$(KUBE_LDFLAGS)'
# As containerd's own Makefile sets it: nodes show it, and upstream's tests read it there.
CONTAINERD_LDFLAGS = -s -w -X github.com/containerd/containerd/v2/version.Version=$(shell \
  $(GO) -C upstream/containerd list -m -f '{{slice .Version 1}}' github.com/containerd/containerd/v2)
# As runc's own Makefile makes a static program, without libpathrs, which Debian has no package of. CGO_ENABLED stands here since it
# is 0 for all else.
RUNC_BUILD = env CGO_ENABLED=1 $(GO) -C upstream/runc build -trimpath -buildmode=pie -tags 'seccomp urfave_cli_no_docs netgo osusergo' \
  -ldflags '-s -w -linkmode external -extldflags -static-pie'
METRICS_LDFLAGS = -s -w -X k8s.io/client-go/pkg/version.gitVersion=$(shell \
  $(GO) -C upstream/metrics-server list -m -f '{{.Version}}' sigs.k8s.io/metrics-server)
EXPORTER_LDFLAGS = -s -w -X github.com/prometheus/common/version.Version=$(shell \
  $(GO) -C upstream/windows-exporter list -m -f '{{slice .Version 1}}' github.com/prometheus-community/windows_exporter)
CSI_PROXY_LDFLAGS = -s -w -X main.version=$(shell \
  $(GO) -C upstream/csi-proxy list -m -f '{{.Version}}' github.com/kubernetes-csi/csi-proxy)
# The module's version is one of a commit of its line v3.28.
CALICO_LDFLAGS = -s -w -X github.com/projectcalico/calico/node/buildinfo.GitVersion=$(shell \
  $(GO) -C upstream/calico list -m -f '{{.Version}}' github.com/projectcalico/calico)
CRI_TOOLS_LDFLAGS = -s -w -X sigs.k8s.io/cri-tools/pkg/version.Version=$(shell \
  $(GO) -C upstream/cri-tools list -m -f '{{.Version}}' sigs.k8s.io/cri-tools)
LDFLAGS := -s -w -X mullion.dev/mullion/internal/base/version.version=$(VERSION)

.DEFAULT_GOAL := build
.PHONY: hyperv ovn domain agent plugins quick image release test-release test-package test-wines test-image fuzz chaos picture test-deps machines-deps lint-deps test-field test-machines test-programs test-documents test-skew machine kube-linter critest node-suite exporter calico cyclonus csi csi-proxy flannel kubeadm test-units e2e e2e.test e2e-images e2e-storage deps build mullion shims kubernetes bundle upstream sample up down test test-pure test-kernel test-wine test-cluster test-conformance conformance-windows conformance-parallel conformance-serial conformance-hpa bench lint fmt verify update clean help

help: ## what the targets do
	@grep -hE '^[a-z0-9.-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

deps: ## install what is missing (Debian packages; elsewhere it names them)
	@hack/deps.sh

test-deps: ## install what is missing for the tests too (a browser, curl)
	@hack/deps.sh test

machines-deps: ## install what makes and runs virtual machines (qemu, debootstrap)
	@hack/deps.sh machines

lint-deps: ## install what lint needs beside Go (clang-format)
	@hack/deps.sh lint

build: mullion shims kubernetes upstream agent ## build everything into bin/

mullion: ## build Mullion's own Linux programs
	@hack/step.sh "build mullion" $(GO) build -ldflags '$(LDFLAGS)' -o $(BIN)/mullion ./cmd/mullion
	@hack/step.sh "build mullion-node, mullion-init, mullion-pause, mullion-vm, kubectl-mullion" $(GO) build -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/mullion-node ./cmd/mullion-init ./cmd/mullion-pause ./cmd/mullion-vm ./cmd/kubectl-mullion
	@hack/step.sh "build mullion-policy" $(GO) build -ldflags '$(LDFLAGS)' -o $(BIN)/cni/ ./cmd/mullion-policy

shims: ## build the DLLs and programs that close gaps in Wine
	@hack/step.sh "build shims" $(MAKE) -s --no-print-directory -C shim OUT=$(BIN)/windows/shim
	@hack/step.sh "build powershell.exe, wintools.exe, mullion-pipe.exe, mullion-service.exe" env GOOS=windows $(GO) build -trimpath -ldflags '-s -w' -o $(BIN)/windows/shim/ ./cmd/powershell ./cmd/wintools ./cmd/mullion-pipe ./cmd/mullion-service

agent: ## build mullion-agent.exe, which joins a Windows Server to a cluster (two minutes the first time)
	@hack/step.sh "build mullion-agent.exe" env GOOS=windows $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/windows/ ./cmd/mullion-agent

kubernetes: ## build Kubernetes' programs for Linux and Windows
	@hack/bundle.sh $(KUBE_VERSION)

bundle: ## build another version's programs too, for `mullion up --kubernetes-version` (VERSION=v1.35.8)
	@hack/bundle.sh $(VERSION)

upstream: ## build upstream's unmodified programs from their pinned modules
	@hack/step.sh "build containerd" $(GO) -C upstream/containerd build -trimpath -ldflags '$(CONTAINERD_LDFLAGS)' -o $(BIN)/ tool
	@hack/step.sh "build runc" $(RUNC_BUILD) -o $(BIN)/ tool
	@# without -trimpath, so that it shares compiled packages with mullion: seconds instead of a minute
	@hack/step.sh "build coredns" $(GO) -C upstream/coredns build -ldflags '-s -w' -o $(BIN)/coredns .
	@# the same
	@hack/step.sh "build metrics-server" $(GO) -C upstream/metrics-server build -ldflags '$(METRICS_LDFLAGS)' -o $(BIN)/ tool
	@hack/step.sh "build CNI plugins (windows)" env GOOS=windows $(GO) -C upstream/cni build -trimpath -ldflags '-s -w' -o $(BIN)/windows/ $(addprefix $(CNI_PKG)/,main/windows/win-bridge main/windows/win-overlay ipam/host-local)
	@hack/step.sh "build crictl.exe" env GOOS=windows $(GO) -C upstream/cri-tools build -trimpath -ldflags '$(CRI_TOOLS_LDFLAGS)' -o $(BIN)/windows/ tool
	@hack/step.sh "build CNI plugins (linux)" $(GO) -C upstream/cni build -trimpath -ldflags '-s -w' -o $(BIN)/cni/ $(addprefix $(CNI_PKG)/,main/ptp meta/portmap ipam/host-local)
	@hack/step.sh "build agnhost.exe $(KUBE_VERSION)" env GOOS=windows $(KUBE_BUILD) -o $(BIN)/windows/ k8s.io/kubernetes/test/images/agnhost
	@hack/step.sh "build agnhost (linux) $(KUBE_VERSION)" $(KUBE_BUILD) -o $(BIN)/linux/ k8s.io/kubernetes/test/images/agnhost

e2e.test: ## build Kubernetes' e2e tests, for `mullion conformance` (the first time two minutes)
	@hack/e2e.sh test

e2e-images: ## build the programs of the e2e tests' images
	@hack/e2e.sh images

critest: mullion ## build critest.exe, for `mullion conformance critest` (a minute more than make build)
	@hack/step.sh "build critest.exe" env GOOS=windows $(GO) -C upstream/cri-tools test -c -vet=off -trimpath -ldflags '$(CRI_TOOLS_LDFLAGS)' -o $(BIN)/e2e/windows/critest.exe sigs.k8s.io/cri-tools/cmd/critest

node-suite: kubernetes ## build Kubernetes' node tests for Windows, for their test (TestNodeSuite of test/cri; a minute and more)
	@hack/step.sh "build e2e_node_windows.test.exe" env GOOS=windows $(GO) -C upstream/kubernetes test -c -vet=off -trimpath -ldflags '-s -w' -o $(BIN)/e2e/windows/e2e_node_windows.test.exe k8s.io/kubernetes/test/e2e_node_windows
	@hack/step.sh "build kube-log-runner.exe" env GOOS=windows $(GO) -C upstream/kubernetes build -trimpath -ldflags '-s -w' -o $(BIN)/e2e/windows/kube-log-runner.exe k8s.io/component-base/logs/kube-log-runner

exporter: ## build windows_exporter.exe, for its test (test/exporter; a minute)
	@hack/step.sh "build windows_exporter.exe" env GOOS=windows $(GO) -C upstream/windows-exporter build -trimpath -ldflags '$(EXPORTER_LDFLAGS)' -o $(BIN)/e2e/windows/windows_exporter.exe tool

csi-proxy: ## build csi-proxy.exe, for examples/csi-proxy and its test (half a minute)
	@hack/step.sh "build csi-proxy.exe" env GOOS=windows $(GO) -C upstream/csi-proxy build -trimpath -ldflags '$(CSI_PROXY_LDFLAGS)' -o $(BIN)/csi-proxy/csi-proxy.exe tool

csi: ## build upstream's CSI sidecars (Linux) and csi-sanity, for their tests (five minutes the first time)
	@hack/csi.sh $(BIN)/csi

kubeadm: ## build kubeadm for both systems, for bare hosts and their test (two minutes the first time)
	@hack/step.sh "build kubeadm $(KUBE_VERSION)" $(KUBE_BUILD) -o $(BIN)/kubernetes/$(KUBE_VERSION)/server/bin/ k8s.io/kubernetes/cmd/kubeadm
	@hack/step.sh "build kubeadm.exe $(KUBE_VERSION)" env GOOS=windows $(KUBE_BUILD) -o $(BIN)/kubernetes/$(KUBE_VERSION)/node/bin/ k8s.io/kubernetes/cmd/kubeadm

flannel: ## build flannel's programs for both systems, for examples/flannel and its test (four minutes the first time)
	@hack/step.sh "build flanneld.exe" env GOOS=windows $(GO) -C upstream/flannel build -trimpath -ldflags '$(FLANNEL_LDFLAGS)' -o $(BIN)/flannel/windows/flanneld.exe $(FLANNEL_PKG)
	@# its backend udp is in C
	@hack/step.sh "build flanneld" env CGO_ENABLED=1 $(GO) -C upstream/flannel build -trimpath -ldflags '$(FLANNEL_LDFLAGS) -linkmode external -extldflags -static' -o $(BIN)/flannel/linux/flanneld $(FLANNEL_PKG)
	@hack/step.sh "build flannel.exe (CNI plugin)" env GOOS=windows $(GO) -C upstream/cni-flannel build -trimpath -ldflags '-s -w' -o $(BIN)/flannel/windows/flannel.exe $(CNI_PKG)/meta/flannel
	@hack/step.sh "build flannel (CNI plugin)" $(GO) -C upstream/cni-flannel build -trimpath -ldflags '-s -w' -o $(BIN)/flannel/linux/flannel $(CNI_PKG)/meta/flannel

calico: ## build Calico for Windows, policies only, for examples/calico and its test (five minutes the first time)
	@hack/step.sh "build calico-node.exe" env GOOS=windows CGO_ENABLED=0 $(GO) -C upstream/calico build -trimpath -ldflags '$(CALICO_LDFLAGS)' -o $(BIN)/calico/windows/calico-node.exe tool
	@hack/step.sh "lay out Calico's scripts" hack/calico.sh $(BIN)/calico

cyclonus: ## build Cyclonus, a judge of NetworkPolicies, for its test (two minutes the first time)
	@hack/step.sh "build cyclonus" $(GO) -C upstream/cyclonus build -trimpath -ldflags '-s -w' -o $(BIN)/cyclonus/cyclonus tool

conformance-windows conformance-parallel conformance-serial conformance-hpa: conformance-%: deps build e2e ## run a suite of Kubernetes' e2e tests
	@hack/conformance.sh $*

e2e-storage: deps build e2e csi ## run Kubernetes' e2e tests of storage for a CSI driver on a Windows node (hours)
	@hack/storage.sh

e2e: mullion e2e.test e2e-images ## all that `mullion conformance run` needs

sample: mullion ## build the sample's image into bin/
	@hack/sample.sh

plugins: ## build the checker alone, kubectl-mullion, for Linux, macOS and Windows
	@for p in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64; do \
	  case $$p in windows/*) e=.exe;; *) e=;; esac; \
	  hack/step.sh "build kubectl-mullion for $$p" env GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -trimpath -ldflags '$(LDFLAGS)' \
	    -o $(BIN)/plugin/$${p%/*}-$${p#*/}/kubectl-mullion$$e ./cmd/kubectl-mullion || exit 1; \
	done

release: build sample e2e plugins ## make dist: tarball, .deb and .rpm of Mullion, of its bundle of Kubernetes and of its e2e tests, and the checker alone (VERSION=v1.2.3; BUNDLES="v1.35.8" for more bundles; URL=https://… for krew's manifest)
	@for v in $(BUNDLES); do hack/bundle.sh $$v || exit 1; done
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

up: deps build sample ## bring up a cluster with a Linux node, two Windows nodes and the sample
	@$(BIN)/mullion --data-dir $(DATA_DIR) up --sample $(UP_FLAGS)

down: ## remove every trace of the cluster
	@if [ -x $(BIN)/mullion ]; then $(BIN)/mullion --data-dir $(DATA_DIR) down; else echo "nothing built, nothing up"; fi

test: test-deps build sample e2e ## every test but the long ones: pure, kernel, wine, cluster, conformance, one machine
	@hack/deps.sh machines || true
	@hack/test.sh pure kernel+wine cluster conformance machines

quick: ## the tests that need no root and nothing built, some five minutes the first time
	@set -o pipefail; $(GO) test -vet=off ./... | { grep -v -e '\[no test files\]' || true; }

fuzz: ## fuzz what reads images, requests, frames, links and files of others (TIME=1m for each target, FUZZ=pattern)
	@hack/fuzz.sh $${TIME:-1m} $$FUZZ

chaos: build sample ## kill processes of a cluster by chance, with work that must go on (KILLS=200); 200 take some eight minutes
	@E2E_KILLS=$${KILLS:-200} $(GO) test -count=1 -tags cluster -timeout 3h -v -run 'TestCluster/^chaos$$' ./test/e2e

test-conformance: test-deps e2e

test-pure test-kernel test-wine test-cluster test-conformance: test-%: ## one rung
	@hack/test.sh $*

test-field: test-deps build sample e2e domain csi ## the long tests of the rung cluster: by hand, and before a release (half an hour and more)
	@hack/test.sh field

domain: ## make a root of Debian 13 with Samba's domain controller, as Active Directory of the tests (nothing else needs it)
	@hack/deps.sh domain
	@hack/step.sh "root with Samba's domain controller" hack/domain.sh

hyperv: ## get what Hyper-V isolation needs: QEMU, and a kernel for guests into bin/ (nothing else needs it)
	@hack/deps.sh hyperv
	@hack/step.sh "kernel for virtual machines of pods" hack/hyperv.sh $(BIN)/hyperv

ovn: ## install Open vSwitch and OVN, and have OVN carry transparent networks (a test of the rung kernel)
	@hack/deps.sh ovn
	@MULLION_OVN=1 $(GO) test -count=1 -tags kernel -run TestTransparentByOVN -v ./internal/network/dataplane

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
	@hack/bundle.sh v1.35.8
	@hack/bundle.sh v1.34.4
	@$(GO) test -count=1 -tags cluster -timeout 30m -v -run TestVersionSkew ./test/e2e

test-units: shims ## all of upstream's unit tests for Windows under Wine (make test runs most packages)
	@PATH=$$PATH:/usr/sbin:/sbin MULLION_UNITS=all $(GO) test -count=1 -vet=off -tags wine -timeout 60m -v ./test/winunit

picture: test-deps ## take the picture of the page of conformance results in docs anew
	@hack/step.sh "take docs/conformance.png" $(GO) test -count=1 -tags conformance -run TestPagePicture ./internal/conformance/page -args -update

bench: build sample kube-linter ## measure the figures, print a table
	@hack/bench.sh

kube-linter: ## build the checker that `make bench` compares with
	@hack/step.sh "build kube-linter" $(GO) -C hack/kubelinter build -ldflags '-s -w' -o $(BIN)/kube-linter tool

lint: ## golangci-lint with the repository's rules, clang-format with those of shim
	@command -v $(CLANG_FORMAT) >/dev/null || { echo "clang-format 14 is not installed, which says whether the C of shim is formatted: make lint-deps" >&2; exit 1; }
	$(CLANG_FORMAT) --dry-run -Werror $(C_FILES)
	@hack/step.sh "build golangci-lint" $(GO) -C hack/lint build -o $(BIN)/golangci-lint tool
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
