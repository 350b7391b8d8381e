//go:build cluster

package attack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// diskPod is a pod that has its node write to the disk.
const diskPod = `
apiVersion: v1
kind: Pod
metadata: {name: disk-%[1]s}
spec:
  restartPolicy: %[5]s
  terminationGracePeriodSeconds: 1
  containers:
  - name: attack
    image: 'mullion.local/attack:v1'
    args: [%[2]s]
    resources: {limits: {%[3]s}}
    volumeMounts: [{name: v, mountPath: 'C:\v'}]
  volumes: [{name: v, %[4]s}]
`

// run makes the pod of an attack on the disk. limits may be empty. It is started again only if it has a volume of the
// node's.
func (f fixture) run(t *testing.T, name, args, limits, volume string) (pod string) {
	t.Helper()
	file, restart := filepath.Join(t.TempDir(), "pod.yaml"), "Never"
	if volume != empty {
		restart = "Always"
	}

	write(t, file, fmt.Sprintf(diskPod, name, args, limits, volume, restart))
	f.must(t, "kubectl", "apply", "-f", file)
	t.Cleanup(func() {
		if _, err := f.mullion(context.WithoutCancel(t.Context()), "kubectl", "delete", "-f", file, "--timeout=60s",
			"--ignore-not-found"); err != nil {
			t.Error(err)
		}
	})

	return "disk-" + name
}

// waitFor asks for a field of a pod until it has a value.
func (f fixture) waitFor(t *testing.T, pod, field, want string, most time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(most); ; <-time.After(500 * time.Millisecond) {
		got := f.must(t, "kubectl", "get", "pod", pod, "-o", "jsonpath={"+field+"}")
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %s is %q, want %q\n%s", pod, field, got, want, f.must(t, "kubectl", "describe", "pod", pod))
		}
	}
}

const (
	empty = "emptyDir: {}"
	small = "ephemeral-storage: 32Mi"
)

// disk has pods fill the disk by all that is written for them. The neighbour is asked all the while, by TestAttacks.
func (f fixture) disk(t *testing.T) {
	type attack struct {
		name string
		try  func(t *testing.T)
	}

	var held atomic.Int32
	try := func(t *testing.T, a attack) {
		t.Helper()
		t.Run(a.name, func(t *testing.T) {
			t.Cleanup(func() {
				if !t.Failed() {
					held.Add(1)
				}
			})
			a.try(t)
		})
	}

	// These wait up to a minute each for the node to look, side by side. The longest is begun first.
	evicted := func(what string) attack {
		return attack{what, func(t *testing.T) { t.Helper(); f.evicted(t, what) }}
	}
	waiting := []attack{
		evicted("volume"), evicted("odd-names"), evicted("hidden-blocks"), evicted("lines"), evicted("files"),
		{"exchanged-logs", f.exchangedLogs},
		{"long-line", f.longLine},
	}

	t.Run("beside", func(t *testing.T) {
		for _, a := range waiting {
			try(t, attack{a.name, func(t *testing.T) { t.Helper(); t.Parallel(); a.try(t) }})
		}
	})

	// These compare what the machine's disk has before and after, or count what is taken in a time.
	others := []attack{
		{"writable", f.writable},
		{"kubelets-files", f.kubeletsFiles},
		{"lines", f.lines},
		{"message", f.message},
	}

	for _, a := range others {
		try(t, a)
	}

	f.must(t, "kubectl", "get", "--raw", "/readyz") // etcd has room
	all := len(waiting) + len(others)
	t.Logf("disk: %d of %d attacks got somewhere", all-int(held.Load()), all)
}

// evicted has a pod write more than it may. The same pod without a limit would go on.
func (f fixture) evicted(t *testing.T, what string) {
	t.Helper()
	pod := f.run(t, "limited-"+what, "disk, "+what, small, empty)
	f.waitFor(t, pod, ".status.reason", "Evicted", 3*time.Minute)
	message := f.must(t, "kubectl", "get", "pod", pod, "-o", "jsonpath={.status.message}")
	t.Log(message)
	if !strings.Contains(message, "ephemeral") {
		t.Errorf("it was evicted for something else: %s", message)
	}
}

