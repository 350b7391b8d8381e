//go:build cluster

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
)

// ledger is a StatefulSet that numbers requests and writes the numbers to a volume on a Windows node's disk, with a
// Service in front of it.
const ledger = `
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: ledger}
spec:
  serviceName: ledger
  selector: {matchLabels: {app: ledger}}
  template:
    metadata: {labels: {app: ledger}}
    spec:
      nodeSelector: {kubernetes.io/hostname: win-2}
      terminationGracePeriodSeconds: 1
      containers:
      - name: ledger
        image: mullion.local/e2e:v1
        args: [ledger, 'C:\data\ledger', ':80']
        volumeMounts: [{name: data, mountPath: 'C:\data'}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 100Mi}}}
---
apiVersion: v1
kind: Service
metadata: {name: ledger}
spec: {type: NodePort, selector: {app: ledger}, ports: [{port: 80, nodePort: 31982}]}
`

// kinds returns the processes that may be killed at any time: each kind's name, and a pattern of its command line.
func kinds() map[string]string {
	return map[string]string{
		"agent":                   `mullion-node serve `,
		"containerd":              `/containerd --config `,
		"coredns":                 `^coredns `,
		"etcd":                    `/server/bin/etcd `,
		"first process of a host": `mullion-node host-init `,
		"kube-apiserver":          `/server/bin/kube-apiserver `,
		"kube-controller-manager": `/server/bin/kube-controller-manager `,
		"kube-proxy":              `/kubernetes/kube-proxy `,
		"kube-proxy.exe":          `^C:\\k\\kube-proxy\.exe `,
		"kube-scheduler":          `/server/bin/kube-scheduler `,
		"kubelet":                 `/kubernetes/kubelet `,
		"kubelet.exe":             `^C:\\k\\kubelet\.exe `,
		"metrics-server":          `^metrics-server `,
		"mullion-pipe.exe":        `mullion-pipe\.exe --security `,
		"supervisor":              ` supervise `,
	}
}

// losses returns what others may take from the machine's network at any time: each with the command that does it, and
// one that succeeds when it is there again.
func (c cluster) losses() map[string][2]string {
	link := "mullion" + c.tag()
	return map[string][2]string{
		"nftables' rules":    {"nft delete table ip mullion_" + link, "nft list table ip mullion_" + link},
		"the machine's link": {"ip link del " + link, "ip -br addr show up dev " + link + " | grep /"},
	}
}

// lose takes something from the machine's network, and returns how long it took until it was there again.
func (c cluster) lose(t *testing.T, what [2]string) time.Duration {
	t.Helper()
	begin := time.Now()
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", what[0]).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", what[0], err, out)
	}

	poll(t, settle, func(ctx context.Context) error {
		out, err := exec.CommandContext(ctx, "sh", "-c", what[1]).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", what[1], err, out)
		}
		return nil
	})
	c.healthy(t)

	return time.Since(begin)
}

