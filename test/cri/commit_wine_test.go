//go:build wine

package cri

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// TestMemoryLimitOfAllPrograms: the programs of a container can use as much together as its limit says. A program that
// wants more is refused with Windows' error and nothing is killed; what a killed program had the next can have, and
// another container has its own limit.
func TestMemoryLimitOfAllPrograms(t *testing.T) {
	const limit, deviation = 200, 64 // MiB; what Wine and Go take beside what the programs ask for
	n := newNode(t)
	pod, config := n.pod(t, "together")
	limited := func(name string) string {
		id := n.run1(t, pod, config, []string{"sleep"}, func(c *runtimeapi.ContainerConfig) {
			c.Metadata.Name, c.LogPath = name, name+".log"
			c.Windows.Resources = &runtimeapi.WindowsContainerResources{MemoryLimitInBytes: limit << 20}
		})
		n.waitLog(t, id, "sleeping")
		return id
	}
	id := limited("of-two")

	holder := make(chan error, 1)
	go func() {
		_, err := n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{
			ContainerId: id, Cmd: []string{`C:\app\winprog.exe`, "commit", "120"}, Timeout: 300,
		})
		holder <- err
	}()
	var pid int
	eventually(t, "a program has committed its share", func() bool {
		for _, p := range processesOf(t, id) {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p))
			if strings.Contains(string(line), "winprog.exe\x00commit\x00") && usedBy(p) > 120<<10 {
				pid = p
			}
		}
		return pid != 0
	})

	once := func(id string) (got, number int) {
		out := n.execIn(t, id, `C:\app\winprog.exe`, "commit-once", "120")
		if _, err := fmt.Sscanf(out, "committed %d error %d", &got, &number); err != nil {
			t.Fatalf("it said %q", out)
		}
		return got, number
	}
	const commitmentLimit = 1455
	if got, number := once(id); number != commitmentLimit || got > limit-120 || got < limit-120-deviation {
		t.Errorf("beside a program with 120 MiB another got %d MiB, error %d", got, number)
	}
	if got, number := once(limited("alone")); got != 120 || number != 0 {
		t.Errorf("in another container a program got %d MiB, error %d", got, number)
	}

	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-holder
	if got, number := once(id); got != 120 || number != 0 {
		t.Errorf("after a program was killed another got %d MiB, error %d", got, number)
	}

	// A limit that is changed holds for programs that run, and those to come.
	_, err := n.UpdateContainerResources(t.Context(), &runtimeapi.UpdateContainerResourcesRequest{
		ContainerId: id,
		Windows:     &runtimeapi.WindowsContainerResources{MemoryLimitInBytes: 96 << 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, number := once(id); number != commitmentLimit || got > 96 {
		t.Errorf("with a limit of 96 MiB a program got %d MiB, error %d", got, number)
	}
	if st := n.status(t, id); st.GetState() != runtimeapi.ContainerState_CONTAINER_RUNNING {
		t.Errorf("the container is in state %v", st.GetState())
	}
}

// usedBy returns the memory that a process of the machine uses alone, in KB.
func usedBy(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, used, _ := strings.Cut(string(text), "RssAnon:")
	used, _, _ = strings.Cut(strings.TrimSpace(used), " ")
	kb, _ := strconv.Atoi(used)
	return kb
}
