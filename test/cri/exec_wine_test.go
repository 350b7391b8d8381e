//go:build wine

package cri

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/vm/link"
)

// TestExecOfNoPatience: a program whose caller has gone ends, however late it comes up. On a busy machine nearly every
// probe is such a caller.
func TestExecOfNoPatience(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "impatient")
	id := n.run1(t, pod, config, []string{"sleep"}, nil)

	var wait sync.WaitGroup
	for i := range 40 {
		wait.Go(func() {
			patience := time.Duration(1+i*i) * time.Millisecond // up to a second and a half
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			_, err := n.ExecSync(ctx, &runtimeapi.ExecSyncRequest{
				ContainerId: id, Cmd: []string{"cmd", "/c", `c:\app\winprog tick`}, // which never ends
			})
			if err == nil {
				t.Errorf("a program that never ends has ended after %s", patience)
			}
		})
	}

	wait.Wait()

	deadline := time.Now().Add(time.Minute)
	left := execs(t, id)
	for len(left) > 0 && time.Now().Before(deadline) {
		time.Sleep(200 * time.Millisecond)
		left = execs(t, id)
	}
	if len(left) > 0 {
		t.Errorf("a minute after their callers had gone, these run: %s", strings.Join(left, ", "))
	}

	if got := n.log(t, id); strings.Contains(got, "panic") {
		t.Errorf("the container's own program: %s", got)
	}
}

// TestExecsOfAFirstSecond: programs may start beside a container's first one, as a postStart hook's do. All of them
// find one wineserver, since the folder of its socket has a name before any of them starts.
func TestExecsOfAFirstSecond(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "hurried")
	id := n.run1(t, pod, config, []string{"sleep"}, nil)

	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			out, err := n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{
				ContainerId: id, Cmd: []string{"cmd", "/c", "exit 3"},
			})
			if err != nil || out.ExitCode != 3 {
				t.Errorf("cmd /c exit 3: %v, %v", out, err)
			}
		})
	}

	wait.Wait()

	running := processes(t, id)
	if len(running) == 0 {
		t.Fatal("the container has no process")
	}
	folders, err := filepath.Glob(filepath.Join(running[0], "root/tmp/wine-*")) // all of them see one /tmp
	if err != nil {
		t.Fatal(err)
	}

	for i, folder := range folders {
		folders[i] = filepath.Base(folder)
	}

	if diff := cmp.Diff([]string{"wine-server"}, folders); diff != "" {
		t.Errorf("folders of wineservers (-want +got):\n%s", diff)
	}
}

// processes returns the folders in /proc of a container's processes.
func processes(t *testing.T, id string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		if group, err := os.ReadFile(file); err == nil && bytes.Contains(group, []byte(id)) {
			found = append(found, filepath.Dir(file))
		}
	}
	return found
}

// idleID is what the launcher that stays in a container has in place of the id of an exec while it starts no program.
const idleID = "0000000000000000"

// execs returns the processes of execs in a container.
func execs(t *testing.T, id string) []string {
	t.Helper()
	var found []string
	for _, dir := range processes(t, id) {
		environ, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !bytes.Contains(environ, []byte(link.ExecMarker)) {
			continue // it has ended, or is no exec's
		}
		if bytes.Contains(environ, []byte(link.ExecMarker+idleID)) {
			continue
		}
		args, _ := os.ReadFile(filepath.Join(dir, "cmdline")) // it says which program it is, and no more
		found = append(found, fmt.Sprintf("%s %q", filepath.Base(dir), bytes.ReplaceAll(args, []byte{0}, []byte{' '})))
	}
	return found
}