// chaos kills processes of the cluster at random, one after the other, as often as E2E_KILLS says, and takes links and
// tables from the machine's network besides. Meanwhile a client asks the ledger. No number that was written may be
// lost, and no container may be started again. MULLION_TEST_SEED repeats a run.
func (c cluster) chaos(t *testing.T) {
	t.Helper()
	testrun.Once(t, testrun.Loss)
	kills, seed := 10, testrun.Seed(t)
	if text := os.Getenv("E2E_KILLS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("E2E_KILLS: %v", err)
		}
		kills = n
	}

	t.Logf("E2E_KILLS=%d", kills)
	chance := rand.New(rand.NewPCG(seed, 0))
	c.apply(t, survivors+ledger)
	c.running(t)
	url := "http://" + c.firstNode(t) + ":31982/"
	poll(t, settle, func(ctx context.Context) error {
		_, err := number(ctx, url)
		return err
	})

	before, ledgerBefore := c.containers(t), c.ledgerContainer(t)
	asker := client{
		url:  url,
		end:  make(chan struct{}),
		done: make(chan struct{}),
	}

	go asker.run(context.WithoutCancel(t.Context()))
	took := map[string][]time.Duration{}
	for range kills {
		kind, seconds := c.killOne(t, chance)
		took[kind] = append(took[kind], seconds)
		time.Sleep(time.Duration(chance.IntN(1000)) * time.Millisecond)
	}

	close(asker.end)
	<-asker.done
	c.working(t)
	if after := c.containers(t); after != before {
		t.Errorf("containers before:\n%s\nand after:\n%s", before, after)
	}
	if after := c.ledgerContainer(t); after != ledgerBefore {
		t.Errorf("the ledger's container was %q and is %q", ledgerBefore, after)
	}

	lost := c.lost(t, asker.got)
	t.Logf("%s%d kills; of %d requests through a Service %d got no answer, the longest pause was %s; lines lost: %d",
		table(took), kills, asker.asked, asker.asked-len(asker.got), asker.longest.Round(100*time.Millisecond), lost)
	if lost > 0 || len(asker.got) < kills {
		t.Errorf("of %d numbers %d are lost; the last error of the client: %v", len(asker.got), lost, asker.last)
	}

	for _, what := range []string{"statefulset/ledger", "service/ledger", "pvc/data-ledger-0"} {
		if out, err := c.mullion(t.Context(), t, "kubectl", "delete", what, "--wait=false"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// killOne kills one process and returns its kind, and how long it took until the cluster was healthy again.
func (c cluster) killOne(t *testing.T, chance *rand.Rand) (string, time.Duration) {
	t.Helper()
	all, losses := kinds(), c.losses()
	names := append(slices.Sorted(maps.Keys(all)), slices.Sorted(maps.Keys(losses))...)
	for {
		kind := names[chance.IntN(len(names))]
		if what, ok := losses[kind]; ok {
			return kind, c.lose(t, what)
		}

		match := regexp.MustCompile(all[kind])
		var pids []int
		for pid, command := range c.processes(t) {
			if match.MatchString(command) {
				pids = append(pids, pid)
			}
		}
		if len(pids) == 0 {
			t.Fatalf("no process of the cluster is a %s: %s", kind, all[kind])
		}

		slices.Sort(pids)
		pid := pids[chance.IntN(len(pids))]
		begin := time.Now()
		if err := syscall.Kill(pid, syscall.SIGKILL); errors.Is(err, syscall.ESRCH) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}

		if kind == "supervisor" {
			c.up(t)
		}
		c.recovered(t, match, len(pids), pid)
		c.healthy(t)
		return kind, time.Since(begin)
	}
}

// recovered waits until there are as many processes of a kind as before, and the one that was killed is gone.
func (c cluster) recovered(t *testing.T, match *regexp.Regexp, many, killed int) {
	t.Helper()
	until(t, settle, func() error {
		n := 0
		for pid, command := range c.processes(t) {
			if match.MatchString(command) && pid != killed {
				n++
			}
		}
		if n < many {
			return fmt.Errorf("%d of %d processes that match %s", n, many, match)
		}
		return nil
	})
}

// table has a row for each kind: how many kills, and the median and the slowest recovery.
func table(took map[string][]time.Duration) string {
	text := fmt.Sprintf("\n%-26s %5s %8s %8s\n", "killed", "times", "median", "slowest")
	var every []time.Duration
	row := func(name string, all []time.Duration) {
		slices.Sort(all)
		text += fmt.Sprintf("%-26s %5d %7.1fs %7.1fs\n", name, len(all), all[len(all)/2].Seconds(),
			all[len(all)-1].Seconds())
	}
	for _, kind := range slices.Sorted(maps.Keys(took)) {
		row(kind, took[kind])
		every = append(every, took[kind]...)
	}
	row("all", every)
	return text
}

// client asks the ledger again and again.
type client struct {
	url       string
	end, done chan struct{}
	asked     int
	got       []int // the numbers that it was given
	longest   time.Duration
	last      error
}

func (c *client) run(ctx context.Context) {
	defer close(c.done)

	answered := time.Now()
	for {
		select {
		case <-c.end:
			return
		case <-time.After(50 * time.Millisecond):
		}

		c.asked++
		n, err := number(ctx, c.url)
		if err != nil {
			c.last = err
			continue
		}
		c.got = append(c.got, n)
		c.longest = max(c.longest, time.Since(answered))
		answered = time.Now()
	}
}

// number asks the ledger for the next number.
func number(ctx context.Context, url string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}

	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}

	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// lost counts the numbers that the client got and that are missing in the ledger; it reports what else is wrong there.
func (c cluster) lost(t *testing.T, got []int) int {
	t.Helper()
	out, err := c.mullion(t.Context(), t, "kubectl", "exec", "ledger-0", "--", "tool", "cat", `C:\data\ledger`)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	_, out, _ = strings.Cut(out, "ledger: ") // tool cat prints the file's name first
	written := map[int]bool{}
	for i, line := range strings.Fields(out) {
		n, err := strconv.Atoi(line)
		if err != nil || n != i+1 {
			t.Fatalf("line %d of the ledger is %q", i+1, line)
		}
		written[n] = true
	}

	lost := 0
	for i, n := range got {
		if !written[n] || (i > 0 && n <= got[i-1]) {
			lost++
		}
	}

	return lost
}

// ledgerContainer returns the ID of the ledger's container and how often it was started again.
func (c cluster) ledgerContainer(t *testing.T) string {
	t.Helper()
	out, err := c.mullion(t.Context(), t, "kubectl", "get", "pod", "ledger-0", "-o",
		`jsonpath={.status.containerStatuses[0].containerID} {.status.containerStatuses[0].restartCount}`)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}
