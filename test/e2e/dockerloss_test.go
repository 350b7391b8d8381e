//go:build cluster

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
)

// dockerLosses is how often dockerLoss kills the host's agent, unless MULLION_DOCKER_LOSSES says another number.
const dockerLosses = 6

// dockerLoss kills the host's agent below containers, soon after docker run has answered, the second half of the times
// on busy processors: a container goes on, programs are run in it, and it can be removed. The agent then begins later
// from time to time, 15 s at most.
func (c cluster) dockerLoss(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	times := dockerLosses
	if text := os.Getenv("MULLION_DOCKER_LOSSES"); text != "" {
		var err error
		if times, err = strconv.Atoi(text); err != nil || times < 1 {
			t.Fatalf("MULLION_DOCKER_LOSSES=%s is no number of times", text)
		}
	}

	chance := rand.New(rand.NewPCG(testrun.Seed(t), 0))
	for i := range times {
		if i == times/2 {
			t.Cleanup(burn(t, 2))
		}

		after := time.Duration(chance.IntN(300)) * time.Millisecond
		if i == 0 {
			after = 0
		}
		name := fmt.Sprintf("k%d", i+1)
		c.docker(t, 0, "", "run", "-d", "--name", name, dockerImage, "cmd", "/c", waits)
		time.Sleep(after)
		t.Logf("the agent below %s is killed %v after the answer", name, after)
		c.kill(t, `mullion-node serve\b`)
		c.docker(t, 6, "through", "exec", name, "cmd", "/c", "echo through& exit 6")
		c.docker(t, 0, "", "rm", "-f", name)
	}
}

// burn keeps so many processors busy until the result is called.
func burn(t *testing.T, processors int) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var all []*exec.Cmd
	for range processors {
		cmd := exec.CommandContext(ctx, "sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			t.Error(err)
			continue
		}
		all = append(all, cmd)
	}
	return func() {
		cancel()
		for _, cmd := range all {
			_ = cmd.Wait()
		}
	}
}
