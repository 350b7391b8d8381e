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

// execs are the processes of execs in a container.
func execs(t *testing.T, id string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		dir := filepath.Dir(file)
		environ, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(environ, []byte(link.ExecMarker)) {
			continue // it has ended, or is no exec's
		}
		if group, err := os.ReadFile(filepath.Join(dir, "cgroup")); err != nil || !bytes.Contains(group, []byte(id)) {
			continue
		}
		args, _ := os.ReadFile(filepath.Join(dir, "cmdline")) // it says which program it is, and no more
		found = append(found, fmt.Sprintf("%s %q", filepath.Base(dir), bytes.ReplaceAll(args, []byte{0}, []byte{' '})))
	}
	return found
}
