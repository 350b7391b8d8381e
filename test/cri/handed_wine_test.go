//go:build wine

package cri

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/testrun"
)

// attacks runs test/attack/prog in a new container of a pod, with the folder C:\v of the host and so many MiB.
func (n *node) attacks(t *testing.T, pod string, config *runtimeapi.PodSandboxConfig, name string, mebibytes int64,
	args ...string,
) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(n.hostDrive(), "v"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(n.hostDrive(), "v"), 0o777); err != nil {
		t.Fatal(err)
	}
	return n.run1(t, pod, config, args, func(c *runtimeapi.ContainerConfig) {
		c.Metadata.Name, c.LogPath = name, name+".log"
		c.Image.Image, c.Command = attackImage, []string{`C:\app\attack.exe`}
		c.Windows.Resources = &runtimeapi.WindowsContainerResources{MemoryLimitInBytes: mebibytes << 20}
		c.Mounts = []*runtimeapi.Mount{{HostPath: `C:\v`, ContainerPath: `C:\v`}}
	})
}

// TestHandedMemory: a pod's containers fill files in memory, hand them to one that stays, and end. What they leave
// counts for none of them any more, and the pod holds no more than its containers may that run together.
func TestHandedMemory(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	const holder, giver, handed, givers, own = 128, 256, 160, 6, 64
	n := newNode(t)
	n.loadAttack(t)
	pod, config := n.pod(t, "pinned")
	holds := n.attacks(t, pod, config, "holder", holder, "hold", "/Files/v/socket")
	n.waitLog(t, holds, "holding 0")

	most := int64(0)
	for i := range givers {
		gives := n.attacks(t, pod, config, fmt.Sprintf("giver-%d", i), giver, "hand", "/Files/v/socket", strconv.Itoa(handed))
		ended := func(id string) bool { return n.status(t, id).State == runtimeapi.ContainerState_CONTAINER_EXITED }
		eventually(t, "it has handed over, or one of both was ended", func() bool {
			most = max(most, memoryOfPod(t, pod))
			return ended(gives) || ended(holds)
		})
		if ended(holds) {
			t.Logf("the holder ended: %s", n.status(t, holds).Reason)
			break
		}
	}

	count := 0
	for _, m := range regexp.MustCompile(`holding (\d+)`).FindAllStringSubmatch(n.log(t, holds), -1) {
		count, _ = strconv.Atoi(m[1])
	}

	t.Logf("%d of %d files of %d MiB were handed over, the pod held %d MiB at most", count, givers, handed, most)
	if count < 2 {
		t.Errorf("%d files were handed over: this is no attack", count)
	}
	if may := int64(holder + giver + 2*own); most > may {
		t.Errorf("the pod held %d MiB, and its containers that ran may hold %d", most, may)
	}
}

// memoryOfPod returns how many MiB a pod's cgroup holds; 0 while there is none.
func memoryOfPod(t *testing.T, pod string) int64 {
	t.Helper()
	for _, top := range []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup"} {
		found := ""
		_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == pod {
				found = path
				return fs.SkipAll
			}
			return nil // it is gone
		})

		for _, name := range []string{"memory.current", "memory.usage_in_bytes"} {
			text, err := os.ReadFile(filepath.Join(found, name))
			if found == "" || errors.Is(err, fs.ErrNotExist) {
				continue
			}
			bytes, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return bytes >> 20
		}
	}

	return 0
}

