package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"mullion.dev/mullion/internal/base/version"
)

// step makes programs of one module for one system. Its fields are data: nothing runs until it is built.
type step struct {
	// name is what a person calls it, why what it is for.
	name, why string
	// sets are those who need it.
	sets []string
	// needs are the steps before it; they come before it in the table.
	needs []string
	// system is linux or windows, for which it compiles; c for the DLLs, data for what only copies.
	system string
	// module is the folder of its Go module, "" for Mullion's own. modfile is used there in place of go.mod.
	module, modfile string
	packages        []string
	// to is where the programs go, below bin: a folder with a slash at its end, or a file.
	to string
	// test: the program is the tests of a package (`go test -c`).
	test bool
	// flags are further ones of the go command, ldflags those of the linker, which may name a module's version as
	// {MODULE}, and Mullion's as {version}.
	flags   []string
	ldflags string
	// cgo: the program is linked with C libraries, statically.
	cgo bool
	// links are further names of a program: name and what it is a link to, below bin.
	links map[string]string
	// run is a command in place of the go command, at the root of the checkout.
	run []string
}

const (
	kubernetesVersion = version.Kubernetes
	cniPlugins        = "github.com/containernetworking/plugins/plugins/"
	kubernetes        = "upstream/cluster/kubernetes"
	oldKubernetes     = kubernetes + "-1.20"
	oldContainerd     = "upstream/cluster/containerd-1.7"
	strip             = "-s -w"
	mullionLD         = strip + " -X mullion.dev/mullion/internal/base/version.version={version}"
	flannel           = "github.com/flannel-io/flannel"
	testImages        = "k8s.io/kubernetes/test/images/"
)

// table returns all that can be built. Within a system the largest comes first, so that what the small ones share with
// it is there when they begin.
func table() []step {
	return slices.Concat(bundle(kubernetesVersion, "", linuxModfile), own(), upstream(), tests(), fields())
}

// linuxModfile has the versions that Mullion's own module has of what both use, where these are newer: so each
// package is compiled once for all programs of Linux. The programs for Windows have exactly upstream's.
const linuxModfile = "linux.mod"

// kubernetesLD returns the flags with which Kubernetes' programs say their version, as its own build sets them.
func kubernetesLD(version string) string {
	const pkg = "k8s.io/component-base/version"
	minor := strings.TrimPrefix(semver.MajorMinor(version), "v1.")
	values := [][2]string{
		{"gitVersion", version},
		{"gitMajor", "1"},
		{"gitMinor", minor},
		{"gitTreeState", "clean"},
		{"gitCommit", version},
		{"buildDate", "1970-01-01T00:00:00Z"},
	}

	flags := []string{strip}
	for _, v := range values {
		flags = append(flags, fmt.Sprintf("-X %s.%s=%s", pkg, v[0], v[1]))
	}

	return strings.Join(flags, " ")
}

// bundle returns the programs of a version of Kubernetes.
func bundle(version, windowsModfile, linuxModfile string) []step {
	dir := "kubernetes/" + version
	suffix := ""
	in := []string{"up", "build", "kubernetes"}
	if version != kubernetesVersion {
		suffix, in = "-"+version, []string{"bundle"}
	}

	links := map[string]string{}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy"} {
		links[dir+"/server/bin/"+name] = "hyperkube"
	}

	return []step{
		{
			name: "hyperkube" + suffix, why: "control plane, etcd, kubelet and kube-proxy in one, and kubectl, " + version, sets: in,
			system: "linux", module: kubernetes, modfile: linuxModfile,
			packages: []string{"./hyperkube", "k8s.io/kubernetes/cmd/kubectl"},
			to:       dir + "/server/bin/", ldflags: kubernetesLD(version), links: links,
		},
		{
			name: "kubelet.exe" + suffix, why: "kubelet.exe and kube-proxy.exe " + version + ", for Windows nodes", sets: in,
			system: "windows", module: kubernetes, modfile: windowsModfile,
			packages: []string{"k8s.io/kubernetes/cmd/kubelet", "k8s.io/kubernetes/cmd/kube-proxy"},
			to:       dir + "/node/bin/", ldflags: kubernetesLD(version),
		},
	}
}

