//go:build wine

package cri

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/errdefs"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/conformance/ginkgo"
	"mullion.dev/mullion/internal/conformance/images"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wine"
)

// suiteFolder is where the suite runs on the host, suiteProgram its program.
const (
	suiteFolder  = `C:\suite`
	suiteProgram = "e2e_node_windows.test.exe"
)

// evictionFlag keeps the suite's kubelet from evicting pods because the machine's disk is more than nine tenths full;
// the memory is what the suite's configurations have.
const evictionFlag = "--eviction-hard=memory.available<100Mi,nodefs.available<256Mi,imagefs.available<256Mi"

// TestNodeSuite runs Kubernetes' own suite of node tests for Windows (k8s.io/kubernetes/test/e2e_node_windows) on a
// Windows host. The suite brings an etcd, an API server and a kubelet, which it makes a service and starts anew with
// other configurations, and takes the CRI server that is here. `make node-suite` builds it. The host shows more
// processors than the machine may have, which most of the specs want. It takes a quarter of an hour; MULLION_NODE_FOCUS
// chooses specs, as a regular expression, MULLION_NODE_LOGS is a folder that gets what the suite writes.
func TestNodeSuite(t *testing.T) {
	built := filepath.Join(root(), "bin", "e2e", "windows")
	if !exists(filepath.Join(built, suiteProgram)) {
		t.Skip("the suite is not built: make node-suite")
	}
	focus := os.Getenv("MULLION_NODE_FOCUS")
	if focus == "" {
		focus = `\[sig-windows\]`
	}

	n := newHostNode(t, spec.Processors{CoresPerSocket: 8})
	n.loadSuiteImages(t)
	n.serveCompute(t)
	endpoint := n.listenInHost(t)
	dir := n.suiteFiles(t, built)
	// The service control manager of Wine does not see that a service's process has ended; with the hooks it does.
	n.onHost(t, wine.RunProgram, "--services")

	// The suite's kubelet depends on a service of this name. Mullion's runtime is none: it runs on Linux.
	n.onHost(t, "sc.exe", "create", "containerd", "binPath=", suiteFolder+`\winprog.exe service containerd`)
	n.onHost(t, "sc.exe", "start", "containerd")
	cmd := n.host.Command(t.Context(), wine.RunProgram, "--cwd", suiteFolder, "--", suiteFolder+`\`+suiteProgram,
		"--bearer-token=0123456789abcdef", "--test.timeout=60m", "--container-runtime-endpoint", endpoint,
		"--prepull-images=false", "--k8s-bin-dir", suiteFolder, "--kubelet-flags",
		"--node-ip=10.250.0.1 "+evictionFlag,
		"--report-dir", suiteFolder, "--ginkgo.json-report", suiteFolder+`\report.json`, "--ginkgo.v", "--ginkgo.no-color",
		"--ginkgo.focus", focus)

	log, err := os.Create(filepath.Join(dir, "suite.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	var exit *exec.ExitError
	if err := n.host.Run(t.Context(), cmd); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}

	keep(t, dir)
	judge(t, filepath.Join(dir, "report.json"))
}

// suiteFiles puts the suite's programs on the host, and returns the folder on this machine.
func (n *node) suiteFiles(t *testing.T, built string) string {
	t.Helper()
	dir, err := wine.UnixPath(n.hostDrive(), suiteFolder)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}

	kubelets, err := filepath.Glob(filepath.Join(root(), "bin", "kubernetes", "*", "node", "bin", "kubelet.exe"))
	if err != nil || len(kubelets) == 0 {
		t.Fatalf("no kubelet.exe: make kubernetes (%v)", err)
	}

	slices.Sort(kubelets)
	for _, file := range []string{
		filepath.Join(built, suiteProgram), filepath.Join(built, "kube-log-runner.exe"),
		kubelets[len(kubelets)-1], filepath.Join(n.machine.dir, "winprog.exe"),
	} {
		data, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(file)), data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	return dir
}

// keep copies what the suite has written, if that is wanted.
func keep(t *testing.T, dir string) {
	t.Helper()
	to := os.Getenv("MULLION_NODE_LOGS")
	if to == "" {
		return
	}

	for _, name := range []string{"suite.log", "kubelet.log", "services.log", "report.json"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, 0o644)
		}
		if err != nil {
			t.Log(err)
		}
	}
}

// judge reads the suite's report: every spec passes.
func judge(t *testing.T, report string) {
	t.Helper()
	data, err := os.ReadFile(report)
	if err != nil {
		t.Fatalf("the suite wrote no report: %v", err)
	}
	var suites []struct{ SpecReports []ginkgo.Report }
	if err := json.Unmarshal(data, &suites); err != nil || len(suites) != 1 {
		t.Fatalf("the suite's report of %d suites: %v", len(suites), err)
	}

	count := map[string]int{}
	for _, one := range suites[0].SpecReports {
		if !one.IsSpec() && one.State != ginkgo.Passed {
			t.Errorf("%s: %s", one.LeafNodeType, one.Failure.Message)
		}
		if !one.Selected() {
			continue
		}

		count[one.State]++
		if one.State != ginkgo.Passed {
			t.Errorf("%s has %s: %s", one.Name(), one.State, one.Failure.Message)
		}
	}

	t.Logf("specs: %v", count)
	if count[ginkgo.Passed] == 0 {
		t.Error("no spec has passed")
	}
}

// listenInHost gives the host's network an address, and the CRI server one on its loopback.
func (n *node) listenInHost(t *testing.T) string {
	t.Helper()
	var l net.Listener
	err := netns.Do(n.host.Netns, func() error {
		for _, line := range []string{
			"link add eth0 type veth peer name peer0", "link set eth0 up", "link set peer0 up",
			"addr add 10.250.0.1/24 dev eth0", "route add default via 10.250.0.254 dev eth0",
		} {
			if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
				return fmt.Errorf("ip %s: %w: %s", line, err, out)
			}
		}

		var err error
		l, err = net.Listen("tcp", "127.0.0.1:10291")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go join(conn, n.address)
		}
	}()

	return "tcp://" + l.Addr().String()
}

// join carries a connection to an address until one side has ended it.
func join(conn net.Conn, address string) {
	defer conn.Close()
	to, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer to.Close()

	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{conn, to}, {to, conn}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			ended <- struct{}{}
		}()
	}

	<-ended
}

func (n *node) loadSuiteImages(t *testing.T) {
	t.Helper()
	store, closer, err := n.images()
	if err != nil {
		t.Fatal(err)
	}
	defer closer()

	loader := images.Loader{Builder: images.NewBuilder(filepath.Join(root(), "bin", "e2e")), Out: io.Discard}
	for _, img := range images.All() {
		if !strings.Contains(img.Refs[0], "/busybox:") && !strings.Contains(img.Refs[0], "/pause:") {
			continue
		}

		err := loader.Put(t.Context(), img, images.Store{
			System: images.Windows,
			Digest: func(string) (string, error) { return "", errdefs.ErrNotFound },
			Load: func(archive io.Reader) error {
				data, err := io.ReadAll(archive)
				if err != nil {
					return err
				}
				_, err = store.Load(t.Context(), bytes.NewReader(data), image.LoadOptions{})
				return err
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
