//go:build cluster

package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/process/proc"
)

// twoMachines makes two network namespaces that stand for machines on one network, each with a data folder.
func twoMachines(t *testing.T) (server, other cluster) {
	t.Helper()
	needs(t, ownCluster("E2E_DATA_DIR names a cluster of one machine"))

	machine := func(name string) cluster {
		ns := fmt.Sprintf("me-%s-%d", name, os.Getpid())
		if out, err := exec.Command("ip", "netns", "add", ns).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		t.Cleanup(func() {
			if out, err := exec.Command("ip", "netns", "del", ns).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})

		c := newCluster(t)
		c.netns = "/run/netns/" + ns
		return c
	}

	server, other = machine("server"), machine("other")
	script := fmt.Sprintf(`set -e
ip -n %[1]s link add eth0 type veth peer name eth0 netns %[2]s
for m in "%[1]s 1" "%[2]s 2"; do set -- $m
  ip -n $1 link set lo up; ip -n $1 addr add 198.51.100.$2/24 dev eth0; ip -n $1 link set eth0 up
done`, filepath.Base(server.netns), filepath.Base(other.netns))
	if out, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	return server, other
}

// TestSeveralMachines joins a Windows node from a second machine, lets its pod answer the first machine, and lets the
// machine leave and join again.
func TestSeveralMachines(t *testing.T) {
	sideBySide(t)
	server, other := twoMachines(t)
	join := []string{
		"join", "--server", "198.51.100.1:6443", "--token", "abcdef.0123456789abcdef", "--ca-cert-hash",
		"sha256:" + strings.Repeat("0", 64),
	}
	other.refused(t, exit.NotReady, "cannot be reached", append(join, "--discovery-timeout", "0s")...)

	t.Cleanup(func() { server.takeDown(t) })
	out := server.must(t, "server", "--advertise-address", "198.51.100.1")
	line := regexp.MustCompile(`(?m)^ +mullion (join .*)$`).FindStringSubmatch(out)
	if line == nil {
		t.Fatalf("mullion server prints no command to join by:\n%s", out)
	}

	good := append(strings.Fields(line[1]), "--windows-version", "ltsc2019", "--verbose") // which names each part
	with := func(flag, value string) []string {
		args := append([]string{}, good...)
		for i := range args {
			if args[i] == flag {
				args[i+1] = value
			}
		}
		return args
	}
	other.refused(t, exit.Refused, "unknown or has expired", with("--token", "abcdef.0123456789abcdef")...)
	id, _, _ := strings.Cut(good[slices.Index(good, "--token")+1], ".")
	other.refused(t, exit.Refused, "secret is not the one", with("--token", id+".0123456789abcdef")...)
	brief := strings.TrimSpace(server.must(t, "token", "create", "--ttl", "1s"))
	<-time.After(2 * time.Second)
	other.refused(t, exit.Refused, "unknown or has expired", with("--token", brief)...)
	server.must(t, "kubectl", "create", "-f", taken(t))
	other.refused(t, exit.Conflict, "the cluster has a node of that name", append(good, "--name", "taken")...)
	server.must(t, "kubectl", "delete", "node", "taken")
	other.refused(t, exit.Refused, "authority is another one",
		with("--ca-cert-hash", "sha256:"+strings.Repeat("0", 64))...)

	clocks(t, server, other, with)

	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		logs(t, other)
		other.takeDown(t)
	})

	for _, moment := range []string{"this machine is number 1", "ok   identity/m1-win-1"} {
		other.killed(t, moment, good...)
		other.must(t, "leave")
		server.unclaimed(t, other)
	}

	cutOff(t, server, other, good)

	began := time.Now()
	t.Logf("%s%.1fs", other.must(t, good...), time.Since(began).Seconds())
	nodes := server.must(t, "kubectl", "get", "nodes", "-o", "wide", "--no-headers")
	if !regexp.MustCompile(`^m1-win-1 +Ready .* 10\.213\.1\.11 .*10\.0\.17763`).MatchString(nodes) {
		t.Fatalf("the nodes are:\n%s", nodes)
	}

	answers(t, server, other)
	keepsVolume(t, server, other)
	balanced(t, server, other)
	out, err := other.mullion(t.Context(), t, "kubectl", "get", "nodes")
	if err == nil || !strings.Contains(out, "no administrator's rights") {
		t.Errorf("mullion kubectl on a machine that joined: %v\n%s", err, out)
	}

	other.must(t, "leave")
	server.unclaimed(t, other)
	other.must(t, good...) // it joins again, as number 1
	if out := server.must(t, "kubectl", "get", "nodes", "-o", "name"); !strings.Contains(out, "node/m1-win-1") {
		t.Errorf("the machine that came again has nodes %s", out)
	}
	other.must(t, "leave")
	server.unclaimed(t, other)
}

