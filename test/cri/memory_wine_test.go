//go:build wine

package cri

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/windows/wine"
)

// cgroup is that of the node's containers. A node with a part of the machine's memory has one of its own.
func (n *node) cgroup() string {
	if n.memory == 0 {
		return cgroupParent()
	}
	return cgroupParent() + "/" + filepath.Base(n.dir)
}

func (n *node) memoryMounts(tb testing.TB) []engine.BindMount {
	tb.Helper()
	if n.memory == 0 {
		return nil
	}
	mounts, err := wine.MemoryMounts(n.cgroup())
	if err != nil {
		tb.Fatal(err)
	}
	var all []engine.BindMount
	for _, m := range mounts {
		all = append(all, engine.BindMount{Source: m.Source, Target: m.Target})
	}
	return all
}

// memorySaid is what winprog says of the memory.
type memorySaid struct {
	Status, StatusFree, PageFile, PageFileFree, Installed       int64
	Performance, PerformanceFree, CommitLimit, Committed        int64
	CounterLimit, CounterCommitted, CounterFree, CounterPrivate int64
}

func parseMemory(t *testing.T, text string) (all []memorySaid) {
	t.Helper()
	for _, part := range strings.Split(text, "status ")[1:] {
		var m memorySaid
		if _, err := fmt.Sscanf(strings.ReplaceAll(part, "\n", " "), "%d %d page file %d %d installed %d "+
			"performance %d %d commit %d %d counters limit %d committed %d available %d private %d",
			&m.Status, &m.StatusFree, &m.PageFile, &m.PageFileFree, &m.Installed,
			&m.Performance, &m.PerformanceFree, &m.CommitLimit, &m.Committed,
			&m.CounterLimit, &m.CounterCommitted, &m.CounterFree, &m.CounterPrivate); err != nil {
			t.Fatalf("%v: %q", err, part)
		}
		all = append(all, m)
	}
	return all
}

// check compares all that was said with the node's memory, and with what is free of it, more or less.
func (m memorySaid) check(t *testing.T, what string, total, free, deviation int64) {
	t.Helper()
	for name, got := range map[string]int64{
		"GlobalMemoryStatusEx": m.Status, "the page file": m.PageFile, "GetPhysicallyInstalledSystemMemory": m.Installed,
		"GetPerformanceInfo": m.Performance, "its commit limit": m.CommitLimit, "Commit Limit": m.CounterLimit,
	} {
		if got != total {
			t.Errorf("%s: %s says %d, the node has %d", what, name, got, total)
		}
	}

	for name, got := range map[string]int64{
		"GlobalMemoryStatusEx": m.StatusFree, "the page file": m.PageFileFree, "GetPerformanceInfo": m.PerformanceFree,
		"its committed": total - m.Committed, "Available Bytes": m.CounterFree, "Committed Bytes": total - m.CounterCommitted,
	} {
		if got < free-deviation || got > free+deviation {
			t.Errorf("%s: by %s %d bytes are free, want %d", what, name, got, free)
		}
	}
}

const memoryOfNode = 1 << 30

// newMemoryNode returns a node with a host and with a part of the machine's memory.
func newMemoryNode(t *testing.T) *node {
	t.Helper()
	n := makeNode(t)
	n.memory = memoryOfNode
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil || int64(info.Totalram)*int64(info.Unit) < 2*memoryOfNode {
		t.Skipf("this machine has too little memory: %d, %v", info.Totalram, err)
	}

	t.Cleanup(func() { // after what runs there has ended
		for _, name := range []string{n.cgroup() + "/" + cgroup.Own, n.cgroup()} {
			if err := cgroup.Remove(name); err != nil {
				t.Errorf("remove cgroup: %v", err)
			}
		}
	})

	if err := cgroup.LimitMemory(n.cgroup(), n.memory); err != nil {
		t.Fatal(err)
	}
	if err := cgroup.MakeOwn(n.cgroup()); err != nil {
		t.Fatal(err)
	}
	n.startHost(t)
	n.up(t)

	return n
}

