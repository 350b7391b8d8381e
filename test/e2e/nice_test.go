//go:build cluster

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// busyPod uses one processor, if it gets it.
const busyPod = `
apiVersion: v1
kind: Pod
metadata: {name: nice-burning}
spec:
  nodeSelector: {kubernetes.io/os: windows}
  terminationGracePeriodSeconds: 0
  containers: [{name: app, image: 'mullion.local/e2e:v1', args: [burn, 1h]}]
`

// nice has all of the cluster give way to the machine's other work: its cgroups say so, of every process, a program of
// the machine gets the processor that a pod wants too, and it stays so when the supervisor is started again.
func (c cluster) nice(t *testing.T) {
	t.Helper()
	c.deploy(t, busyPod)
	c.must(t, "kubectl", "wait", "--for=condition=Ready", "pod/nice-burning", "--timeout=2m")
	defer c.must(t, "up", "--nice=false")

	c.must(t, "up", "--nice")
	c.sharesAre(t, true)
	c.givesWay(t)
	c.kill(t, ` supervise `)
	c.up(t)
	c.sharesAre(t, true)

	c.must(t, "up", "--nice=false")
	c.sharesAre(t, false)
}

// sharesAre checks that every process of the cluster is in a cgroup that, beside one busy program of the machine, has
// less than a tenth of the processor; or as much as the program at least, if the cluster is not nice.
func (c cluster) sharesAre(t *testing.T, nice bool) {
	t.Helper()
	shares, homeless := map[string]float64{}, map[int]string{}
	for pid, command := range c.processes(t) {
		group, ok := c.outermost(pid)
		if !ok {
			homeless[pid] = command
			continue
		}
		share, err := shareOf(group)
		if err != nil {
			t.Errorf("process %d, %s: %v", pid, command, err)
			continue
		}
		shares[group] = share
	}

	for pid, command := range homeless {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
			t.Errorf("process %d is in no cgroup of the cluster: %s", pid, command)
		}
	}

	if len(shares) == 0 {
		t.Fatal("the cluster has no process")
	}
	for group, share := range shares {
		if (nice && share > 0.1) || (!nice && share < 1) {
			t.Errorf("nice: %t, and cgroup %s has %.3f of what one busy program has", nice, group, share)
		}
	}
	t.Logf("nice: %t, shares of cgroups beside one busy program: %v", nice, shares)
}

// cgroupV2 says whether the machine has cgroup v2.
func cgroupV2() bool {
	v2, err := condition("cgroup2")
	return err == nil && v2
}

// outermost returns the cgroup of the cluster, beside the machine's other work, in which a process is.
func (c cluster) outermost(pid int) (group string, ok bool) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid)) // a process that has ended is in none
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 || (!cgroupV2() && !strings.Contains(","+parts[1]+",", ",cpu,")) {
			continue
		}

		at := strings.Index(parts[2], "mullion-"+c.tag())
		if at < 0 {
			return "", false
		}
		name, _, _ := strings.Cut(parts[2][at:], "/")
		return parts[2][:at] + name, true
	}
	return "", false
}

// shareOf returns how much a cgroup has for each unit of what one busy program beside it has.
func shareOf(group string) (float64, error) {
	file, usual := filepath.Join("/sys/fs/cgroup/cpu", group, "cpu.shares"), 1024.0
	if cgroupV2() {
		file, usual = filepath.Join("/sys/fs/cgroup", group, "cpu.weight"), 100
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	return n / usual, err
}

// givesWay has a program of the machine want the processor on which the busy pod runs: it gets most of it.
func (c cluster) givesWay(t *testing.T) {
	t.Helper()
	pod, most := 0, time.Duration(0)
	for pid, command := range c.processes(t) { // the container's first process has these words too
		if !strings.Contains(command, "burn 1h") {
			continue
		}
		if u := used(t, pid); u > most {
			pod, most = pid, u
		}
	}
	if pod == 0 {
		t.Fatal("the pod's program is not there")
	}

	var first unix.CPUSet
	first.Set(0)
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pod))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		id, _ := strconv.Atoi(filepath.Base(task))
		_ = unix.SchedSetaffinity(id, &first) // a thread may have ended
	}

	rival := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
	if err := rival.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rival.Process.Kill(); _ = rival.Wait() }()
	if err := unix.SchedSetaffinity(rival.Process.Pid, &first); err != nil {
		t.Fatal(err)
	}

	before := used(t, pod)
	got := time.Duration(0)
	gave := time.Duration(0)
	for end := time.Now().Add(time.Minute); got < 2*time.Second && time.Now().Before(end); {
		<-time.After(100 * time.Millisecond)
		got, gave = used(t, rival.Process.Pid), used(t, pod)-before
	}
	t.Logf("a program of the machine had %s of a processor, the pod %s", got, gave)
	if got < 10*gave {
		t.Errorf("the pod does not give way: a program of the machine had %s of a processor, the pod %s", got, gave)
	}
}

// used returns the processor time that a process has had: fields 14 and 15 of its stat, in hundredths of a second.
func used(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}

	const ownTime, kernelTime = 14 - 3, 15 - 3 // the program's name, before ")", may have spaces
	fields := strings.Fields(string(text)[strings.LastIndexByte(string(text), ')')+1:])
	total := 0
	for _, i := range []int{ownTime, kernelTime} {
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			t.Fatal(err)
		}
		total += n
	}
	return time.Duration(total) * 10 * time.Millisecond
}
