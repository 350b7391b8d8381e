//go:build cluster

package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// picture is what `mullion status -o json` prints about the cluster's health.
type picture struct {
	State    string
	Findings []struct{ Severity, Object, What, Do string }
}

// problems returns the objects of the findings that make the cluster unhealthy.
func (p picture) problems() []string {
	var all []string
	for _, f := range p.Findings {
		if f.Severity == "problem" {
			all = append(all, f.Object)
		}
	}
	return all
}

// status returns the picture and checks that the exit code says the same.
func (c cluster) status(ctx context.Context, t *testing.T) picture {
	t.Helper()
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, "mullion"), "status", "-o", "json")
	cmd.Env = c.env()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	var report struct{ Health picture }
	if jsonErr := json.Unmarshal(out, &report); jsonErr != nil {
		t.Fatalf("mullion status -o json: %v, %v\n%s\n%s", err, jsonErr, out, errs.String())
	}

	var exit *exec.ExitError
	if code := 0; errors.As(err, &exit) {
		code = exit.ExitCode()
		if code != 5 || report.Health.State == "healthy" {
			t.Errorf("mullion status ends with %d for a cluster that is %s", code, report.Health.State)
		}
	} else if report.Health.State != "healthy" {
		t.Errorf("mullion status ends with 0 for a cluster that is %s", report.Health.State)
	}

	return report.Health
}

// broken stops parts as if they hung; mullion status must name each of them, and nothing that only follows from one.
func (c cluster) broken(t *testing.T) {
	c.healthy(t)
	for _, tc := range []struct {
		name, want string
		stop       func(*testing.T) []int
	}{
		{"apiserver", "kube-apiserver", c.matching(`/server/bin/kube-apiserver `)},
		{"agent", "agent/win-1", c.matching(`mullion-node serve .*/win-1/`)},
		{"pipes", "pipes/win-1", c.matching(`mullion-pipe\.exe --security .*\\win-1\\pipes`)},
		{"wineserver", "kubelet/win-2", func(t *testing.T) []int {
			t.Helper()
			return []int{c.wineserver(t, "win-2")}
		}},
		{"supervisor", "supervisor", c.matching(` supervise `)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pids := tc.stop(t)
			goOn := func() {
				for _, pid := range pids {
					if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
						t.Error(err)
					}
				}
			}
			defer goOn()

			for _, pid := range pids {
				if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			}

			started := time.Now()
			p := c.status(t.Context(), t)
			took := time.Since(started)
			if got := strings.Join(p.problems(), " "); !regexp.MustCompile(`^` + tc.want + `( |$)`).MatchString(got) {
				t.Errorf("mullion status finds %q, want %s first: %+v", got, tc.want, p)
			}
			if took > 20*time.Second {
				t.Errorf("mullion status took %s", took)
			}

			goOn()
			c.healthy(t)
		})
	}
}

// matching returns a function that finds the processes whose command line matches.
func (c cluster) matching(pattern string) func(*testing.T) []int {
	return func(t *testing.T) []int {
		t.Helper()
		var pids []int
		for pid, command := range c.processes(t) {
			if regexp.MustCompile(pattern).MatchString(command) {
				pids = append(pids, pid)
			}
		}
		if len(pids) == 0 {
			t.Fatalf("no process of the cluster matches %q", pattern)
		}
		return pids
	}
}

// wineserver returns the PID of the wineserver of a Windows host itself, not of a container's.
func (c cluster) wineserver(t *testing.T, node string) int {
	t.Helper()
	for pid, command := range c.processes(t) {
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // a process may have ended
		if strings.Contains(command, "wineserver") &&
			strings.Contains(string(environ), "WINEPREFIX="+filepath.Join(c.data, "nodes", node, "prefix")+"\x00") {
			return pid
		}
	}
	t.Fatalf("host %s has no wineserver", node)
	return 0
}

// podWithoutServer kills the wineserver of a container. Its program would stand still for ever, so the kubelet must
// start the container again.
func (c cluster) podWithoutServer(t *testing.T) {
	get := func(ctx context.Context, what string) (string, error) {
		return c.mullion(ctx, t, "kubectl", "get", "pod", "serves", "-o",
			"jsonpath={.status.containerStatuses[0]."+what+"}")
	}
	id, err := get(t.Context(), "containerID")
	if err != nil {
		t.Fatal(id)
	}

	_, id, _ = strings.Cut(id, "//")
	killed := 0
	for pid, command := range c.processes(t) {
		cgroup, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid)) // a process may have ended
		if strings.Contains(command, "wineserver") && strings.Contains(string(cgroup), id) {
			killed++
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}

	if killed != 1 {
		t.Fatalf("the container has %d wineservers, want 1", killed)
	}

	poll(t, settle, func(ctx context.Context) error {
		code, err := get(ctx, "lastState.terminated.exitCode")
		ready, readyErr := get(ctx, "ready")
		if err != nil || readyErr != nil || code != "137" || ready != "true" {
			return fmt.Errorf("the container ended with %q, want 137; ready: %q", code, ready)
		}
		return nil
	})
}

