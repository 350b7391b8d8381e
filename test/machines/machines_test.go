//go:build machines

package machines

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/test/machines/guest"
)

// slice is the machine that the rung tries within `make test`, and only in the short form (trial.short): it is the
// machine with the most obstacles.
const slice = "bookworm-hardened"

// stepsName is the variable that chooses some of the steps: "short" is up, the sample's page, a single container and
// down; "work" is what pods do, and "faults" are faults. The last two begin with up and the page, too, and end with
// down. A whole row takes an hour or more. "attacks" is none of a row: the suite of attacks, with a cluster of its own.
const stepsName = "MULLION_MACHINES_STEPS"

// chosen returns the machines that MULLION_MACHINES names ("all", or names with commas), or without it the slice. whole
// says that all steps are taken.
func chosen(t *testing.T) (machines []guest.Machine, whole bool) {
	t.Helper()
	names := os.Getenv("MULLION_MACHINES")
	if names == "all" {
		return guest.Machines(), true
	}
	whole = names != ""
	if !whole {
		names = slice
	}

	for name := range strings.SplitSeq(names, ",") {
		m, err := guest.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		machines = append(machines, m)
	}

	return machines, whole
}

func TestMachines(t *testing.T) {
	testrun.Once(t, testrun.Follows)
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for _, program := range []string{"qemu-system-x86_64", "debootstrap", "mke2fs"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s: make deps FOR=machines", program)
		}
	}

	machines, whole := chosen(t)
	cache, err := guest.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	payload := filepath.Join(t.TempDir(), "payload")
	if err := guest.Payload("../..", payload); err != nil {
		t.Fatal(err)
	}

	if os.Getenv(stepsName) == "attacks" {
		if err := guest.AddAttacks(t.Context(), "../..", payload); err != nil {
			t.Fatal(err)
		}
	} else if whole {
		if err := guest.AddTests(t.Context(), "../..", payload); err != nil {
			t.Fatal(err)
		}
	}

	packages, err := guest.Needs(t.Context(), "../..")
	if err != nil {
		t.Fatal(err)
	}

	for _, m := range machines {
		t.Run(m.Name, func(t *testing.T) {
			r := newResult(t, m)
			if os.Getenv(stepsName) != "attacks" {
				defer record(t, r)
			}
			begin := time.Now()
			disk, err := guest.MakeDisk(t.Context(), cache, m, packages, func(line string) { t.Log(line) })
			if err != nil {
				t.Fatal(err)
			}

			r.Kernel = disk.Version
			t.Logf("the disk took %s", time.Since(begin).Round(time.Second))
			g, err := guest.Boot(t.Context(), guest.Options{
				Machine:     m,
				Disk:        disk,
				Payload:     payload,
				Work:        t.TempDir(),
				Accelerator: os.Getenv("MULLION_MACHINES_ACCEL"),
			})
			t.Cleanup(g.Stop)
			if err != nil {
				t.Fatal(err)
			}

			try := &trial{
				guest:   g,
				machine: m,
				result:  r,
			}

			switch steps := os.Getenv(stepsName); {
			case steps == "attacks":
				try.attacks(t)
			case !whole, steps == "short":
				try.short(t)
			case steps == "", steps == "work", steps == "faults":
				try.whole(t, steps)
			default:
				t.Fatalf("%s is short, work, faults or attacks, not %q", stepsName, steps)
			}
		})
	}
}

// trial is what is tried on one guest. The steps come one after the other. If a step lacks what an earlier one should
// have left, the test ends.
type trial struct {
	guest   *guest.Guest
	machine guest.Machine
	result  *Result
	before  string // what was on the machine before the first cluster
}

// step runs a step as a subtest, records how it went, and reports whether it passed.
func (try *trial) step(t *testing.T, name string, do func(ctx context.Context, t *testing.T)) bool {
	t.Helper()
	return try.within(t, most, name, do)
}

// within does a step that may take so long.
func (try *trial) within(
	t *testing.T, most time.Duration, name string, do func(ctx context.Context, t *testing.T),
) bool {
	t.Helper()
	begin := time.Now()
	ok := t.Run(name, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), most)
		defer cancel()
		do(ctx, t)
	})
	try.result.Add(name, ok, time.Since(begin))
	t.Logf("%s: %s took %s", try.machine.Name, name, time.Since(begin).Round(time.Second))
	return ok
}