// writable asks pods for what they can write to: on the machine's disk that is the container's own layer and the pod's
// emptyDirs, which have limits. The rest is in memory, which is the container's too.
func (f fixture) writable(t *testing.T) {
	t.Helper()
	want := []string{"/ overlay", "/Files/v"} // the volume's file system is the machine's
	for _, pod := range []string{"administrator", "user"} {
		var disk []string
		for line := range strings.Lines(f.exec(t, pod, "writable")) {
			at, kind, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch {
			case slices.Contains([]string{"proc", "tmpfs", "devtmpfs", "devpts", "mqueue"}, kind):
			case kind == "overlay":
				disk = append(disk, at+" overlay")
			default:
				disk = append(disk, at)
			}
		}

		slices.Sort(disk)
		if !slices.Equal(disk, want) {
			t.Errorf("the pod of the %s can write to %q of the disk, want %q", pod, disk, want)
		}
	}
}

// kubeletsFiles has a pod take blocks of the disk for the files that the kubelet mounts into each container, where
// every program may write to them. The machine's disk does not have them.
func (f fixture) kubeletsFiles(t *testing.T) {
	t.Helper()
	nodes := filepath.Join(f.dir, "data", "nodes")
	before, _ := size(t, nodes)
	pod := f.run(t, "kubelets", "disk, kubelets", small, empty)
	var log string
	deadline := time.Now().Add(2 * time.Minute)
	for ; strings.Count(log, "allocated for") < 2; <-time.After(time.Second) {
		if time.Now().After(deadline) {
			t.Fatalf("the pod has not allocated: %q", log)
		}
		log, _ = f.mullion(t.Context(), "kubectl", "logs", pod) // it may not have begun
	}

	after, _ := size(t, nodes)
	t.Logf("the nodes' folders had %d MiB and have %d MiB: %s", before>>20, after>>20, log)
	if after-before > 8<<20 || strings.Count(log, " -28") != 2 { // ENOSPC
		t.Errorf("files of the kubelet's take %d MiB of the machine's disk: %s", (after-before)>>20, log)
	}
}

// size returns what a folder takes on its disk, with the files that match, and how many those are. What is mounted in
// it is left out.
func size(t *testing.T, folder string) (bytes int64, files int) {
	t.Helper()
	top, err := os.Stat(folder)
	if err != nil {
		t.Fatal(err)
	}

	device := top.Sys().(*syscall.Stat_t).Dev // Linux
	err = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}

		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // it is gone
		}
		st := info.Sys().(*syscall.Stat_t) // Linux
		if st.Dev != device && d.IsDir() {
			return fs.SkipDir
		}

		if d.Type().IsRegular() {
			bytes, files = bytes+st.Blocks*512, files+1
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return bytes, files
}

// logs returns the folder of a pod's logs on the machine.
func (f fixture) logs(t *testing.T, pod string) string {
	t.Helper()
	uid := f.must(t, "kubectl", "get", "pod", pod, "-o", "jsonpath={.metadata.uid}")
	return filepath.Join(f.dir, "data/nodes/win-1/prefix/Files/var/log/pods", "default_"+pod+"_"+uid, "attack")
}

// Bounds of a container's log, by the kubelet's defaults: five files, of which it rotates the one that is written every
// ten seconds once it has 10 MiB, and compresses all but the last two.
const logFiles, logSize, logTime = 5, 10 << 20, 40 * time.Second

// lines has a pod write lines as fast as it can: they are rotated, and no more of them is kept than was written.
func (f fixture) lines(t *testing.T) {
	t.Helper()
	pod := f.run(t, "lines", "disk, lines", "", empty)
	var wrote int64
	for deadline := time.Now().Add(2 * time.Minute); wrote == 0; <-time.After(time.Second) {
		if time.Now().After(deadline) {
			t.Fatalf("the pod has not written its lines:\n%s", f.must(t, "kubectl", "describe", "pod", pod))
		}
		if text, err := f.mullion(t.Context(), "kubectl", "exec", pod, "--", "cmd", "/c", `type C:\v\wrote`); err == nil {
			_, _ = fmt.Sscan(text, &wrote)
		}
	}

	folder := f.logs(t, pod)
	var bytes int64
	var files int
	for deadline := time.Now().Add(logTime); ; <-time.After(time.Second) {
		bytes, files = size(t, folder)
		if files > 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("%d MiB were written, and %d MiB in one file are there: nothing is rotated", wrote, bytes>>20)
			break
		}
	}

	t.Logf("%d MiB were written; %d files have %d MiB", wrote, files, bytes>>20)
	if wrote<<20 < 2*logSize {
		t.Errorf("control: %d MiB are no attack", wrote)
	}
	// A record has 60 bytes beside each line of 64.
	if files > logFiles || bytes > 2*wrote<<20+logSize {
		t.Errorf("%d files, of %d, have %d MiB after %d MiB were written", files, logFiles, bytes>>20, wrote)
	}
}