// cut takes a node off the network; mend puts it back.
func (c cluster) cut(t *testing.T, node string) (mend func()) {
	t.Helper()
	pins := filepath.Join("/run/mullion", c.tag(), "netns")
	ip := func(pin string, args ...string) string {
		out, err := exec.Command("nsenter",
			append([]string{"--net=" + filepath.Join(pins, pin), "ip"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("ip %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}

	far := regexp.MustCompile(`eth0@if(\d+):`).FindStringSubmatch(ip(node, "-o", "link"))
	if far == nil {
		t.Fatalf("node %s has no eth0", node)
	}
	port := regexp.MustCompile(`(?m)^` + far[1] + `: (\w+)@`).FindStringSubmatch(ip("fabric", "-o", "link"))
	if port == nil {
		t.Fatalf("the switch has no port to node %s", node)
	}
	ip("fabric", "link", "set", port[1], "down")
	return func() { ip("fabric", "link", "set", port[1], "up") }
}

// cutOff keeps a node off the network until the cluster has given it up. When it is back, its pod must be as it was.
func (c cluster) cutOff(t *testing.T) {
	before := c.containers(t)
	mend := c.cut(t, "win-1")
	mended := false
	defer func() {
		if !mended {
			mend()
		}
	}()

	if got := c.status(t.Context(), t).problems(); len(got) != 1 || got[0] != "network/win-1" {
		t.Errorf("mullion status finds %q, want network/win-1 alone", got)
	}

	condition := func(want string) func(context.Context) error {
		return func(ctx context.Context) error {
			out, err := c.mullion(ctx, t, "kubectl", "get", "node", "win-1", "-o",
				`jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
			if err != nil || out != want {
				return fmt.Errorf("Ready is %s, want %s", out, want)
			}
			return nil
		}
	}

	within := 2 * settle
	if long, err := time.ParseDuration(os.Getenv("E2E_CUT_OFF")); err == nil { // by hand: longer than pods tolerate
		within = long
		<-time.After(long)
	}

	poll(t, within, condition("Unknown"))
	mend()
	mended = true
	started := time.Now()
	poll(t, settle, condition("True"))
	t.Logf("the node is Ready %s after it was connected again", time.Since(started).Round(time.Second))
	c.running(t)
	c.working(t)
	c.resolves(t)
	c.same(t, before)
	c.healthy(t)
}

// serving calls a pod again and again until the function returned is called, which tells how many calls there were and
// how many had no answer.
func (c cluster) serving(t *testing.T, url string) func() (asked, failed int, last error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	client := http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	var asked, failed int
	var last error
	done := make(chan struct{})
	go func() {
		defer close(done)

		for ctx.Err() == nil {
			asked++
			resp, err := client.Get(url)
			if err == nil {
				err = resp.Body.Close()
			}
			if err != nil {
				failed++
				last = err
			}

			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()

	return func() (int, int, error) {
		cancel()
		<-done
		return asked, failed, last
	}
}

// fullDisk fills the disk that images are pulled to. The cluster must report that, and work again when there is room.
func (c cluster) fullDisk(t *testing.T) {
	incoming := filepath.Join(c.data, "containerd", "root", "io.containerd.content.v1.content", "ingest")
	if err := syscall.Mount("tmpfs", incoming, "tmpfs", 0, "size=4k,mode=0700"); err != nil {
		t.Fatal(err)
	}

	mounted := true
	free := func() {
		if mounted {
			mounted = false
			if err := syscall.Unmount(incoming, 0); err != nil {
				t.Error(err)
			}
		}
	}

	defer free()
	dir := t.TempDir()
	content := make([]byte, 1<<20) // that no compression makes smaller
	if _, err := rand.Read(content); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "big.txt"), content, 0o600); err != nil {
		t.Fatal(err)
	}

	build := []string{"image", "build", dir, "-t", "mullion.local/big:v1", "--entrypoint", `C:\big.txt`}
	out, err := c.mullion(t.Context(), t, build...)
	if err == nil || !strings.Contains(out, "no space left on device") || !strings.Contains(out, "→ ") {
		t.Errorf("mullion image build onto a full disk: %v, want it to say so and what to do:\n%s", err, out)
	}

	c.working(t) // what runs goes on
	free()
	if out, err := c.mullion(t.Context(), t, build...); err != nil {
		t.Errorf("with room again: %v\n%s", err, out)
	}
	if out, err := c.mullion(t.Context(), t, "image", "rm", "mullion.local/big:v1"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
