//go:build wine

package cri

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/runtime/containerinit/wire"
)

// socketOf returns the socket of a container's first process.
func (n *node) socketOf(t *testing.T, id string) string {
	t.Helper()
	socket := filepath.Join(n.dir, "cri", "work", id, "run", wire.SocketName)
	if _, err := os.Lstat(socket); err != nil {
		t.Fatalf("the container's first process does not listen: %v", err)
	}
	return socket
}

// execSleeping runs a program that never ends in a container until the test is over, and returns the folders in /proc
// of its processes, by their names.
func (n *node) execSleeping(t *testing.T, id string) map[string]string {
	t.Helper()
	before := slices.Collect(maps.Values(execsByName(t, id)))
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		wait.Wait()
	})

	wait.Go(func() {
		_, _ = n.ExecSync(ctx, &runtimeapi.ExecSyncRequest{
			ContainerId: id, Cmd: []string{`c:\app\winprog.exe`, "sleep"},
		})
	})

	var found map[string]string
	eventually(t, "the program runs", func() bool {
		found = execsByName(t, id)
		maps.DeleteFunc(found, func(_, dir string) bool { return slices.Contains(before, dir) })
		return found["winprog.exe"] != "" && found["mullion-run.exe"] != ""
	})

	return found
}

// execsByName returns the folders in /proc of the processes of execs in a container.
func execsByName(t *testing.T, id string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, line := range execs(t, id) {
		pid, _, _ := strings.Cut(line, " ")
		comm, err := os.ReadFile(filepath.Join("/proc", pid, "comm"))
		if err == nil {
			found[strings.TrimSpace(string(comm))] = filepath.Join("/proc", pid)
		}
	}
	return found
}

// rightsOf says what a process may do and where it is.
func rightsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	rights := map[string]string{}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		t.Fatal(err)
	}

	wanted := []string{
		"Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp",
		"Seccomp_filters", "Umask", "Cpus_allowed", "Mems_allowed", "SigIgn",
	}

	for line := range strings.SplitSeq(string(status), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && slices.Contains(wanted, name) {
			rights[name] = strings.TrimSpace(value)
		}
	}

	for _, file := range []string{"cgroup", "limits", "uid_map", "gid_map"} {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		rights[file] = string(data)
	}

	for _, link := range []string{"root", "ns/cgroup", "ns/ipc", "ns/mnt", "ns/net", "ns/pid", "ns/user", "ns/uts"} {
		to, err := os.Readlink(filepath.Join(dir, link))
		if err != nil {
			t.Fatal(err)
		}
		rights[link] = to
	}

	return rights
}

// variablesOf returns those of the Linux environment of a process, without the one that names the exec and its files.
func variablesOf(t *testing.T, dir string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "environ"))
	if err != nil {
		t.Fatal(err)
	}
	own := regexp.MustCompile(`(MULLION_EXEC|WINESERVERSOCKET)=[0-9a-f]+`) // Wine's is the number of a descriptor
	return slices.Sorted(slices.Values(strings.Split(own.ReplaceAllString(string(data), "$1=ID"), "\x00")))
}