// run runs a script as root and returns its output; an error ends the test.
func (try *trial) run(ctx context.Context, t *testing.T, script string) string {
	t.Helper()
	out, err := try.guest.Run(ctx, script)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// eventually repeats a script until its output matches.
func (try *trial) eventually(ctx context.Context, t *testing.T, pattern, script string) string {
	t.Helper()
	want := regexp.MustCompile("(?s)" + pattern)
	for {
		out, err := try.guest.Run(ctx, script)
		if err == nil && want.MatchString(out) {
			return out
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%q never printed %q (%v):\n%s", script, pattern, err, out)
		case <-time.After(5 * time.Second):
		}
	}
}

const (
	// upWait is the --wait of `mullion up`: an emulated processor is some twenty times slower.
	upWait = 30 * time.Minute
	// most is how long one step may take, and mostAttacks that of all attacks.
	most, mostAttacks = 40 * time.Minute, 100 * time.Minute
	// patience is how many times as long a test may wait that is written for a machine's own processor.
	patience = 10
)

const clusterYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion
nodes:
- os: linux
  taint: true
- windowsVersion: ltsc2022
`

// short tries the way from boot to a served page to `mullion down`.
func (try *trial) short(t *testing.T) {
	t.Helper()
	_ = try.step(t, "up", try.up) &&
		try.step(t, "sample", try.sample) &&
		try.step(t, "run", try.single)
	try.step(t, "down", try.down)
}

// whole tries everything, or one half of it.
func (try *trial) whole(t *testing.T, half string) {
	t.Helper()
	defer try.step(t, "down-at-last", try.down)
	if !try.step(t, "up", try.up) || !try.step(t, "sample", try.sample) {
		return
	}
	if half != "faults" {
		try.work(t)
	}
	if half != "work" {
		try.faults(t)
	}
}

// work tries what pods of both systems do.
func (try *trial) work(t *testing.T) {
	t.Helper()
	try.step(t, "run", try.single)
	for _, script := range []string{"exec", "interact", "sample", "linux", "limits", "metrics", "storage"} {
		try.step(t, "script-"+script, func(ctx context.Context,
			t *testing.T,
		) {
			t.Helper()
			try.script(ctx, t, script)
		})
	}
	try.step(t, "net-test", try.flows)
}

// faults tries what a cluster lives through, from stop to kill -9, with data that it must keep.
func (try *trial) faults(t *testing.T) {
	t.Helper()
	try.step(t, "kept-data", try.claim)
	try.step(t, "stop-and-up", func(ctx context.Context, t *testing.T) {
		t.Helper()
		try.run(ctx, t, "mullion stop")
		// This time from a systemd unit; systemd ends all processes of a unit together with it.
		try.again(ctx, t, "systemd-run --quiet --wait --pipe --setenv=HOME=/root ")
	})
	try.step(t, "firewall-restarts", try.firewalls)
	try.step(t, "net-test-after-them", try.flows)
	try.step(t, "reboot", func(ctx context.Context, t *testing.T) {
		t.Helper()
		if err := try.guest.Reboot(ctx); err != nil {
			t.Fatal(err)
		}
		try.again(ctx, t, "")
	})

	for _, k := range []struct{ name, pattern string }{
		{"kubelet.exe", `^C:.k.kubelet.exe `},
		{"agent", `mullion-node serve `},
		{"containerd", `bin/containerd --config /var/lib/mullion/`},
		{"apiserver", `/server/bin/kube-apiserver `},
		{"supervisor", ` supervise --start-limit`},
	} {
		try.step(t, "kill-"+k.name, func(ctx context.Context, t *testing.T) {
			t.Helper()
			// The shell that runs this has the pattern in its own command line; the pattern must not match there.
			try.run(ctx, t, fmt.Sprintf("pids=$(pgrep -f -- %q | grep -vx $$); test -n \"$pids\"; kill -9 $pids",
				bracketed(k.pattern)))
			try.again(ctx, t, "")
		})
	}

	try.step(t, "down", try.down)
	try.step(t, "up-once-more", try.up)
	try.step(t, "sample-once-more", try.sample)
}

// bracketed returns a pattern that matches the same text but not itself.
func bracketed(pattern string) string {
	i := strings.IndexAny(pattern, "ckns")
	return pattern[:i] + "[" + pattern[i:i+1] + "]" + pattern[i+1:]
}

// traces lists what a cluster could leave on a machine. Anything that is there both before and after is the machine's
// own.
const traces = `
findmnt -rno TARGET | grep -v -e '^/run/user' -e '^/run/credentials' | sort
ip -br link | awk '{print "link " $1}'
ip rule; ip route; ip -6 route 2>/dev/null | grep -v '^fe80' | sed 's/ expires [0-9]*sec//'
nft list tables | grep -v '^#'
find /sys/fs/cgroup -type d -name '*mullion-*' -o -type d -name '*mullion*.scope'
ls -d /run/mullion/* /var/lib/mullion /run/containerd/* 2>/dev/null
ps -eo args | grep -e '[m]ullion' -e '[C]:.windows' -e '[w]ineserver' -e '[c]ontainerd'
sysctl -n net.ipv4.ip_forward
ls -A /tmp /var/tmp /dev/shm | grep -v systemd-private
systemctl list-units --no-legend --plain 'mullion-*.scope' | cut -d' ' -f1
true
`

func (try *trial) up(ctx context.Context, t *testing.T) {
	t.Helper()
	if try.before == "" {
		try.allowWine(ctx, t)
		try.before = try.run(ctx, t, traces)
		t.Logf(
			"%s", try.run(
				ctx, t, "uname -a; findmnt -no OPTIONS /run; cat /sys/fs/cgroup/cgroup.controllers; nproc; free -m; wine64 --version 2>/dev/null || /usr/lib/wine/wine64 --version; /opt/mullion/bin/runc --version"))
	}

	// As for a person who has logged in, the session ends with the command, and nothing of the cluster may end with it.
	script := fmt.Sprintf(
		"cat >cluster.yaml <<'END'\n%sEND\nsudo mullion up -f cluster.yaml --sample --wait %s --retain\n", clusterYAML,
		upWait)

	begin := time.Now()
	out, err := try.guest.RunAs(ctx, "dev", script, nil)
	t.Logf("%s", out)
	if err != nil {
		logs, _ := try.guest.Run(context.WithoutCancel(ctx),
			"cd /var/lib/mullion/logs && tail -n 30 supervisor.log */*.log | cut -c1-400")
		t.Fatalf("mullion up: %v\n%s", err, logs)
	}

	if try.result.UpSeconds == 0 {
		try.result.UpSeconds = time.Since(begin).Round(time.Second).Seconds()
	}
	try.guest.Logout("dev")
}

