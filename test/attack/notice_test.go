//go:build cluster

package attack

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// noticed is what others notice of a starved machine.
type noticed struct {
	// p99 is of a neighbour's requests, exec, terminal, logs, status and start of those that people wait for.
	p99, exec, terminal, logs, status, start time.Duration
	// machine is what the kernel has given out, of what it has an end of.
	machine map[string]int64
}

// notice looks at a neighbour, the node and the machine.
func (f fixture) notice(t *testing.T, when string, all []starvation) noticed {
	t.Helper()
	n := noticed{p99: f.p99(t), machine: given(t)}
	timed := func(args ...string) time.Duration {
		t.Helper()
		begin := time.Now()
		f.must(t, args...)
		return time.Since(begin)
	}

	n.exec = timed("kubectl", "exec", "neighbour", "--", "cmd", "/c", "ver")
	n.logs = timed("kubectl", "logs", "neighbour")
	n.status = timed("status")
	n.terminal = f.terminal(t)
	f.share(t, when, kept(all))
	pod := filepath.Join(t.TempDir(), "new.yaml")
	write(t, pod, strings.ReplaceAll(pods[strings.LastIndex(pods, "---"):], "neighbour", "newcomer"))
	begin := time.Now()
	f.must(t, "kubectl", "apply", "-f", pod)
	f.must(t, "kubectl", "wait", "--for=condition=Ready", "pod/newcomer", "--timeout=90s")
	n.start = time.Since(begin)
	f.must(t, "kubectl", "delete", "-f", pod, "--timeout=60s")
	f.machineTakes(t)
	t.Logf("%s: p99 %v, exec %v, exec with a terminal %v, logs %v, status %v, a new pod %v; %v", when,
		n.p99, n.exec, n.terminal, n.logs, n.status, n.start, n.machine)

	return n
}

// share has the neighbour take eight of each.
func (f fixture) share(t *testing.T, when string, all []starvation) {
	t.Helper()
	args := []string{"sweep", "few"}
	for _, s := range all {
		if s.Most != nothing {
			args = append(args, s.Name)
		}
	}
	for name, got := range takes(t, f.exec(t, "neighbour", args...)) {
		if got.Got != 8 {
			t.Errorf("%s: the neighbour gets %d of %s, of 8", when, got.Got, name)
		}
	}
}

// p99 returns the time in which 99 of a hundred requests of the neighbour are answered.
func (f fixture) p99(t *testing.T) time.Duration {
	t.Helper()
	ip := f.must(t, "kubectl", "get", "pod", "neighbour", "-o", "jsonpath={.status.podIP}")
	var all []time.Duration
	client := http.Client{Timeout: patient(5 * time.Second), Transport: &http.Transport{DisableKeepAlives: true}}
	for range 100 {
		begin := time.Now()
		resp, err := client.Get("http://" + ip + "/")
		if err != nil {
			t.Errorf("the neighbour does not answer: %v", err)
			continue
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		all = append(all, time.Since(begin))
	}

	slices.Sort(all)
	if len(all) < 99 {
		return time.Hour
	}
	return all[98]
}

// terminal runs a program in the neighbour with a terminal, as a person at one does.
func (f fixture) terminal(t *testing.T) time.Duration {
	t.Helper()
	begin := time.Now()
	cmd := exec.CommandContext(t.Context(), "script", "--quiet", "--return", "--command",
		filepath.Join(f.bin, "mullion")+" kubectl exec -it neighbour -- cmd /c ver", os.DevNull)
	cmd.Env = append(os.Environ(), "MULLION_DATA_DIR="+filepath.Join(f.dir, "data"), "HOME="+f.dir)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Windows") {
		t.Errorf("a program with a terminal: %v\n%s", err, out)
	}
	return time.Since(begin)
}

// machineTakes has the machine itself use what pods take: a terminal, and a connection that carries something.
func (fixture) machineTakes(t *testing.T) {
	t.Helper()
	if file, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err != nil {
		t.Errorf("the machine has no terminal: %v", err)
	} else {
		_ = file.Close()
	}

	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		conn, err := server.Accept()
		if err == nil {
			_, _ = conn.Write(make([]byte, 16<<20))
			_ = conn.Close()
		}
	}()

	conn, err := net.Dial("tcp", server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patient(10 * time.Second)))
	if n, err := io.Copy(io.Discard, conn); err != nil || n != 16<<20 {
		t.Errorf("a connection of the machine's own carried %d bytes: %v", n, err)
	}
}