// TestExecIsTheSameByEither: a program that the container's first process has started may do what one may that
// containerd has started, sees the same, and has no other descriptors.
func TestExecIsTheSameByEither(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "either")
	id := n.run1(t, pod, config, []string{"sleep"}, nil)

	socket := n.socketOf(t, id)
	inside := n.execSleeping(t, id)
	if err := os.Rename(socket, socket+".away"); err != nil {
		t.Fatal(err)
	}
	runc := n.execSleeping(t, id)

	for _, name := range []string{"mullion-run.exe", "winprog.exe"} {
		if diff := cmp.Diff(rightsOf(t, runc[name]), rightsOf(t, inside[name])); diff != "" {
			t.Errorf("%s may (-started by containerd +by the first process):\n%s", name, diff)
		}
		if diff := cmp.Diff(variablesOf(t, runc[name]), variablesOf(t, inside[name])); diff != "" {
			t.Errorf("%s has variables (-started by containerd +by the first process):\n%s", name, diff)
		}
	}

	// Wine opens and closes files of the container, and has several of its server's pipes.
	kinds := func(dir string) map[string]bool {
		found := map[string]bool{}
		files, err := filepath.Glob(filepath.Join(dir, "fd", "*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("descriptors of %s: %d, %v", dir, len(files), err)
		}

		for _, file := range files {
			to, err := os.Readlink(file)
			if err != nil || strings.HasPrefix(to, "/Files") || strings.HasPrefix(to, "/run/mullion/") {
				continue // closed meanwhile, or the container's
			}
			found[regexp.MustCompile(`\d+`).ReplaceAllString(to, "N")] = true
		}

		return found
	}

	if diff := cmp.Diff(kinds(runc["mullion-run.exe"]), kinds(inside["mullion-run.exe"])); diff != "" {
		t.Errorf("descriptors (-started by containerd +by the first process):\n%s", diff)
	}

	score := func(dir string) string {
		data, err := os.ReadFile(filepath.Join(dir, "oom_score_adj"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(data))
	}

	main := ""
	for _, dir := range processes(t, id) {
		if comm, err := os.ReadFile(filepath.Join(dir, "comm")); err == nil && string(comm) == "mullion-init\n" {
			main = score(dir)
		}
	}

	if got := score(inside["winprog.exe"]); got != main {
		t.Errorf("oom_score_adj is %s, and that of the container's first process %s", got, main)
	}
}

// TestExecWhateverTheContainerDoes: a container that takes away, or feigns, what its programs would be started by has
// its programs started otherwise.
func TestExecWhateverTheContainerDoes(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "hostile")
	id := n.run1(t, pod, config, []string{"sleep"}, nil)
	socket := n.socketOf(t, id)

	runs := func(t *testing.T) {
		t.Helper()
		began := time.Now()
		out, err := n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{
			ContainerId: id, Cmd: []string{"cmd", "/c", "echo here& exit 300"}, Timeout: 60,
		})
		if err != nil || out.ExitCode != 300 || strings.TrimSpace(string(out.Stdout)) != "here" {
			t.Errorf("cmd says %q, %v after %s", out, err, time.Since(began))
		}
	}
	runs(t)
	for name, put := range map[string]func() error{
		"nothing":         func() error { return nil },
		"file":            func() error { return os.WriteFile(socket, nil, 0o666) },
		"link_to_machine": func() error { return os.Symlink(n.socket, socket) }, // containerd's
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.Remove(socket); err != nil {
				t.Fatal(err)
			}
			if err := put(); err != nil {
				t.Fatal(err)
			}

			runs(t)
			if name == "nothing" {
				if err := os.WriteFile(socket, nil, 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestExecOfAContainerThatIsKilled: with the container's first process, the program of an exec is gone, and its caller
// hears so at once.
func TestExecOfAContainerThatIsKilled(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	n := newNode(t)
	pod, config := n.pod(t, "killed")
	id := n.run1(t, pod, config, []string{"sleep"}, nil)
	n.socketOf(t, id)

	type answer struct {
		resp *runtimeapi.ExecSyncResponse
		err  error
	}

	answered := make(chan answer, 1)
	go func() {
		resp, err := n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{
			ContainerId: id, Cmd: []string{`c:\app\winprog.exe`, "sleep"}, Timeout: 120,
		})
		answered <- answer{resp, err}
	}()
	eventually(t, "the program runs", func() bool { return execsByName(t, id)["winprog.exe"] != "" })
	for _, dir := range processes(t, id) {
		if comm, err := os.ReadFile(filepath.Join(dir, "comm")); err == nil && string(comm) == "mullion-init\n" {
			pid, err := strconv.Atoi(filepath.Base(dir))
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}

	select {
	case a := <-answered:
		if a.err != nil || a.resp.ExitCode != 137 {
			t.Errorf("ExecSync: %v, %v; want code 137", a.resp, a.err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the caller of the killed program is not told")
	}

	if st := n.waitExit(t, id); st.ExitCode != 137 {
		t.Errorf("the container ended with %d", st.ExitCode)
	}
	if left := processes(t, id); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// TestExecsAtOnce: many programs at once each get their own input, output and code.
func TestExecsAtOnce(t *testing.T) {
	testrun.Once(t, testrun.Race)
	n := newNode(t)
	pod, config := n.pod(t, "crowd")
	id := n.run1(t, pod, config, []string{"sleep"}, nil)
	n.socketOf(t, id)

	var wait sync.WaitGroup
	for i := range 12 {
		wait.Go(func() {
			word := strings.Repeat("x", i+1)
			out, err := n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{
				ContainerId: id, Cmd: []string{"cmd", "/c", "echo " + word + "& exit " + string(rune('1'+i%8))},
			})
			if err != nil || out.ExitCode != int32(1+i%8) || strings.TrimSpace(string(out.Stdout)) != word {
				t.Errorf("program %d: %v, %v", i, out, err)
			}
		})
	}

	wait.Wait()
	if left := execs(t, id); len(left) > 0 {
		t.Errorf("when all have ended, these run: %s", strings.Join(left, ", "))
	}
}