// allowWine lets programs write memory and then run it, as Wine does: Debian's policy has two switches for that, of
// which `mullion doctor` names what is missing.
func (try *trial) allowWine(ctx context.Context, t *testing.T) {
	t.Helper()
	if !try.machine.SELinux {
		return
	}

	if strings.Contains(try.run(ctx, t, "getsebool allow_execmod"), "on") {
		return
	}
	const change = "setsebool -P allow_execmem=on allow_execmod=on"
	if advice := try.run(ctx, t, "mullion doctor -o json || [ $? = 3 ]"); !strings.Contains(advice, change) {
		t.Errorf("mullion doctor does not say %q:\n%s", change, advice)
	}
	try.run(ctx, t, strings.Replace(change, " -P", "", 1))
}

// sample asks for the sample's page from outside of the cluster, and for the Windows version in its pod.
func (try *trial) sample(ctx context.Context, t *testing.T) {
	t.Helper()
	try.eventually(ctx, t, "Windows Server 2022",
		"curl -sS -m 20 http://$(mullion kubectl get node win-1 -o jsonpath='{.status.addresses[0].address}'):"+
			"$(mullion kubectl get service win-webserver -o jsonpath='{.spec.ports[0].nodePort}')/")
	out := try.run(ctx, t, "mullion kubectl exec deployment/win-webserver -- cmd /c ver")
	if !strings.Contains(out, "10.0.20348") {
		t.Errorf("cmd /c ver in the pod prints %q", out)
	}
}

// single runs a program in a container that belongs to no cluster, twice: its engine stays for a while, also when the
// session has ended that it began in. Its Windows is the one that is made at build time: to make another takes minutes
// on emulated processors.
func (try *trial) single(ctx context.Context, t *testing.T) {
	t.Helper()
	for range 2 {
		out, err := try.guest.RunAs(ctx, "dev",
			"sudo mullion run mcr.microsoft.com/windows/nanoserver:ltsc2025 cmd /c ver", nil)
		if err != nil || !strings.Contains(out, "10.0.26100") {
			t.Fatalf("mullion run: %v\n%s", err, out)
		}
		try.guest.Logout("dev")
	}
	t.Logf("%s", try.run(ctx, t, "mullion container ls && mullion down --run"))
}

