//go:build wine

package cri

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// attackImage has test/attack/prog too, as C:\app\attack.exe.
const attackImage = "mullion.test/attack:1"

func (n *node) loadAttack(t *testing.T) {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "attack.exe")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", exe,
		"./test/attack/prog")
	build.Dir, build.Env = root(), append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build attacks: %v\n%s", err, out)
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
	// what is a bomb of test/attack/prog.
	what string
	// ask is how much it asks for, and most how much it may get; 0: it ends with the container's memory before.
	ask, most int
	// need is how much its neighbour asks for meanwhile, and gets.
	need int
}

// starvations are those for which no cgroup is enough.
func starvations() []starvation {
	return []starvation{
		{"terminals", 5000, 32, 8},
		// Each connection has a little beyond the limit.
		{"tcp-mebibytes", 1500, 480, 8},
		{"signals", 10000, 4096, 8},
		{"descriptors", 1000, 80, 8}, // 253 each; Linux lets a user have as many under way as a process may have open
		{"locks", 2000, 2000, 8},
		{"semaphores", 40000, 32000, 8},
		{"queues", 8, 0, 0},
		{"keys", 8, 0, 0},
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
	for _, tt := range starvations() {
		t.Run(tt.what, func(t *testing.T) {
			id := n.run1(t, pod, config, []string{"starve", tt.what, strconv.Itoa(tt.ask), "keep"},
				func(c *runtimeapi.ContainerConfig) {
					c.Metadata.Name, c.LogPath = tt.what, tt.what+".log"
					c.Image.Image, c.Command = attackImage, []string{`C:\app\attack.exe`}
					c.Windows.Resources = &runtimeapi.WindowsContainerResources{MemoryLimitInBytes: 256 << 20}
				})
			n.waitLog(t, id, "answer")
			if got := taken(t, n.log(t, id)); got > tt.most {
				t.Errorf("it got %d, of %d", got, tt.most)
			} else {
				t.Logf("it got %d, of %d", got, tt.most)
			}
			n.takes(t, neighbour, tt.what, tt.need)
			if _, err := n.StopContainer(t.Context(), &runtimeapi.StopContainerRequest{ContainerId: id}); err != nil {
				t.Errorf("StopContainer: %v", err)
			}
		})
	}
}

// takes has a container take so much, which it has to get within ten seconds.
func (n *node) takes(t *testing.T, id, what string, need int) {
	t.Helper()
	resp, err := n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{
		ContainerId: id,
		Cmd:         []string{`C:\app\attack.exe`, "starve", what, strconv.Itoa(need)},
		Timeout:     10,
	})
	if err != nil {
		t.Fatalf("the neighbour: %v", err)
	}
	if got := taken(t, string(resp.GetStdout())); got != need {
		t.Errorf("the neighbour got %d, of %d: %s", got, need, resp.GetStdout())
	}
}

// taken is what a bomb says that it got.
func taken(t *testing.T, said string) int {
	t.Helper()
	var got int
	_, answer, _ := strings.Cut(said, `"answer":"`)
	if _, err := fmt.Sscanf(answer, "%d times", &got); err != nil {
		t.Fatalf("%v in %q", err, said)
	}
	return got
}