// bundleOf returns the steps of another version of Kubernetes, whose module file `go run ./hack/kubemod` has written.
func bundleOf(root, version string) ([]step, error) {
	if version == kubernetesVersion {
		return nil, nil
	}
	files, err := filepath.Glob(filepath.Join(root, kubernetes, "*.mod"))
	if err != nil {
		return nil, err
	}

	var there []string
	for _, file := range files {
		got, err := versionIn(file, "k8s.io/kubernetes")
		if err != nil {
			return nil, err
		}
		if got == version {
			name := filepath.Base(file)
			return bundle(version, name, name), nil
		}
		there = append(there, got)
	}

	old, err := versionIn(filepath.Join(root, oldKubernetes, "go.mod"), "k8s.io/kubernetes")
	if err != nil {
		return nil, err
	}
	if old == version {
		return oldBundle(version), nil
	}

	there = append(there, old)
	semver.Sort(there)
	return nil, fmt.Errorf("no module file of %s has k8s.io/kubernetes %s; there are %s; `go run ./hack/kubemod %s` writes one",
		kubernetes, version, strings.Join(slices.Compact(there), ", "), version)
}

// oldBundle returns the programs of Kubernetes 1.20, which has a module, a hyperkube and an etcd of its own, and of the
// containerd and the CNI plugin that its Linux nodes need.
func oldBundle(version string) []step {
	// Where linux.mod looks for the source.
	const source = ".kubernetes-1.20"
	steps := []step{{
		name: "source-" + version, why: "the source of Kubernetes " + version + " with what its build generates", sets: []string{"bundle"},
		system: "data", run: []string{"go", "run", "./hack/kubeopenapi", oldKubernetes, "{bin}/" + source},
	}}

	for _, s := range bundle(version, "", linuxModfile) {
		s.module = oldKubernetes
		// Its programs ask each of the two for their version.
		s.ldflags += strings.ReplaceAll(strings.TrimPrefix(s.ldflags, strip), "k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
		if s.system == "linux" {
			s.needs = []string{"source-" + version}
		}
		steps = append(steps, s)
	}

	const containerd = "github.com/containerd/containerd"
	return append(steps,
		step{
			name: "containerd-" + version, why: "containerd 1.7 with its shim, whose CRI the kubelet of " + version + " calls on Linux nodes",
			sets: []string{"bundle"}, system: "linux", module: oldContainerd, packages: []string{"tool"},
			to:      "kubernetes/" + version + "/server/bin/",
			flags:   []string{"-tags=no_btrfs,no_devmapper,no_zfs,no_aufs"},
			ldflags: strip + " -X " + containerd + "/version.Version={" + containerd + " bare}",
		},
		step{
			name: "CNI plugin loopback", why: "of those Linux nodes, since containerd 1.7 does not do it itself", sets: []string{"bundle"},
			system: "linux", module: "upstream/cluster/cni", packages: []string{cniPlugins + "main/loopback"}, to: "cni/", ldflags: strip,
		})
}

// versionIn returns the version of a module that a go.mod requires.
func versionIn(file, module string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	parsed, err := modfile.ParseLax(file, text, nil)
	if err != nil {
		return "", err
	}

	for _, r := range parsed.Require {
		if r.Mod.Path == module {
			return r.Mod.Version, nil
		}
	}

	return "", fmt.Errorf("%s does not require %s", file, module)
}

// noTrace leaves golang.org/x/net/trace out of gRPC (https://pkg.go.dev/google.golang.org/grpc, trace_notrace.go). Its
// pages are templates: with them the linker keeps every exported method (package fieldtemplate says why).
const noTrace = "-tags=grpcnotrace"

// own returns the steps that build Mullion's programs.
func own() []step {
	return []step{
		{
			name: "mullion", why: "the command, and what it starts on a node and in a container",
			sets: []string{"up", "build", "mullion", "e2e"}, system: "linux",
			packages: []string{
				"./cmd/mullion", "./cmd/mullion-node", "./cmd/mullion-init", "./cmd/mullion-pause",
			},
			to: "./", ldflags: mullionLD, flags: []string{noTrace},
		},
		{
			name: "mullion-nat", why: "the network of single containers (`mullion run`)",
			sets: []string{"build", "e2e"}, system: "linux",
			packages: []string{"./cmd/mullion-nat"}, to: "./", ldflags: mullionLD,
		},
		{
			name: "mullion-policy", why: "the CNI plugin that holds a pod until its policies are there",
			sets: []string{"up", "build", "mullion", "e2e"}, system: "linux",
			packages: []string{"./cmd/mullion-policy"}, to: "cni/", ldflags: mullionLD,
		},
		{
			name: "mullion-vm", why: "virtual machines of pods with Hyper-V isolation",
			sets: []string{"build", "hyperv"}, system: "linux",
			packages: []string{"./cmd/mullion-vm"}, to: "./", ldflags: mullionLD,
		},
		{
			name: "kubectl-mullion", why: "the checker alone, as a plugin of kubectl",
			sets: []string{"build"}, system: "linux",
			packages: []string{"./cmd/kubectl-mullion"}, to: "./", ldflags: mullionLD,
		},
		{
			name: "shims", why: "DLLs and programs in C that close gaps of Wine", sets: []string{"up", "build", "shims"}, system: "c",
			run: []string{"make", "-s", "--no-print-directory", "-C", "guest/c", "-j{jobs}", "OUT={bin}/windows/shim"},
		},
		{
			name: "guest programs", why: "powershell.exe, cmd.exe and the small programs of Windows", sets: []string{"up", "build", "shims"},
			system: "windows", packages: []string{"./guest/cmd/powershell", "./guest/cmd/cmd", "./guest/cmd/wintools", "./guest/cmd/mullion-pipe", "./guest/cmd/mullion-service"},
			to: "windows/shim/", ldflags: strip,
		},
		{
			name: "sample", why: "the image of the sample, win-webserver", needs: []string{"mullion"}, sets: []string{"up", "sample"},
			system: "data", run: []string{"hack/sample.sh"},
		},
		{
			name: "packed prefix", why: "what Wine makes at its first start, so that `up` need not wait for it",
			needs: []string{"mullion"}, sets: []string{"up", "build"}, system: "data",
			run: []string{"bin/mullion", "prepare", "--if-wine", "--dir", "{bin}/wine"},
		},
		{
			name: "mullion-agent.exe", why: "joins a Windows Server to a cluster", sets: []string{"build", "agent"}, system: "windows",
			packages: []string{"./cmd/mullion-agent"}, to: "windows/", ldflags: mullionLD,
		},
	}
}

// upstream returns upstream's unmodified programs, from their pinned modules.
func upstream() []step {
	const containerd, coredns, metrics = "github.com/containerd/containerd/v2", "upstream/cluster/coredns", "sigs.k8s.io/metrics-server"
	in := []string{"up", "build", "upstream"}

	return []step{
		{
			name: "containerd", why: "the engine of all containers, and its shim of runc", sets: in, system: "linux",
			module: "upstream/cluster/containerd", packages: []string{"tool"}, to: "./",
			// As containerd's own Makefile sets it: nodes show it, and upstream's tests read it there.
			ldflags: strip + " -X " + containerd + "/version.Version={" + containerd + " bare}",
		},
		{
			name: "runc", why: "starts containers", sets: in, system: "linux", module: "upstream/cluster/runc", packages: []string{"tool"},
			// As runc's own Makefile makes a static program, without libpathrs, which Debian has no package of.
			to: "./", cgo: true, flags: []string{"-buildmode=pie", "-tags=seccomp,urfave_cli_no_docs,netgo,osusergo"},
			ldflags: strip + " -linkmode external -extldflags -static-pie",
		},
		{
			name: "coredns", why: "the cluster's DNS", sets: in, system: "linux", module: coredns, packages: []string{"."},
			to: "coredns", ldflags: strip,
		},
		{
			name: "metrics-server", why: "figures of pods and nodes", sets: in, system: "linux",
			module: "upstream/cluster/metrics-server", packages: []string{"tool"}, to: "./",
			ldflags: strip + " -X k8s.io/client-go/pkg/version.gitVersion={" + metrics + "}",
		},
		{
			name: "CNI plugins", why: "win-bridge.exe, win-overlay.exe, host-local.exe", sets: in, system: "windows", module: "upstream/cluster/cni",
			packages: []string{cniPlugins + "main/windows/win-bridge", cniPlugins + "main/windows/win-overlay", cniPlugins + "ipam/host-local"},
			to:       "windows/", ldflags: strip,
		},
		{
			name: "CNI plugins (linux)", why: "ptp, portmap and host-local of Linux nodes", sets: in, system: "linux", module: "upstream/cluster/cni",
			packages: []string{cniPlugins + "main/ptp", cniPlugins + "meta/portmap", cniPlugins + "ipam/host-local"},
			to:       "cni/", ldflags: strip,
		},
		{
			name: "crictl.exe", why: "crictl for Windows hosts; a host that is made without it has none", system: "windows",
			sets:   []string{"build", "upstream", "crictl"},
			module: "upstream/cluster/cri-tools", packages: []string{"tool"}, to: "windows/",
			ldflags: strip + " -X sigs.k8s.io/cri-tools/pkg/version.Version={sigs.k8s.io/cri-tools}",
		},
		{
			name: "pause.exe (pauseImage)", why: "the pause image of nodes with `pauseImage` or containerd.exe", sets: []string{"build", "upstream", "pause", "containerd-windows"}, system: "c",
			run: []string{"hack/pause.sh", "{bin}/windows/pause.exe"},
		},
		{
			name: "wincat.exe (pauseImage)", why: "the same image", sets: []string{"build", "upstream", "pause", "containerd-windows"}, system: "windows",
			module: kubernetes, packages: []string{"k8s.io/kubernetes/build/pause/windows/wincat"}, to: "windows/", ldflags: strip,
		},
		{
			name: "agnhost.exe", why: "the pods of `mullion net test`", sets: []string{"build", "upstream", "agnhost"}, system: "windows",
			module: kubernetes, packages: []string{testImages + "agnhost"}, to: "windows/",
			ldflags: kubernetesLD(kubernetesVersion),
		},
		{
			name: "agnhost", why: "the Linux pods of `mullion net test`", sets: []string{"build", "upstream", "agnhost"}, system: "linux",
			module: kubernetes, modfile: linuxModfile, packages: []string{testImages + "agnhost"}, to: "linux/",
			ldflags: kubernetesLD(kubernetesVersion),
		},
	}
}

// tests returns the programs of Kubernetes' own tests.
func tests() []step {
	ld := kubernetesLD(kubernetesVersion)
	images := []string{testImages + "agnhost", testImages + "resource-consumer", testImages + "resource-consumer/consume-cpu"}
	const tools = "upstream/cluster/cri-tools"

	return []step{
		{
			name: "e2e.test", why: "Kubernetes' e2e tests, for `mullion conformance`", sets: []string{"e2e"}, system: "linux",
			module: kubernetes, modfile: linuxModfile, test: true, packages: []string{"k8s.io/kubernetes/test/e2e"},
			to: "e2e/e2e.test", ldflags: ld,
		},
		{
			name: "images of e2e.test (windows)", why: "programs of its images", sets: []string{"e2e"}, system: "windows",
			module: kubernetes, packages: images, to: "e2e/windows/", ldflags: ld,
		},
		{
			name: "images of e2e.test (linux)", why: "programs of its images", sets: []string{"e2e"}, system: "linux",
			module: kubernetes, modfile: linuxModfile, packages: images, to: "e2e/linux/", ldflags: ld,
		},
		{
			name: "busybox.exe", why: "the shell and small programs of its images", sets: []string{"e2e"}, system: "windows",
			module: "test/images", packages: []string{"./busybox"}, to: "e2e/windows/", ldflags: strip,
		},
		{
			name: "busybox", why: "the shell and small programs of its images", sets: []string{"e2e"}, system: "linux",
			module: "test/images", packages: []string{"./busybox"}, to: "e2e/linux/", ldflags: strip,
		},
		{
			name: "data of e2e.test", why: "files of its images", sets: []string{"e2e"}, system: "data",
			run: []string{"hack/e2edata.sh"},
		},
		{
			name: "critest.exe", why: "`mullion conformance critest`", sets: []string{"critest"}, needs: []string{"mullion"}, system: "windows",
			module: tools, test: true, packages: []string{"sigs.k8s.io/cri-tools/cmd/critest"}, to: "e2e/windows/critest.exe",
			ldflags: strip + " -X sigs.k8s.io/cri-tools/pkg/version.Version={sigs.k8s.io/cri-tools}",
		},
		{
			name: "e2e_node_windows.test.exe", why: "Kubernetes' node tests for Windows (TestNodeSuite of test/cri)",
			sets: []string{"node-suite"}, system: "windows", module: kubernetes, test: true,
			packages: []string{"k8s.io/kubernetes/test/e2e_node_windows"}, to: "e2e/windows/e2e_node_windows.test.exe",
			ldflags: strip,
		},
		{
			name: "kube-log-runner.exe", why: "the same tests", sets: []string{"node-suite"}, system: "windows", module: kubernetes,
			packages: []string{"k8s.io/component-base/logs/kube-log-runner"}, to: "e2e/windows/kube-log-runner.exe",
			ldflags: strip,
		},
		{
			name: "kubeadm", why: "bare hosts and their test", sets: []string{"kubeadm"}, system: "linux", module: kubernetes,
			modfile: linuxModfile, packages: []string{"k8s.io/kubernetes/cmd/kubeadm"},
			to: "kubernetes/" + kubernetesVersion + "/server/bin/", ldflags: ld,
		},
		{
			name: "kubeadm.exe", why: "bare hosts and their test", sets: []string{"kubeadm"}, system: "windows", module: kubernetes,
			packages: []string{"k8s.io/kubernetes/cmd/kubeadm"},
			to:       "kubernetes/" + kubernetesVersion + "/node/bin/", ldflags: ld,
		},
	}
}

// fields returns the programs of the field that examples and tests run.
func fields() []step {
	const (
		containerd = "github.com/containerd/containerd/v2"
		moby       = "github.com/moby/moby/v2"
		dockerCLI  = "github.com/docker/cli"
		criDockerd = "github.com/Mirantis/cri-dockerd"

		distribution  = "github.com/distribution/distribution/v3"
		dockerCompose = "github.com/docker/compose/v5"
	)

	steps := []step{
		{
			name: "windows_exporter.exe", why: "its test (test/exporter)", sets: []string{"exporter"}, system: "windows",
			module: "upstream/test/windows-exporter", packages: []string{"tool"}, to: "e2e/windows/windows_exporter.exe",
			ldflags: strip + " -X github.com/prometheus/common/version.Version={github.com/prometheus-community/windows_exporter bare}",
		},
		{
			name: "csi-proxy.exe", why: "examples/csi-proxy and its test", sets: []string{"csi-proxy"}, system: "windows",
			module: "upstream/test/csi-proxy", packages: []string{"tool"}, to: "csi-proxy/csi-proxy.exe",
			ldflags: strip + " -X main.version={github.com/kubernetes-csi/csi-proxy}",
		},
		{
			name: "containerd.exe", why: "nodes with runtime: containerd, and their tests (TestFieldContainerd)", sets: []string{"containerd-windows"}, system: "windows",
			module: "upstream/cluster/containerd", packages: []string{containerd + "/cmd/containerd", containerd + "/cmd/ctr"}, to: "containerd-windows/",
			ldflags: strip + " -X " + containerd + "/version.Version={" + containerd + " bare}",
		},
		{
			name: "containerd-shim-runhcs-v1.exe", why: "the same nodes and tests", sets: []string{"containerd-windows"}, system: "windows",
			module: "upstream/test/hcsshim", packages: []string{"tool"}, to: "containerd-windows/containerd-shim-runhcs-v1.exe", ldflags: strip,
		},
		{
			name: "dockerd.exe", why: "`mullion docker up`, and their test (TestFieldDocker)", sets: []string{"docker-windows"}, system: "windows",
			module: "upstream/test/moby", packages: []string{"tool"}, to: "docker-windows/dockerd.exe",
			ldflags: strip + " -X " + moby + "/dockerversion.Version={" + moby + " bare}",
		},
		{
			name: "registry", why: "the registry of images beside a cluster (`mullion up --registry`)", sets: []string{"registry"}, system: "linux",
			module: "upstream/test/registry", packages: []string{"tool"}, to: "registry",
			ldflags: strip + " -X " + distribution + "/version.version={" + distribution + "}",
		},
		{
			name: "docker", why: "the same engine, from Linux (`mullion docker up`)", sets: []string{"docker-windows"}, system: "linux",
			module: "upstream/test/docker-cli", packages: []string{"tool"}, to: "docker-windows/docker",
			flags:   []string{"-gcflags=" + dockerCLI + "/...=-lang=go1.26"},
			ldflags: strip + " -X " + dockerCLI + "/cli/version.Version={" + dockerCLI + " bare}",
		},
		{
			name: "docker-compose", why: "the same engine, and its test (TestFieldDockerUp)", sets: []string{"docker-windows"}, system: "linux",
			module: "upstream/test/compose", packages: []string{"tool"}, to: "docker-windows/cli-plugins/docker-compose",
			ldflags: strip + " -X " + dockerCompose + "/internal.Version={" + dockerCompose + "}",
		},
		{
			name: "docker.exe", why: "the same test", sets: []string{"docker-windows"}, system: "windows",
			module: "upstream/test/docker-cli", packages: []string{"tool"}, to: "docker-windows/docker.exe",
			// Its module has no go.mod, so that the go command takes it for one of Go 1.16.
			flags:   []string{"-gcflags=" + dockerCLI + "/...=-lang=go1.26"},
			ldflags: strip + " -X " + dockerCLI + "/cli/version.Version={" + dockerCLI + " bare}",
		},
		{
			name: "cri-dockerd.exe", why: "Docker for a kubelet of today; its test (TestFieldCRIDockerd)", sets: []string{"docker-windows"},
			system: "windows", module: "upstream/test/cri-dockerd", packages: []string{"tool"}, to: "docker-windows/cri-dockerd.exe",
			ldflags: strip + " -X " + criDockerd + "/cmd/version.Version={" + criDockerd + " bare}",
		},
		{
			name: "flanneld", why: "examples/flannel and its test; its backend udp is in C", sets: []string{"flannel"}, system: "linux",
			module: "upstream/test/flannel", packages: []string{flannel}, to: "flannel/linux/flanneld", cgo: true,
			ldflags: strip + " -X " + flannel + "/pkg/version.Version={" + flannel + "} -linkmode external -extldflags -static",
		},
		{
			name: "flanneld.exe", why: "examples/flannel and its test", sets: []string{"flannel"}, system: "windows",
			module: "upstream/test/flannel", packages: []string{flannel}, to: "flannel/windows/flanneld.exe",
			ldflags: strip + " -X " + flannel + "/pkg/version.Version={" + flannel + "}",
		},
		{
			name: "flannel", why: "its CNI plugin", sets: []string{"flannel"}, system: "linux", module: "upstream/test/cni-flannel",
			packages: []string{cniPlugins + "meta/flannel"}, to: "flannel/linux/flannel", ldflags: strip,
		},
		{
			name: "flannel.exe", why: "its CNI plugin", sets: []string{"flannel"}, system: "windows", module: "upstream/test/cni-flannel",
			packages: []string{cniPlugins + "meta/flannel"}, to: "flannel/windows/flannel.exe", ldflags: strip,
		},
		{
			name: "calico-node.exe", why: "examples/calico and its test", sets: []string{"calico"}, system: "windows",
			module: "upstream/test/calico", packages: []string{"tool"}, to: "calico/windows/calico-node.exe",
			// The module's version is one of a commit of its line v3.28.
			ldflags: strip + " -X github.com/projectcalico/calico/node/buildinfo.GitVersion={github.com/projectcalico/calico}",
		},
		{
			name: "scripts of Calico", why: "as in upstream's image", sets: []string{"calico"}, system: "data",
			run: []string{"hack/calico.sh", "{bin}/calico"},
		},
		{
			name: "cyclonus", why: "a judge of NetworkPolicies, for its test", sets: []string{"cyclonus"}, system: "linux",
			module: "upstream/test/cyclonus", packages: []string{"tool"}, to: "cyclonus/cyclonus", ldflags: strip,
		},
		{
			name: "kube-linter", why: "the checker that `make bench` compares with", sets: []string{"kube-linter"}, system: "linux",
			module: "hack/kubelinter", packages: []string{"tool"}, to: "kube-linter", ldflags: strip,
		},
		{
			name: "golangci-lint", why: "`make lint`, and `make test` before rung pure, with hack/lint/breathe", sets: []string{"golangci-lint"}, system: "linux",
			module: "hack/lint", packages: []string{"."}, to: "golangci-lint",
		},
	}

	return append(steps, csi()...)
}

// csi returns the steps that build upstream's CSI sidecars for Linux, and csi-sanity.
func csi() []step {
	const module = "github.com/kubernetes-csi/"
	var steps []step
	for _, p := range []struct{ module, command, to string }{
		{"external-provisioner/v6", "csi-provisioner", "csi/linux/"},
		{"external-attacher/v4", "csi-attacher", "csi/linux/"},
		{"external-resizer/v2", "csi-resizer", "csi/linux/"},
		{"external-snapshotter/v8", "csi-snapshotter", "csi/linux/"},
		{"external-snapshotter/v8", "snapshot-controller", "csi/linux/"},
		{"csi-test/v5", "csi-sanity", "csi/"},
	} {
		steps = append(steps, step{
			name: p.command, why: "tests of CSI", sets: []string{"csi"}, system: "linux", module: "upstream/test/csi",
			packages: []string{path.Join(module+p.module, "cmd", p.command)}, to: p.to,
			ldflags: strip + " -X main.version={" + module + p.module + "}",
		})
	}

	return append(steps, step{
		name: "manifests of CSI", why: "tests of CSI", sets: []string{"csi"}, system: "data",
		run: []string{"hack/csi.sh", "{bin}/csi"},
	})
}

// toolsIn returns the packages that a go.mod names as tools; none if it cannot be read, which the go command says
// better.
func toolsIn(file string) []string {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	parsed, err := modfile.Parse(file, text, nil)
	if err != nil {
		return nil
	}

	var all []string
	for _, t := range parsed.Tool {
		all = append(all, t.Path)
	}

	return all
}