// given returns what the kernel has given out: terminals, pages of sockets, open files, and memory of its own that it
// cannot take back.
func given(t *testing.T) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	for name, file := range map[string]string{"terminals": "kernel/pty/nr", "files": "fs/file-nr"} {
		text, err := os.ReadFile(filepath.Join("/proc/sys", file))
		if err != nil {
			t.Fatal(err)
		}
		var n int64
		if _, err := fmt.Sscan(string(text), &n); err != nil {
			t.Fatal(err)
		}
		all[name] = n
	}

	text, err := os.ReadFile("/proc/net/sockstat")
	if err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if i := slices.Index(words, "mem"); i > 0 && i+1 < len(words) {
			n, err := strconv.ParseInt(words[i+1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			all["pages of "+strings.TrimSuffix(words[0], ":")] = n
		}
	}

	memory, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(string(memory)) {
		if rest, ok := strings.CutPrefix(line, "SUnreclaim:"); ok {
			var n int64
			if _, err := fmt.Sscan(rest, &n); err != nil {
				t.Fatal(err)
			}
			all["KiB that the kernel keeps"] = n
		}
	}

	return all
}

// compare says what is not as it was before. Times are those of a busy machine; what a person would give up on is an
// error.
func (fixture) compare(t *testing.T, before, now noticed) {
	t.Helper()
	for what, took := range map[string]time.Duration{
		"the neighbour's requests (p99)": now.p99, "exec": now.exec, "logs": now.logs, "status": now.status,
		"exec with a terminal": now.terminal,
	} {
		if took > patient(10*time.Second) {
			t.Errorf("%s: %v", what, took)
		}
	}

	// Before sockets were bounded one pod had 594,000 pages, and connections of the machine were reset.
	var least, pressure int64
	text, err := os.ReadFile("/proc/sys/net/ipv4/tcp_mem")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(text), &least, &pressure); err != nil {
		t.Fatal(err)
	}

	for _, kind := range []string{"pages of TCP", "pages of UDP"} {
		if got := now.machine[kind] - before.machine[kind]; got > pressure*3/4 {
			t.Errorf("pods have %d %s, and the machine is kept short from %d on", got, kind, pressure)
		}
	}
}

// longer names what takes a person longer than before, by more than a busy machine's own ups and downs.
func (n noticed) longer(before noticed) (all []string) {
	for _, m := range []struct {
		what        string
		before, now time.Duration
		spare       time.Duration
	}{
		{"the neighbour's requests (p99)", before.p99, n.p99, time.Second},
		{"exec", before.exec, n.exec, 2 * time.Second},
		{"exec with a terminal", before.terminal, n.terminal, 2 * time.Second},
		{"logs", before.logs, n.logs, 2 * time.Second},
		{"status", before.status, n.status, 2 * time.Second},
		{"a new pod", before.start, n.start, 8 * time.Second},
	} {
		if m.now > 2*m.before+patient(m.spare) {
			all = append(all, fmt.Sprintf("%s: %v, and %v before", m.what, m.now, m.before))
		}
	}

	return all
}

// asBefore waits until the machine is as it was, and until people are served as they were, for a minute, and for two
// looks at least: one takes long by itself where the machine has other work.
func (f fixture) asBefore(t *testing.T, before noticed, all []starvation) {
	t.Helper()
	removed := time.Now()
	deadline := removed.Add(patient(time.Minute))
	spare := map[string]int64{
		"terminals": 2, "files": 4000, "pages of TCP": 4000, "pages of UDP": 1000, "KiB that the kernel keeps": 256 << 10,
	}

	for ; ; <-time.After(500 * time.Millisecond) {
		now := given(t)
		over := map[string]int64{}
		for what, n := range now {
			if n > before.machine[what]+spare[what] {
				over[what] = n - before.machine[what]
			}
		}

		if len(over) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("a minute after the pods are gone the machine has given out more than before: %v", over)
			break
		}
	}

	for looks := 1; ; looks++ {
		longer := f.notice(t, "after the pods are gone", all).longer(before)
		if len(longer) == 0 {
			break
		}
		if time.Now().After(deadline) && looks > 1 {
			t.Errorf("a minute after the pods are gone it takes longer than before: %s", strings.Join(longer, "; "))
			break
		}
	}

	t.Logf("the machine, and what people notice, are as before after %v", time.Since(removed).Round(time.Second))
	f.nodesAreWell(t)
}

// nodesAreWell checks the conditions of the nodes.
func (f fixture) nodesAreWell(t *testing.T) {
	t.Helper()
	var nodes struct {
		Items []struct {
			Status struct {
				Conditions []struct{ Type, Status string }
			}
		}
	}

	if err := json.Unmarshal([]byte(f.must(t, "kubectl", "get", "nodes", "-o", "json")), &nodes); err != nil {
		t.Fatal(err)
	}

	for _, node := range nodes.Items {
		for _, c := range node.Status.Conditions {
			if (c.Type == "Ready") != (c.Status == "True") {
				t.Errorf("a node has the condition %s=%s", c.Type, c.Status)
			}
		}
	}
}