// taken writes a manifest of a node, whose name is then taken.
func taken(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "node.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: v1\nkind: Node\nmetadata: {name: taken}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// until runs mullion until it prints a text, and then calls then.
func (c cluster) until(t *testing.T, says string, then func(*exec.Cmd), args ...string) (string, error) {
	t.Helper()
	args = c.on(append([]string{filepath.Join(c.bin, "mullion")}, args...)...)
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = c.env()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()

	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	_ = write.Close()
	var out strings.Builder
	done := false
	for lines := bufio.NewScanner(read); lines.Scan(); {
		fmt.Fprintln(&out, lines.Text())
		if !done && strings.Contains(lines.Text(), says) {
			done = true
			then(cmd)
		}
	}

	err = cmd.Wait()
	if !done {
		t.Fatalf("mullion %s never says %q: %v\n%s", strings.Join(args, " "), says, err, out.String())
	}
	return out.String(), err
}

// killed ends a command by kill -9 when it prints a text. nsenter replaces itself by the program, so it is the program
// that is killed.
func (c cluster) killed(t *testing.T, says string, args ...string) {
	t.Helper()
	_, _ = c.until(t, says, func(cmd *exec.Cmd) { _ = cmd.Process.Kill() }, args...)
}

// unclaimed checks that the cluster has nothing of the other machine left, and the machine nothing of the cluster.
func (c cluster) unclaimed(t *testing.T, other cluster) {
	t.Helper()
	if left := other.traces(t); len(left) > 0 {
		t.Errorf("left behind on the machine:\n%s", strings.Join(left, "\n"))
	}

	poll(t, settle, func(ctx context.Context) error { // upstream's garbage collector gives the part back
		out, err := c.mullion(ctx, t, "kubectl", "get", "nodes,configmaps", "-n", "mullion-system", "-o", "name")
		if err == nil && (strings.Contains(out, "node/") || strings.Contains(out, "machine-1")) {
			err = fmt.Errorf("the cluster still has: %s", out)
		}
		if err == nil {
			out, err = c.mullion(ctx, t, "kubectl", "get", "configmaps", "-n", "mullion-volumes", "-o", "name")
		}
		if err == nil && strings.Contains(out, "m1-win-1") {
			err = fmt.Errorf("the cluster still has what was wanted of volumes: %s", out)
		}

		return err
	})
}

// cutOff makes the server unreachable when a node has its certificate. The join then fails and leaves nothing but a
// note on the machine. When the server can be reached again, everything can be removed.
func cutOff(t *testing.T, server, other cluster, good []string) {
	t.Helper()
	link := func(state string) {
		if out, err := exec.Command("ip", "-n", filepath.Base(server.netns), "link", "set", "eth0",
			state).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	defer link("up")

	out, err := other.until(t, "ok   identity/m1-win-1", func(*exec.Cmd) { link("down") },
		append(good, "--wait", "45s")...)
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != exit.NotReady || !strings.Contains(out, "mullion leave") {
		t.Errorf("a join whose server is cut off ends with %v:\n%s", err, out)
	}
	if left, err := proc.Labelled(other.data); err != nil || len(left) > 0 {
		t.Errorf("a join whose server is cut off leaves processes %v, %v", left, err)
	}

	link("up")
	other.must(t, "leave")
	server.unclaimed(t, other)
}

// answers runs a pod on the other machine, which has to answer the server's machine over the underlay; its log must be
// readable through the API server.
func answers(t *testing.T, server, other cluster) {
	t.Helper()
	other.must(t, "image", "load", filepath.Join(other.bin, "webserver.tar"))
	server.must(t, "kubectl", "run", "web", "--image=mullion.local/webserver:v1", "--image-pull-policy=Never")
	server.must(t, "kubectl", "wait", "--for=condition=Ready", "pod/web", "--timeout=60s")
	ip := strings.TrimSpace(server.must(t, "kubectl", "get", "pod", "web", "-o", "jsonpath={.status.podIP}"))
	client := http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{DialContext: proc.DialIn(server.netns), DisableKeepAlives: true},
	}

	deadline := time.Now().Add(settle)
	for {
		resp, err := client.Get("http://" + ip + "/")
		if err == nil {
			body, readErr := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK || readErr != nil {
				t.Errorf("the pod answers %s %q, %v", resp.Status, body, readErr)
			}
			break
		}

		if time.Now().After(deadline) {
			t.Fatalf("the pod on the other machine does not answer: %v", err)
		}
		<-time.After(300 * time.Millisecond)
	}

	if out := server.must(t, "kubectl", "exec", "web", "--", "cmd", "/c", "ver"); !strings.Contains(out, "10.0.17763") {
		t.Errorf("exec over the API server: %s", out)
	}
	server.must(t, "kubectl", "delete", "pod", "web", "--wait=false")
}
