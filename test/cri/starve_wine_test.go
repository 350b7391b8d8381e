//go:build wine

package cri

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/testrun"
)

// attackImage has test/attack/prog too, as C:\app\attack.exe.
const attackImage = "mullion.test/attack:1"

func (n *node) loadAttack(t *testing.T) {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "attack.exe")
	if err := compile(t.Context(), "windows", "./test/attack/prog", exe); err != nil {
		t.Fatal(err)
	}

	data, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}

	layer, err := windowsLayer(file{"Files/App/attack.exe", data})
	if err == nil {
		err = n.load(attackImage, n.program, layer)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// starvation is what one pod takes of what the machine's programs share.
type starvation struct {
	// name is that of a starver of test/attack/prog, which knows how much it asks for.
	name string
	// most is how much it may get, and need how much its neighbour asks for meanwhile, and gets.
	most, need int
}

// starvations returns those for which no cgroup is enough.
func starvations(t *testing.T) []starvation {
	t.Helper()
	const few = 8 // what prog's sweep takes for a neighbour
	return []starvation{
		{"descriptors/terminal", 32, few},
		// Each connection has a little beyond the limit.
		{"unread/tcp", 480, few},
		{"signals/thread", 4096, few},
		{"unread/descriptors", testrun.MessagesUnderWay(t), few},
		{"ipc/semaphore-sets", 32000, few},
		{"ipc/posix-queues", 0, 0},
		{"keys/user", 0, 0},
	}
}

// TestStarvation: a pod that takes all it gets of something leaves its neighbour, and the machine, as much as they
// want.
func TestStarvation(t *testing.T) {
	n := newNode(t)
	n.loadAttack(t)
	quiet, quietConfig := n.pod(t, "neighbour")
	neighbour := n.run1(t, quiet, quietConfig, []string{"sleep"}, func(c *runtimeapi.ContainerConfig) {
		c.Image.Image = attackImage
	})

	pod, config := n.pod(t, "starve")
	for _, tt := range starvations(t) {
		t.Run(strings.ReplaceAll(tt.name, "/", "-"), func(t *testing.T) {
			id := n.run1(t, pod, config, []string{"keep", tt.name},
				func(c *runtimeapi.ContainerConfig) {
					c.Metadata.Name = strings.ReplaceAll(tt.name, "/", "-")
					c.LogPath = c.Metadata.Name + ".log"
					c.Image.Image, c.Command = attackImage, []string{`C:\app\attack.exe`}
					c.Windows.Resources = &runtimeapi.WindowsContainerResources{MemoryLimitInBytes: 256 << 20}
				})
			n.starved(t, id, tt.most)

			n.takes(t, neighbour, tt.name, tt.need)
			if _, err := n.StopContainer(t.Context(), &runtimeapi.StopContainerRequest{ContainerId: id}); err != nil {
				t.Errorf("StopContainer: %v", err)
			}
		})
	}
}

// starved waits until a container has what it gets, or was ended for want of memory: with cgroup v2 the bytes in
// sockets are memory.
func (n *node) starved(t *testing.T, id string, most int) {
	t.Helper()
	var st *runtimeapi.ContainerStatus
	eventually(t, "it says what it got, or ends", func() bool {
		st = n.status(t, id)
		return st.State == runtimeapi.ContainerState_CONTAINER_EXITED || strings.Contains(n.log(t, id), "Answer")
	})

	if !strings.Contains(n.log(t, id), "Answer") {
		if st.Reason != "OOMKilled" {
			t.Errorf("it ended for %s (%d), and said %q", st.Reason, st.ExitCode, n.log(t, id))
		}
		t.Log("it ended with its memory")
		return
	}

	got := taken(t, n.log(t, id))
	t.Logf("it got %d, of %d", got, most)
	if got > most {
		t.Errorf("it got %d, of %d", got, most)
	}
}

// takes has a container take a few, which it has to get within ten seconds of a machine's own processor.
func (n *node) takes(t *testing.T, id, name string, need int) {
	t.Helper()
	resp, err := n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{
		ContainerId: id,
		Cmd:         []string{`C:\app\attack.exe`, "sweep", "few", name},
		Timeout:     seconds(10 * time.Second),
	})
	if err != nil {
		t.Fatalf("the neighbour: %v", err)
	}
	if got := taken(t, string(resp.GetStdout())); got != need {
		t.Errorf("the neighbour got %d, of %d: %s", got, need, resp.GetStdout())
	}
}

// taken returns what a starver says that it got, in the last line of what it wrote.
func taken(t *testing.T, said string) int {
	t.Helper()
	i := strings.LastIndexByte(said, '{')
	if i < 0 {
		t.Fatalf("no answer in %q", said)
	}
	var took struct{ Got int }
	if err := json.NewDecoder(strings.NewReader(said[i:])).Decode(&took); err != nil {
		t.Fatalf("%v in %q", err, said)
	}
	return took.Got
}
