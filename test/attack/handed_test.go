//go:build cluster

package attack

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What pinned's containers may use, in MiB: the one that holds, each that hands over, and how much each of those hands.
const (
	holderMemory, giverMemory, handedMemory = 128, 256, 160
	givers                                  = 6
	// ownMemory is what a container has for its own Windows besides (overhead of package engine).
	ownMemory = 64
)

// pinnedPod is a pod whose containers leave their memory to one that stays.
func pinnedPod() string {
	const container = `
  - name: %s
    image: 'mullion.local/attack:v1'
    args: [%s]
    resources: {limits: {memory: %dMi}}
    volumeMounts: [{name: v, mountPath: 'C:\v'}]%s`
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: Pod\nmetadata: {name: pinned}\nspec:\n  terminationGracePeriodSeconds: 1\n" +
		"  initContainers:")
	fmt.Fprintf(&b, container, "holder", "hold, /Files/v/socket", holderMemory, "\n    restartPolicy: Always")
	for i := range givers {
		fmt.Fprintf(&b, container, "giver-"+strconv.Itoa(i), fmt.Sprintf("hand, /Files/v/socket, '%d'", handedMemory),
			giverMemory, "")
	}
	b.WriteString("\n  containers:")
	fmt.Fprintf(&b, container, "last", "serve", holderMemory, "")
	b.WriteString("\n  volumes: [{name: v, emptyDir: {}}]\n")
	return b.String()
}

// handed has containers of a pod fill files in memory, one after the other, and hand them to one that stays: what an
// ended container has left counts for none any more. The pod must not hold more than those of its containers may that
// run together.
func (f fixture) handed(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pinned.yaml")
	write(t, file, pinnedPod())
	f.must(t, "kubectl", "apply", "-f", file)
	defer func() {
		_, _ = f.mullion(context.WithoutCancel(t.Context()), "kubectl", "delete", "-f", file, "--timeout=60s")
	}()

	const may = holderMemory + giverMemory + 2*ownMemory
	var cgroup string
	var most, handed int64
	for deadline := time.Now().Add(patient(2 * time.Minute)); time.Now().Before(deadline); <-time.After(200 * time.Millisecond) {
		if cgroup == "" {
			cgroup = f.cgroupOf(t, "pinned")
			continue
		}
		most = max(most, memoryOf(t, cgroup))
		state := f.must(t, "kubectl", "get", "pod", "pinned", "-o",
			"jsonpath={.status.phase} {.status.initContainerStatuses[*].restartCount} {.status.initContainerStatuses[*].state}")
		log, _ := f.mullion(t.Context(), "kubectl", "logs", "pinned", "-c", "holder") // it may be on its way
		for _, n := range regexp.MustCompile(`holding (\d+)`).FindAllStringSubmatch(log, -1) {
			count, _ := strconv.ParseInt(n[1], 10, 64)
			handed = max(handed, count)
		}
		if strings.HasPrefix(state, "Running") || strings.Contains(state, "OOMKilled") || handed == givers {
			break
		}
	}

	t.Logf("handed: %d files of %d MiB; the pod held %d MiB at most and may hold %d", handed, handedMemory, most, may)
	if handed < 2 {
		t.Errorf("%d files were handed over: this is no attack", handed)
	}
	if most > may {
		t.Errorf("the pod held %d MiB, those of its containers that ran may hold %d", most, may)
	}
}

// cgroupOf returns the folder of a pod's cgroup that has the controller of memory; "" while there is none.
func (f fixture) cgroupOf(t *testing.T, pod string) string {
	t.Helper()
	text := f.must(t, "kubectl", "get", "pod", pod, "-o", "jsonpath={.status.initContainerStatuses[0].containerID}")
	_, id, ok := strings.Cut(text, "://")
	if !ok {
		return ""
	}
	for _, top := range []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup"} {
		found := ""
		_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == id {
				found = filepath.Dir(path)
				return fs.SkipAll
			}
			return nil // one that is gone meanwhile
		})
		if found != "" {
			return found
		}
	}
	return ""
}

// memoryOf returns how many MiB a cgroup holds; 0 if it is gone.
func memoryOf(t *testing.T, cgroup string) int64 {
	t.Helper()
	for _, name := range []string{"memory.current", "memory.usage_in_bytes"} {
		text, err := os.ReadFile(filepath.Join(cgroup, name))
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n >> 20
	}
	return 0
}