// longLine has a pod write 16 MiB without the end of a line. All of it is in the log, in parts.
func (f fixture) longLine(t *testing.T) {
	t.Helper()
	pod := f.run(t, "long", "disk, long", "", empty)
	f.waitFor(t, pod, ".status.phase", "Succeeded", 2*time.Minute)
	bytes, files := size(t, f.logs(t, pod))
	if bytes > 4*16<<20 || files > logFiles {
		t.Errorf("16 MiB take %d MiB in %d files", bytes>>20, files)
	}
	log := f.must(t, "kubectl", "logs", pod)
	if n := strings.Count(log, "x"); len(log) != n || n == 0 || n > 16<<20 {
		t.Errorf("the log has %d bytes, %d of the line", len(log), n)
	}
}

// message has a pod write a termination message of 100 MiB. The machine's disk does not have them.
func (f fixture) message(t *testing.T) {
	t.Helper()
	nodes := filepath.Join(f.dir, "data", "nodes")
	before, _ := size(t, nodes)
	pod := f.run(t, "message", "disk, message", "", empty)
	f.waitFor(t, pod, ".status.phase", "Failed", 2*time.Minute)
	after, _ := size(t, nodes)
	t.Logf("the nodes' folders had %d MiB and have %d MiB", before>>20, after>>20)
	if after-before > 8<<20 {
		t.Errorf("a termination message takes %d MiB of the machine's disk", (after-before)>>20)
	}

	text := f.must(t, "kubectl", "get", "pod", pod, "-o", "jsonpath={.status.containerStatuses[0].state.terminated.message}")
	if len(text) > 4096 {
		t.Errorf("the message has %d bytes, of 4096", len(text))
	}
}

// exchangedLogs has a pod with the folder of logs put links to a file of the machine in the place of its log and of a
// log to come. Whoever writes logs writes nothing through them.
func (f fixture) exchangedLogs(t *testing.T) {
	t.Helper()
	victim := filepath.Join(t.TempDir(), "victim")
	write(t, victim, canary)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(victim, link); err != nil {
		t.Fatal(err)
	}

	through, err := os.OpenFile(link, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatalf("control: a link cannot be written through: %v", err)
	}

	_ = through.Close()
	const logs = `hostPath: {path: 'C:\var\log'}`
	pod := f.run(t, "exchanged", "serve", "", logs)
	f.waitFor(t, pod, ".status.phase", "Running", time.Minute)
	folder := f.logs(t, pod)
	inPod := strings.TrimPrefix(folder, filepath.Join(f.dir, "data/nodes/win-1/prefix/Files/var/log"))

	// The next start's log has the next number.
	t.Log(f.must(t, "kubectl", "exec", pod, "--", `C:\app\attack.exe`, "exchange", victim, "/v"+inPod+"/0.log",
		"/v"+inPod+"/1.log"))
	ip := f.must(t, "kubectl", "get", "pod", pod, "-o", "jsonpath={.status.podIP}")
	if resp, err := http.Get("http://" + ip + "/end"); err == nil { // the pod ends
		_ = resp.Body.Close()
	}

	const state = "jsonpath={.status.containerStatuses[0].restartCount} {.status.containerStatuses[0].state.waiting.reason}"
	for deadline := time.Now().Add(time.Minute); ; <-time.After(500 * time.Millisecond) {
		got := f.must(t, "kubectl", "get", "pod", pod, "-o", state)
		if got != "0" {
			t.Log("the next container:", got)
			break
		}
		if time.Now().After(deadline) {
			t.Error("control: no further container was made, whose log would be the link")
			break
		}
	}

	f.must(t, "kubectl", "delete", "pod", pod, "--timeout=60s")
	if got, err := os.ReadFile(victim); err != nil || string(got) != canary {
		t.Errorf("the machine's file is %q (%v)", got, err)
	}
}