// TestNodeMemory: programs of a node that has a part of the machine's memory, on its host and in its containers, see
// that part as all that there is, and what the node uses as used. What a container asks for beyond it is refused as on
// Windows, in large pieces and in small ones, nothing is killed, and the host's programs go on.
func TestNodeMemory(t *testing.T) {
	n := newMemoryNode(t)
	n.putOnHost(t, `C:\winprog.exe`, filepath.Join(n.machine.dir, "winprog.exe"))
	pod, config := n.pod(t, "memory")
	for _, piece := range []int64{100, 1} {
		t.Run(strconv.FormatInt(piece, 10), func(t *testing.T) {
			id := n.run1(t, pod, config, []string{"memory", strconv.FormatInt(piece, 10)},
				func(c *runtimeapi.ContainerConfig) {
					c.Metadata.Name = fmt.Sprintf("of-%d", piece)
					c.LogPath = c.Metadata.Name + ".log"
				})

			defer func() {
				if t.Failed() {
					t.Logf("it said:\n%s", n.log(t, id))
				}
			}()

			n.waitLog(t, id, "said")
			text := strings.ReplaceAll(stdoutOf(n.log(t, id)), "stdout F ", "")
			said := parseMemory(t, text)
			if len(said) != 2 {
				t.Fatalf("it said %q", text)
			}

			const deviation = 48 << 20 // what Wine takes meanwhile
			said[0].check(t, "before", memoryOfNode, said[0].StatusFree, deviation)
			var taken, number int64
			_, rest, _ := strings.Cut(text, "refused")
			if _, err := fmt.Sscanf(rest, " after %d with error %d", &taken, &number); err != nil || number != 1455 {
				t.Errorf("it was refused%s, want ERROR_COMMITMENT_LIMIT (%v)", rest, err)
			}

			taken <<= 20
			left := said[0].StatusFree - taken
			said[1].check(t, "after", memoryOfNode, left, deviation)
			if most := piece<<20 + 100<<20; left < 16<<20 || left > most {
				t.Errorf("%d bytes are left, want at most %d", left, most)
			}
			if private := said[1].CounterPrivate - said[0].CounterPrivate; private < taken-deviation {
				t.Errorf("the private working set has grown by %d bytes, want %d", private, taken)
			}

			if m := said[0]; m.CounterPrivate <= 0 || m.StatusFree < memoryOfNode/2 {
				t.Errorf("an idle node: %+v", m)
			}
			// the host has no more than that, and its programs still get some
			host := n.hostSays(t, `C:\winprog.exe`, "memory-once")
			host.check(t, "host", memoryOfNode, said[1].StatusFree, 2*deviation)
			if _, err := n.StopContainer(t.Context(), &runtimeapi.StopContainerRequest{ContainerId: id}); err != nil {
				t.Error(err)
			}

			if st := n.status(t, id); st.GetReason() == "OOMKilled" {
				t.Error("the kernel killed it")
			}
		})
	}

	n.checkOwnCgroup(t)
}

// hostSays runs a program of the host that says what the memory is.
func (n *node) hostSays(t *testing.T, program string, args ...string) memorySaid {
	t.Helper()
	out, err := n.host.Output(t.Context(), nil, nil, wine.RunProgram, append([]string{"--", program}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	said := parseMemory(t, strings.ReplaceAll(string(out), "\r", ""))
	if len(said) != 1 {
		t.Fatalf("it said %q", out)
	}
	return said[0]
}

// checkOwnCgroup: the host's programs are in the node's cgroup, so that they count.
func (n *node) checkOwnCgroup(t *testing.T) {
	t.Helper()
	pid, err := n.host.PID()
	if err != nil {
		t.Fatal(err)
	}
	cmd := n.host.Command(t.Context(), wine.RunProgram, "--", `C:\winprog.exe`, "sleep")
	if err := n.host.StartCommand(t.Context(), cmd); err != nil {
		t.Fatal(err)
	}

	defer func(cmd *exec.Cmd) { _ = cmd.Process.Kill(); _ = cmd.Wait() }(cmd)
	want := n.cgroup() + "/" + cgroup.Own
	for what, pid := range map[string]int{"its first process": pid, "a program": cmd.Process.Pid} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
		if err != nil || (!strings.Contains(string(text), "memory:"+want+"\n") && !strings.Contains(string(text), "0::"+want+"\n")) {
			t.Errorf("%s is in the cgroups %q, want %q (%v)", what, text, want, err)
		}
	}
}
