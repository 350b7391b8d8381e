//go:build cluster || conformance

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/test/built"
)

// cluster is a cluster that tests have brought up, with the folders of the person who did. Of a cluster of several
// machines it is one machine's part.
type cluster struct {
	bin, data, kubeconfig, home string
	nodeAddress                 *string // the first Windows node's, asked for once
	netns                       string  // the network namespace that is the machine; "" is this one
}

// newCluster returns a cluster with folders of its own, which is not up yet.
func newCluster(t *testing.T) cluster {
	t.Helper()
	bin := built.Dir(t)
	dir := t.TempDir()
	return cluster{
		bin:         bin,
		data:        filepath.Join(dir, "data"),
		kubeconfig:  filepath.Join(dir, "kubeconfig"),
		home:        dir,
		nodeAddress: new(string),
	}
}

// givenCluster returns the cluster that is up in E2E_DATA_DIR, while a test is written, and whether there is one; else
// a cluster as newCluster does.
func givenCluster(t *testing.T) (c cluster, given bool) {
	t.Helper()
	c = newCluster(t)
	data := os.Getenv("E2E_DATA_DIR")
	if data == "" {
		return c, false
	}
	c.data, c.kubeconfig = data, filepath.Join(data, "e2e-kubeconfig")
	return c, true
}

// bringUp brings up the cluster that the text of a cluster.yaml describes, until the test ends. It returns what
// `mullion up` said. A cluster that does not come up ends the test.
func (c cluster) bringUp(t *testing.T, text string, args ...string) string {
	t.Helper()
	c.downAfter(t)
	out, err := c.mullion(t.Context(), t, append([]string{"up", "-f", c.file(t, "cluster.yaml", text)}, args...)...)
	if err != nil {
		t.Fatalf("mullion up: %v\n%s", err, out)
	}
	return out
}

// downAfter takes the cluster down at the end of the test, when it must leave nothing. Of a test that has failed it
// prints the logs first.
func (c cluster) downAfter(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			logs(t, c)
		}
		c.takeDown(t)
	})
}

// file writes a file of the test's, and returns its path.
func (c cluster) file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(c.home, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// on returns the command line that runs args on the cluster's machine.
func (c cluster) on(args ...string) []string {
	if c.netns == "" {
		return args
	}
	return append([]string{"nsenter", "--net=" + c.netns, "--"}, args...)
}

// path is where the cluster's operator looks for programs.
func (c cluster) path() string { return c.bin + ":" + os.Getenv("PATH") + ":/usr/sbin:/sbin" }

func (c cluster) env() []string {
	return append(os.Environ(),
		"PATH="+c.path(),
		"MULLION_DATA_DIR="+c.data, "KUBECONFIG="+c.kubeconfig, "HOME="+c.home)
}

// mullion runs the program and returns what it printed.
func (c cluster) mullion(ctx context.Context, t *testing.T, args ...string) (string, error) {
	t.Helper()
	args = c.on(append([]string{filepath.Join(c.bin, "mullion")}, args...)...)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = c.env()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// processes returns the cluster's processes with their command lines: those that carry its marker, and those in its
// containers.
func (c cluster) processes(t *testing.T) map[int]string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}

	out := map[int]string{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}

		dir := filepath.Join("/proc", e.Name())
		environ, _ := os.ReadFile(filepath.Join(dir, "environ")) // a process that has ended belongs to nobody
		cgroup, _ := os.ReadFile(filepath.Join(dir, "cgroup"))
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if len(command) == 0 {
			continue
		}

		marked := strings.Contains("\x00"+string(environ), "\x00MULLION_CLUSTER="+c.data+"\x00")
		if marked || strings.Contains(string(cgroup), "/mullion-"+c.tag()) {
			out[pid] = strings.TrimSpace(strings.ReplaceAll(string(command), "\x00", " "))
		}
	}

	return out
}

func (c cluster) takeDown(t *testing.T) {
	t.Helper()
	strays := c.strays(t)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 3*time.Minute)
	defer cancel()
	out, err := c.mullion(ctx, t, "down")
	if err != nil {
		t.Errorf("mullion down: %v\n%s", err, out)
	}

	left := c.traces(t)
	for _, socket := range strays {
		if _, err := os.Stat(socket); err == nil {
			left = append(left, "socket: "+socket)
		}
	}
	if len(left) != 0 {
		t.Errorf("mullion down left behind:\n%s", strings.Join(left, "\n"))
	}
}

// logs prints the ends of the cluster's logs, for people who look into a failure.
func logs(t *testing.T, c cluster) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(c.data, "logs"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}

		if len(data) > 6000 {
			data = data[len(data)-6000:]
		}
		t.Logf("== %s\n%s", path, data)
		return nil
	})
	if err != nil {
		t.Log(err)
	}
}
