//go:build cluster || conformance

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tag is in the names of a cluster's interfaces, tables, cgroups and run folder. It is made from the data folder's path
// (internal/cluster/layout).
func (c cluster) tag() string {
	sum := sha256.Sum256([]byte(c.data))
	return hex.EncodeToString(sum[:4])
}

// traces lists what this cluster has on the machine, a line each; other clusters may run at the same time.
func (c cluster) traces(t *testing.T) []string {
	t.Helper()
	var all []string
	add := func(what string, lines ...string) {
		for _, l := range lines {
			if l != "" {
				all = append(all, what+": "+l)
			}
		}
	}

	having := func(what string, args ...string) {
		args = c.on(args...)
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}

		for l := range strings.Lines(string(out)) {
			if strings.Contains(l, c.tag()) || strings.Contains(l, c.data) {
				add(what, strings.TrimSpace(l))
			}
		}
	}
	having("interface", "ip", "-br", "link")
	having("route", "ip", "route")
	having("table", "nft", "list", "tables")
	having("mount", "cat", "/proc/self/mountinfo")
	having("rule", "ip", "rule")
	for _, pattern := range []string{
		"/sys/fs/cgroup/mullion-" + c.tag(), "/sys/fs/cgroup/*/mullion-" + c.tag(), c.data,
		"/run/mullion/" + c.tag(),
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		add("file", found...)
	}

	for pid, command := range c.processes(t) {
		add("process", fmt.Sprint(pid, " ", command))
	}

	return all
}

// strays returns the sockets of containerd's shims outside the cluster's own folders. They are found by the processes
// that listen on them, so they have to be noted while the cluster is up.
func (c cluster) strays(t *testing.T) []string {
	t.Helper()
	table, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		t.Fatal(err)
	}

	byInode := map[string]string{}
	for l := range strings.Lines(string(table)) {
		if fields := strings.Fields(l); len(fields) == 8 && strings.HasPrefix(fields[7], "/run/containerd/") {
			byInode["socket:["+fields[6]+"]"] = fields[7]
		}
	}

	var out []string
	for pid := range c.processes(t) {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) // a process may have ended
		for _, fd := range fds {
			if to, err := os.Readlink(fd); err == nil && byInode[to] != "" {
				out = append(out, byInode[to])
			}
		}
	}

	return out
}
