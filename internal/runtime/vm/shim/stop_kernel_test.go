//go:build kernel

package shim

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/runtime/vm"
)

// TestStopEndsTheMachine: when containerd has lost the connection to a shim that lives, the machine does not live on
// without anybody who knows of it.
func TestStopEndsTheMachine(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	name := fmt.Sprintf("/mullion-test-machine-%d", os.Getpid())
	all, err := cgroup.Hierarchies()
	if err != nil {
		t.Fatal(err)
	}

	var enter []string
	for _, h := range all {
		dir, err := h.Make(name)
		if err != nil {
			t.Fatal(err)
		}
		enter = append(enter, "echo $$ >"+filepath.Join(dir, "cgroup.procs"))
	}

	t.Cleanup(func() {
		if err := cgroup.Remove(name); err != nil {
			t.Error(err)
		}
	})

	script := strings.Join(append(enter, "exec sleep 60"), " && ")
	machine := exec.CommandContext(t.Context(), "sh", "-c", script)
	if err := machine.Start(); err != nil {
		t.Fatal(err)
	}

	ended := make(chan error, 1)
	go func() { ended <- machine.Wait() }()
	for deadline := time.Now().Add(10 * time.Second); ; {
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", machine.Process.Pid))
		if string(comm) == "sleep\n" {
			break
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%q, %v", comm, err)
		}
	}

	bundles := t.TempDir()
	bundle := filepath.Join(bundles, "m1")
	spec, err := json.Marshal(vm.Spec{Dir: filepath.Join(bundles, "dir"), Cgroup: name})
	if err != nil {
		t.Fatal(err)
	}

	text, err := json.Marshal(specs.Spec{
		Annotations: map[string]string{vm.GroupAnnotation: "m1", vm.Annotation: string(spec)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(bundle, 0o700); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(bundle, "config.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}

	t.Chdir(bundle)
	if _, err := (keeper{}).Stop(t.Context(), "m1"); err != nil {
		t.Error(err)
	}

	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("the machine runs")
		_ = machine.Process.Kill()
		<-ended
	}
}