// script runs one of the end-to-end tests' scripts against the guest's cluster.
func (try *trial) script(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	out, err := try.guest.Run(
		ctx, fmt.Sprintf(
			"cd /opt/mullion/test/e2e && export E2E_DATA_DIR=/var/lib/mullion E2E_IMAGES=/opt/mullion/test/images E2E_PATIENCE=%d TMPDIR=/root && "+
				"cp -f /var/lib/mullion/kubeconfig/admin.kubeconfig /var/lib/mullion/e2e-kubeconfig && ./e2e.test -test.v -test.timeout 40m -test.run 'TestCluster/scripts/^%s$'", patience, name))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(out, "--- PASS: TestCluster/scripts/"+name) {
		t.Fatalf("the script did not run:\n%s", out)
	}
}

// flows tests flows between pods, Services, nodes and the world outside: not all of them, because that takes too long
// on an emulated processor.
func (try *trial) flows(ctx context.Context, t *testing.T) {
	t.Helper()
	t.Logf("%s", try.run(ctx, t, fmt.Sprintf("mullion net test --timeout %s --flows %q", upWait, chosenFlows)))
}

// chosenFlows match some flows of every kind: both systems, both ways, a Service's addresses and names, from outside,
// and what Windows documents not to work.
const chosenFlows = `^(pod → pod.*|pod on a Linux node → (pod|ClusterIP|outside, beyond)|pod → ClusterIP.*|node → .*NodePort|outside → (NodePort|NodePort of a Linux node|hostPort)|pod → (outside, .*|Service by FQDN))$`

const keeper = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: kept}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 100Mi}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: keeper}
spec:
  selector: {matchLabels: {app: keeper}}
  template:
    metadata: {labels: {app: keeper}}
    spec:
      nodeSelector: {kubernetes.io/os: windows}
      terminationGracePeriodSeconds: 1
      containers:
      - name: keeper
        image: mullion.local/webserver:v1
        args: ['-listen=:80', '-greeting=C:\data\greeting.txt']
        volumeMounts: [{name: data, mountPath: 'C:\data'}]
      volumes: [{name: data, persistentVolumeClaim: {claimName: kept}}]
`

// claim writes data that every later step has to find.
func (try *trial) claim(ctx context.Context, t *testing.T) {
	t.Helper()
	try.run(ctx, t, "mullion kubectl apply -f - <<'END'\n"+keeper+"END\n")
	try.eventually(ctx, t, "1", "mullion kubectl get deployment keeper -o jsonpath='{.status.readyReplicas}'")
	try.run(ctx, t, `mullion kubectl exec deployment/keeper -- cmd /c 'echo kept for ever> C:\data\greeting.txt'`)
}

// again brings the cluster back with mullion up, started by the command by, and checks that it is healthy, serves the
// sample and has kept its data.
func (try *trial) again(ctx context.Context, t *testing.T, by string) {
	t.Helper()
	t.Logf("%s", try.run(ctx, t, fmt.Sprintf("%smullion up --wait %s", by, upWait)))
	try.eventually(ctx, t, "healthy", "mullion status")
	try.sample(ctx, t)
	try.eventually(ctx, t, "kept for ever",
		`mullion kubectl exec deployment/keeper -- cmd /c 'type C:\data\greeting.txt'`)
}

// down takes the cluster down; afterwards the machine must be as it was before the first cluster.
func (try *trial) down(ctx context.Context, t *testing.T) {
	t.Helper()
	t.Logf("%s", try.run(ctx, t, "mullion down && rm -f /var/lib/mullion/e2e-kubeconfig"))
	try.sameAsBefore(ctx, t)
}

// sameAsBefore compares the machine with how it was before the first cluster.
func (try *trial) sameAsBefore(ctx context.Context, t *testing.T) {
	t.Helper()
	if try.before == "" {
		t.Fatal("the machine was not looked at before")
	}
	if diff := cmp.Diff(lines(try.before), lines(try.run(ctx, t, traces))); diff != "" {
		t.Errorf("mullion down left (+) or took (-):\n%s", diff)
	}
}

func lines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }
