//go:build cluster

package attack

import (
	"context"
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

// starvation is what a pod takes of something that the machine's programs share, until there is no more of it.
type starvation struct {
	// what is a bomb of prog.
	what string
	// ask is how much it asks for, and most how much it may get; 0: it gets nothing, lethal: its memory ends before.
	ask, most int
	// root is how much the machine's root asks for, without a container around it, and gets.
	root int
}

// lethal is for what ends with the memory of the container, which is ended then: by Linux, or by its node where Linux
// does not count the memory.
const lethal = -1

// starvations are for a container with 256 MiB of memory.
func starvations() []starvation {
	return []starvation{
		{"terminals", 5000, 32, 64},
		{"tcp-mebibytes", 1500, 480, 500},
		{"udp-receivers", 6000, 6000, 300}, // of bytes there is a bound: of all the machine's sockets see below
		{"netlink-answers", 50000, lethal, 300},
		{"ping-answers", 50000, lethal, 300},
		{"unix-mebibytes", 2000, lethal, 400},
		{"pipe-mebibytes", 2000, 320, 400},
		{"memory-files", 2000, lethal, 400},
		{"epoll-watches", 200000, 200000, 100000},
		{"descriptors", 1000, 80, 100},
		{"locks", 2000, 2000, 100},
		{"signals", 10000, 4096, 5000},
		{"semaphores", 40000, 32000, 100},
		{"messages", 40000, 32000, 100},
		{"segments", 5000, 4096, 100},
		{"locked-memory", 1000, 64, 80},
		{"maps", 100000, 65536, 100},
		{"queues", 8, 0, 8},
		{"keys", 8, 0, 8},
	}
}

// starvePod is a pod for each of them.
const starvePod = `
---
apiVersion: v1
kind: Pod
metadata: {name: starve-%[1]s, labels: {wing: starvation}}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - name: attack
    image: 'mullion.local/attack:v1'
    args: [starve, %[1]s, '%[2]d', keep]
    resources: {limits: {memory: 256Mi}}
`

// starvedByRoot has the machine's root take more than a pod may: so it is known that there is more of it.
func starvedByRoot(t *testing.T, program string) {
	t.Helper()
	reached := 0
	for _, s := range starvations() {
		cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--ipc", "--net", "sh", "-c",
			"mount -t tmpfs none /tmp; ulimit -n 100000; ulimit -l unlimited; ip link set lo up; "+
				"echo 0 0 >/proc/sys/net/ipv4/ping_group_range; exec "+program+" starve "+s.what+" "+strconv.Itoa(s.root))
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("control %s: %v", s.what, err)
			continue
		}
		if got := bombGot(t, string(out)); got < s.root {
			t.Errorf("control %s: root gets %d, of %d", s.what, got, s.root)
			continue
		}
		reached++
	}
	t.Logf("starvation: root gets more than a pod, or as much as it asks for, of %d of %d", reached, len(starvations()))
}

// bombGot is what a bomb says that it got.
func bombGot(t *testing.T, said string) int {
	t.Helper()
	var got int
	_, answer, _ := strings.Cut(said, `"answer":"`)
	if _, err := fmt.Sscanf(answer, "%d times", &got); err != nil {
		t.Fatalf("%v in %q", err, said)
	}
	return got
}

// starve has all of them starve the machine at once, and looks what others notice. By MULLION_ATTACK_EACH each is alone
// besides.
func (f fixture) starve(t *testing.T) {
	before := f.notice(t, "before")
	if os.Getenv("MULLION_ATTACK_EACH") != "" {
		for _, s := range starvations() {
			t.Run(s.what, func(t *testing.T) { f.starveWith(t, before, s) })
		}
	}
	t.Run("all", func(t *testing.T) { f.starveWith(t, before, starvations()...) })
}

func (f fixture) starveWith(t *testing.T, before noticed, all ...starvation) {
	t.Helper()
	var manifest strings.Builder
	for _, s := range all {
		fmt.Fprintf(&manifest, starvePod, s.what, s.ask)
	}
	file := filepath.Join(t.TempDir(), "starve.yaml")
	write(t, file, manifest.String())
	f.must(t, "kubectl", "apply", "-f", file)
	t.Cleanup(func() {
		_, _ = f.mullion(context.WithoutCancel(t.Context()), "kubectl", "delete", "-f", file, "--ignore-not-found",
			"--timeout=60s")
	})
	for _, s := range all {
		f.starved(t, s)
	}
	f.compare(t, before, f.notice(t, "while pods starve the machine"))
	f.must(t, "kubectl", "delete", "-f", file, "--timeout=60s")
	f.asBefore(t, before)
}

// starved waits until a pod has all that it gets, and compares that.
func (f fixture) starved(t *testing.T, s starvation) {
	t.Helper()
	pod := "starve-" + s.what
	for deadline := time.Now().Add(patient(2 * time.Minute)); ; <-time.After(500 * time.Millisecond) {
		phase := f.must(t, "kubectl", "get", "pod", pod, "-o", "jsonpath={.status.phase}")
		if phase == "Failed" && s.most == lethal {
			t.Logf("%s: ended with its memory", s.what)
			return
		}
		if phase == "Running" || phase == "Failed" {
			if log := f.must(t, "kubectl", "logs", pod); strings.Contains(log, "answer") {
				got := bombGot(t, log)
				t.Logf("%s: got %d, of %d", s.what, got, s.ask)
				if s.most != lethal && got > s.most {
					t.Errorf("%s: got %d, may have %d", s.what, got, s.most)
				}
				if s.most == lethal {
					t.Errorf("%s: got %d, and its memory did not end", s.what, got)
				}
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %s has not said what it got", phase, pod)
		}
	}
}

// noticed is what others notice of a starved machine.
type noticed struct {
	// p99 is of a neighbour's requests, exec, terminal, logs, status and start of those that people wait for.
	p99, exec, terminal, logs, status, start time.Duration
	// machine is what the kernel has given out, of what it has an end of.
	machine map[string]int64
}

// notice looks at a neighbour, the node and the machine.
func (f fixture) notice(t *testing.T, when string) noticed {
	t.Helper()
	n := noticed{p99: f.p99(t), machine: given(t)}
	took := func(args ...string) time.Duration {
		t.Helper()
		begin := time.Now()
		f.must(t, args...)
		return time.Since(begin)
	}
	n.exec = took("kubectl", "exec", "neighbour", "--", "cmd", "/c", "ver")
	n.logs = took("kubectl", "logs", "neighbour")
	n.status = took("status")
	n.terminal = f.terminal(t)
	for _, s := range starvations() {
		if s.most == 0 || s.most == lethal {
			continue
		}
		if got := bombGot(t, f.exec(t, "neighbour", "starve", s.what, "8")); got != 8 {
			t.Errorf("%s: the neighbour gets %d of %s, of 8", when, got, s.what)
		}
	}
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

// p99 is the time in which 99 of a hundred requests of the neighbour are answered.
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

// given is what the kernel has given out: terminals, pages of sockets, open files.
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

// asBefore waits until the machine is as it was, for a minute.
func (f fixture) asBefore(t *testing.T, before noticed) {
	t.Helper()
	spare := map[string]int64{"terminals": 2, "files": 4000, "pages of TCP": 4000, "pages of UDP": 1000}
	for deadline := time.Now().Add(patient(time.Minute)); ; <-time.After(500 * time.Millisecond) {
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