// TestExecByAnImpostor: a container that answers in the place of its first process makes its own programs fail, as it
// could anyway. Its neighbour's run meanwhile, and nothing of its connections is left when it is gone. What it gets are
// pipes of its own and the null device.
func TestExecByAnImpostor(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	n := newNode(t)
	n.loadAttack(t)
	quiet, quietConfig := n.pod(t, "neighbour")
	neighbour := n.run1(t, quiet, quietConfig, []string{"sleep"}, nil)
	says := func(id string, timeout time.Duration) (string, time.Duration, error) {
		began := time.Now()
		out, err := n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{
			ContainerId: id, Cmd: []string{"cmd", "/c", "echo here"}, Timeout: seconds(timeout),
		})
		return strings.TrimSpace(string(out.GetStdout())), time.Since(began), err
	}
	if out, _, err := says(neighbour, time.Minute); err != nil || out != "here" {
		t.Fatalf("the neighbour says %q, %v", out, err)
	}

	before := openFiles(t)
	pod, config := n.pod(t, "impostor")
	id := n.attacks(t, pod, config, "impostor", 256, "impostor")
	n.waitLog(t, id, "answering")
	for way, want := range []string{"here", "here", "here", "", "", "", "", ""} {
		out, took, err := says(id, 20*time.Second)
		t.Logf("way %d: %.40q after %s, %v", way, out, took.Round(time.Millisecond), err)
		if out != want && way < 4 {
			t.Errorf("way %d: it says %q, %v", way, out, err)
		}
		if took > patient(40*time.Second) {
			t.Errorf("way %d: it took %s", way, took)
		}
		if out, took, err := says(neighbour, 20*time.Second); err != nil || out != "here" {
			t.Errorf("way %d: the neighbour says %q, %v after %s", way, out, err, took)
		}
	}

	log := n.log(t, id)
	t.Logf("what it got:\n%s", log)
	if !strings.Contains(log, "with 3 files") {
		t.Error("it got no files: this is no attack")
	}
	for line := range strings.Lines(log) {
		if strings.Contains(line, "/dev/null") && !regexp.MustCompile(`lease -\d+ mode -\d+ owner -\d+ up -\d+`).MatchString(line) {
			t.Errorf("it changed the null device: %s", line)
		}
		if strings.Contains(line, " owner ") && !strings.Contains(line, "pipe:[") && !strings.Contains(line, "/dev/null") {
			t.Errorf("it got another file: %s", line)
		}
	}

	if _, err := n.StopPodSandbox(t.Context(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: pod}); err != nil {
		t.Error(err)
	}
	if _, err := n.RemovePodSandbox(t.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: pod}); err != nil {
		t.Error(err)
	}
	defer func() {
		if t.Failed() {
			t.Logf("open before:\n%s\nopen now:\n%s", strings.Join(before, "\n"), strings.Join(openFiles(t), "\n"))
		}
	}()

	eventually(t, "what it got is closed here too", func() bool {
		return !slices.ContainsFunc(openFiles(t), func(file string) bool {
			return strings.HasPrefix(file, "pipe:") && strings.Contains(log, file)
		})
	})
	eventually(t, "its connections are closed", func() bool { return sockets(openFiles(t)) <= sockets(before)+2 })
}

// openFiles returns what this process has open, which the server is in.
func openFiles(t *testing.T) []string {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}

	var files []string
	for _, entry := range all {
		if to, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil { // the folder's own is closed again
			files = append(files, to)
		}
	}
	slices.Sort(files)
	return files
}

// sockets returns how many files are sockets.
func sockets(files []string) int {
	count := 0
	for _, file := range files {
		if strings.HasPrefix(file, "socket:") {
			count++
		}
	}
	return count
}

// TestLeases: a container that holds leases of its files, so that who opens one waits for it, holds up nobody but
// itself, and ends as others do.
func TestLeases(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	n := newNode(t)
	n.loadAttack(t)
	quiet, quietConfig := n.pod(t, "neighbour")
	neighbour := n.run1(t, quiet, quietConfig, []string{"sleep"}, nil)
	pod, config := n.pod(t, "leases")
	if err := os.MkdirAll(filepath.Join(n.hostDrive(), "v"), 0o777); err != nil {
		t.Fatal(err)
	}
	id := n.attacks(t, pod, config, "leases", 256, "lease", "/run/mullion/report", "/run/mullion/hosts",
		"/Files/windows/system32/drivers/etc/hosts")
	n.waitLog(t, id, "lease /Files/windows/system32/drivers/etc/hosts 0")

	for _, of := range slices.Repeat([]string{id, neighbour}, 3) {
		began := time.Now()
		out, err := n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{
			ContainerId: of, Cmd: []string{"cmd", "/c", "ping -n 2 127.0.0.1 >nul & echo here"}, Timeout: seconds(30 * time.Second),
		})
		took := time.Since(began)
		t.Logf("%.8s: %q, %v after %s", of, out.GetStdout(), err, took.Round(time.Millisecond))
		if of == neighbour && (err != nil || took > patient(10*time.Second)) {
			t.Errorf("the neighbour: %v after %s", err, took)
		}
		if took > patient(25*time.Second) {
			t.Errorf("who asks waits for %s", took)
		}
	}

	if !regexp.MustCompile(`lease /run/mullion/exec-\w+ \d`).MatchString(n.log(t, id)) {
		t.Errorf("it got no lease of a file that root reads: this is no attack:\n%s", n.log(t, id))
	}

	began := time.Now()
	stop := &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: 2}
	if _, err := n.StopContainer(t.Context(), stop); err != nil {
		t.Error(err)
	}
	st := n.waitExit(t, id)
	t.Logf("its end after %s: %v %s; what it leased:\n%s", time.Since(began).Round(time.Millisecond), st.ExitCode, st.Reason,
		n.log(t, id))
	if took := time.Since(began); took > patient(20*time.Second) {
		t.Errorf("its end took %s", took)
	}
}
