//go:build cluster

package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/test/built"
)

// clusterYAML keeps clear of a cluster with the default subnets, and of those of the other tests.
const clusterYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-attack
networking:
  underlaySubnet: 10.219.0.0/24
  podSubnet: 10.250.0.0/16
  serviceSubnet: 10.102.0.0/16
nodes:
- windowsVersion: ltsc2022
`

// pods are who attacks, and the neighbour. The user of the second is the least that Windows has, and its namespace
// admits only restricted pods.
const pods = `
apiVersion: v1
kind: Namespace
metadata: {name: restricted, labels: {pod-security.kubernetes.io/enforce: restricted}}
---
apiVersion: v1
kind: Pod
metadata: {name: administrator}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: attack, image: 'mullion.local/attack:v1', args: [serve], volumeMounts: [{name: v, mountPath: 'C:\v'}]}
  volumes: [{name: v, emptyDir: {}}]
---
apiVersion: v1
kind: Pod
metadata: {name: user, namespace: restricted}
spec:
  os: {name: windows}
  terminationGracePeriodSeconds: 1
  securityContext: {runAsNonRoot: true, windowsOptions: {runAsUserName: ContainerUser}}
  containers:
  - {name: attack, image: 'mullion.local/attack:v1', args: [serve], volumeMounts: [{name: v, mountPath: 'C:\v'}]}
  volumes: [{name: v, emptyDir: {}}]
---
apiVersion: v1
kind: Pod
metadata: {name: neighbour}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: attack
    image: 'mullion.local/attack:v1'
    args: [serve]
    readinessProbe: {httpGet: {port: 80}, periodSeconds: 1}
`

// bombPod is a pod for each bomb.
const bombPod = `
---
apiVersion: v1
kind: Pod
metadata: {name: bomb-%[1]s}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - {name: bomb, image: 'mullion.local/attack:v1', args: [bomb, %[1]s], resources: {limits: {memory: 256Mi}}}
`

// canary is what nobody may read, change or remove.
const canary = "nobody reads this"

type fixture struct {
	bin, dir string
}

// patient returns a time for waiting: MULLION_ATTACK_PATIENCE times as long, on an emulated machine.
func patient(d time.Duration) time.Duration {
	factor, err := strconv.Atoi(os.Getenv("MULLION_ATTACK_PATIENCE"))
	if err != nil {
		return d
	}
	return d * time.Duration(factor)
}

// mullion runs it. A --timeout among the arguments is as long as the machine needs.
func (f fixture) mullion(ctx context.Context, args ...string) (string, error) {
	args = slices.Clone(args)
	for i, arg := range args {
		text, ok := strings.CutPrefix(arg, "--timeout=")
		if most, err := time.ParseDuration(text); ok && err == nil {
			args[i] = "--timeout=" + patient(most).String()
		}
	}

	cmd := exec.CommandContext(ctx, filepath.Join(f.bin, "mullion"), args...)
	cmd.Env = append(os.Environ(), "MULLION_DATA_DIR="+filepath.Join(f.dir, "data"),
		"KUBECONFIG="+filepath.Join(f.dir, "kubeconfig"), "HOME="+f.dir)
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("mullion %s: %w\n%s", strings.Join(args, " "), err, problem.String())
	}

	return out.String(), nil
}

func (f fixture) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := f.mullion(t.Context(), args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(out)
}

// result is a line that prog prints.
type result struct {
	Name, Answer string
	Held         bool
}

func results(t *testing.T, text string) []result {
	t.Helper()
	var all []result
	for line := range strings.Lines(text) {
		var r result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		all = append(all, r)
	}
	return all
}

// successes returns the attacks that got somewhere.
func successes(all []result) []result {
	return slices.DeleteFunc(slices.Clone(all), func(r result) bool { return r.Held })
}

func TestAttacks(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	bin := built.Dir(t)
	f := fixture{bin: bin, dir: t.TempDir()}
	linux := filepath.Join(f.dir, "attack")
	windows := filepath.Join(f.dir, "image", "attack.exe")
	build(t, "linux", linux)
	build(t, "windows", windows)
	names := strings.Fields(output(t, exec.CommandContext(t.Context(), linux, "list")))
	attacks := asRoot(t, linux, names)
	starvedByRoot(t, linux)

	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patient(3*time.Minute))
		defer cancel()
		if out, err := f.mullion(ctx, "down"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})

	before := lookAtMachine(t)
	spec := filepath.Join(f.dir, "cluster.yaml")
	write(t, spec, clusterYAML)
	write(t, filepath.Join(f.dir, "pods.yaml"), pods)
	f.must(t, "up", "-f", spec, "--wait", patient(5*time.Minute).String())
	f.must(t, "image", "build", filepath.Dir(windows), "-f", "prog/image.yaml")
	f.must(t, "kubectl", "apply", "-f", filepath.Join(f.dir, "pods.yaml"))
	for _, pod := range []string{"administrator", "neighbour", "user"} {
		f.must(t, "kubectl", "wait", "--for=condition=Ready", "-n", namespace(pod), "pod/"+pod, "--timeout=90s")
	}

	stop := f.neighbour(t)
	for _, pod := range []string{"administrator", "user"} {
		t.Run(pod, func(t *testing.T) {
			t.Run("calls", func(t *testing.T) { f.calls(t, pod, len(names), attacks) })
			t.Run("links", func(t *testing.T) { f.links(t, pod) })
			t.Run("network", func(t *testing.T) { f.network(t, pod) })
			t.Run("bomb-by-exec", func(t *testing.T) { f.bombByExec(t, pod) })
		})
	}

	t.Run("bombs", f.bombs)
	t.Run("disk", f.disk)
	t.Run("starvation", func(t *testing.T) { f.starve(t, starvations(t, linux)) })
	stop()
	if after := lookAtMachine(t); after != before {
		t.Errorf("the machine was\n%s\nand is\n%s", before, after)
	}
}

func namespace(pod string) string {
	if pod == "user" {
		return "restricted"
	}
	return "default"
}

func (f fixture) exec(t *testing.T, pod string, args ...string) string {
	t.Helper()
	return f.must(t, append([]string{"kubectl", "exec", "-n", namespace(pod), pod, "--", `C:\app\attack.exe`}, args...)...)
}

// asRoot makes the calls with the rights of the machine's root, each in namespaces of its own, and returns the names of
// those that succeed: they are attacks. Some fail there too, for want of a device or a part of the kernel, and say
// nothing where they fail in a pod.
func asRoot(t *testing.T, program string, names []string) map[string]bool {
	t.Helper()
	var all []result
	for _, name := range names {
		cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--propagation=private", "--pid", "--fork",
			"--mount-proc", "--ipc", "--uts", "--net", "--cgroup", program, "calls", name)
		all = append(all, results(t, output(t, cmd))...)
	}

	reached := successes(all)
	t.Logf("escape: %d calls; %d of them succeed for the machine's root", len(all), len(reached))
	if len(all) < leastPayloads {
		t.Errorf("there are %d calls, want %d", len(all), leastPayloads)
	}
	if len(all) != len(names) || 2*len(reached) < len(all) {
		t.Errorf("%d of %d calls succeed for the machine's root: these are no attacks", len(reached), len(all))
	}

	attacks := map[string]bool{}
	for _, r := range reached {
		attacks[r.Name] = true
	}

	return attacks
}

// calls has every call made, none of which may succeed. Those that succeed for root are counted as attacks.
func (f fixture) calls(t *testing.T, pod string, want int, attacks map[string]bool) {
	t.Helper()
	all := results(t, f.exec(t, pod, "calls"))
	if len(all) != want {
		t.Errorf("%d calls were made, want %d", len(all), want)
	}
	reached := successes(all)
	for _, r := range reached {
		t.Errorf("%s got %s", r.Name, r.Answer)
	}

	held := 0
	for _, r := range all {
		if attacks[r.Name] && !slices.Contains(reached, r) {
			held++
		}
	}

	t.Logf("calls: of %d that succeed for the machine's root %d are held in the pod of the %s; %d of %d calls succeed there",
		len(attacks), held, pod, len(reached), len(all))
}

// links has links planted in the pod's volume that lead to folders of the machine and of the node. The pod must read
// nothing through them, and when kubelet.exe removes the volume the folders must stay.
func (f fixture) links(t *testing.T, pod string) {
	t.Helper()
	onMachine := filepath.Join(t.TempDir(), "canary")
	drive := filepath.Join(f.dir, "data", "nodes", "win-1", "prefix", "Files")
	onNode := filepath.Join(drive, "canary-"+pod)
	for _, dir := range []string{onMachine, onNode} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "note"), canary)
	}

	planted := f.exec(t, pod, "plant", "/v", onMachine, onNode, "/Files/canary-"+pod, "/canary-"+pod, "/Files/var/lib/kubelet")
	t.Log(planted)
	uid := f.must(t, "kubectl", "get", "-n", namespace(pod), "pod", pod, "-o", "jsonpath={.metadata.uid}")
	volume := filepath.Join(drive, "var", "lib", "kubelet", "pods", uid)
	if _, err := os.Stat(volume); err != nil {
		t.Fatal(err)
	}

	out, err := f.mullion(t.Context(), "kubectl", "exec", "-n", namespace(pod), pod, "--", "cmd", "/c",
		`dir /s /b C:\v & for /l %i in (0,1,50) do @type C:\v\link%i\note`)
	if strings.Contains(out, canary) {
		t.Errorf("the pod reads through its links (%v):\n%s", err, out)
	}
	if !strings.Contains(out, "a note of its own") { // link 0 stays in the volume
		t.Errorf("the pod does not read through links at all (%v):\n%s", err, out)
	}

	f.must(t, "kubectl", "delete", "-n", namespace(pod), "pod", pod, "--timeout=60s")
	for deadline := time.Now().Add(patient(time.Minute)); ; <-time.After(200 * time.Millisecond) {
		if _, err := os.Stat(volume); err != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("the pod's folder %q is still there", volume)
			break
		}
	}

	for _, dir := range []string{onMachine, onNode} {
		if note, err := os.ReadFile(filepath.Join(dir, "note")); err != nil || string(note) != canary {
			t.Errorf("%q is %q after the pod (%v)", dir, note, err)
		}
	}

	f.must(t, "kubectl", "apply", "-f", filepath.Join(f.dir, "pods.yaml"))
	f.must(t, "kubectl", "wait", "--for=condition=Ready", "-n", namespace(pod), "pod/"+pod, "--timeout=90s")
}

// network dials what the cluster's parts listen on, at the addresses of the node and of the machine. The API server is
// for everyone, and shows that the addresses are the right ones.
func (f fixture) network(t *testing.T, pod string) {
	t.Helper()
	server := f.must(t, "kubectl", "get", "endpoints", "kubernetes", "-o", "jsonpath={.subsets[0].addresses[0].ip}")
	node := f.must(t, "kubectl", "get", "node", "win-1", "-o",
		`jsonpath={.status.addresses[?(@.type=="InternalIP")].address}`)
	open := server + ":6443"
	addresses := []string{open}
	for _, host := range []string{"127.0.0.1", node, server} {
		for _, port := range []string{
			"2379", "2380", "10248", "10249", "10255", "10256", "10257", "10259", "10290", "10291", "1338", "6060",
		} {
			addresses = append(addresses, host+":"+port)
		}
	}

	all := results(t, f.exec(t, pod, append([]string{"reach"}, addresses...)...))
	if len(all) != len(addresses) {
		t.Fatalf("%d addresses were dialled, want %d", len(all), len(addresses))
	}

	reached := successes(all)
	if len(reached) == 0 || reached[0].Name != "reach/"+open {
		t.Errorf("the pod does not reach the API server: %+v", all[0])
	} else {
		reached = reached[1:]
	}
	for _, r := range reached {
		t.Errorf("%s: %s", r.Name, r.Answer)
	}

	t.Logf("network: %d of %d addresses are reached from the pod of the %s", len(reached), len(addresses)-1, pod)
}

// bombs has pods take as much as they can of what the machine has an end of, all at once.
func (f fixture) bombs(t *testing.T) {
	names := []string{"handles", "inotify", "memory", "processes", "shared-memory", "temporary-files", "timers"}
	var manifest strings.Builder
	for _, name := range names {
		fmt.Fprintf(&manifest, bombPod, name)
	}

	file := filepath.Join(t.TempDir(), "bombs.yaml")
	write(t, file, manifest.String())
	f.must(t, "kubectl", "apply", "-f", file)
	for _, name := range names {
		pod := "bomb-" + name
		var phase, out string

		// The processes of a bomb keep its container after it has said what it got.
		deadline := time.Now().Add(patient(2 * time.Minute))
		for ; phase != "Failed" && out == ""; <-time.After(time.Second) {
			if time.Now().After(deadline) {
				t.Fatalf("%s is %s", pod, phase)
			}
			phase = f.must(t, "kubectl", "get", "pod", pod, "-o", "jsonpath={.status.phase}")
			if phase != "Pending" {
				out = regexp.MustCompile(`(?m)^\{.*\}\n`).FindString(f.must(t, "kubectl", "logs", pod) + "\n")
			}
		}
		if phase == "Failed" {
			reason := f.must(t, "kubectl", "get", "pod", pod, "-o",
				"jsonpath={.status.containerStatuses[0].state.terminated.reason}")
			log := f.must(t, "kubectl", "logs", pod)
			if reason != "OOMKilled" && !strings.Contains(log, "VirtualAlloc") && !strings.Contains(log, "out of memory") {
				t.Errorf("%s failed, and not for want of memory (%s):\n%s", pod, reason, log)
			}
			t.Logf("%s ended with its memory", pod)
			continue
		}

		for _, r := range results(t, out) {
			t.Logf("%s: %s", r.Name, r.Answer)
			if !r.Held {
				t.Errorf("%s: %s", r.Name, r.Answer)
			}
		}
	}

	f.must(t, "kubectl", "delete", "-f", file, "--timeout=60s")
}

// bombByExec has a program that is run in a container later, as a probe runs one, take what the kernel counts for the
// machine's root too. Its limits are those of the container's first program.
func (f fixture) bombByExec(t *testing.T, pod string) {
	t.Helper()
	for _, r := range results(t, f.exec(t, pod, "bomb", "timers")) {
		t.Logf("%s: %s", r.Name, r.Answer)
		if !r.Held {
			t.Errorf("%s: %s", r.Name, r.Answer)
		}
	}
}

// neighbour asks the neighbour pod all the time, until stop is called. It has to answer each time.
func (f fixture) neighbour(t *testing.T) (stop func()) {
	t.Helper()
	ip := f.must(t, "kubectl", "get", "pod", "neighbour", "-o", "jsonpath={.status.podIP}")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	var asked, slowest atomic.Int64
	go func() {
		defer close(done)

		client := http.Client{Timeout: patient(5 * time.Second)}
		for ctx.Err() == nil {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+ip+"/", nil)
			if err != nil {
				t.Error(err)
				return
			}

			asked.Add(1)
			began := time.Now()
			resp, err := client.Do(req)
			if ctx.Err() != nil {
				return
			}

			if err != nil {
				t.Errorf("the neighbour does not answer: %v", err)
				continue
			}
			slowest.Store(max(slowest.Load(), int64(time.Since(began))))
			_ = resp.Body.Close()
			<-time.After(100 * time.Millisecond)
		}
	}()

	return func() {
		cancel()
		<-done
		if asked.Load() == 0 {
			t.Error("the neighbour was never asked")
		}
		t.Logf("the neighbour was asked %d times; its slowest answer took %v", asked.Load(),
			time.Duration(slowest.Load()))
	}
}

// lookAtMachine returns what attacks would change: names, settings of the kernel, and files that the attacks make.
func lookAtMachine(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, name := range []string{
		"kernel/hostname", "kernel/domainname", "kernel/core_pattern", "kernel/panic", "kernel/randomize_va_space",
		"kernel/unprivileged_bpf_disabled", "vm/overcommit_memory", "fs/suid_dumpable", "fs/protected_symlinks",
	} {
		value, err := os.ReadFile(filepath.Join("/proc/sys", name))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s %s", name, value)
	}

	devices, err := filepath.Glob("/dev/attack*")
	if err != nil {
		t.Fatal(err)
	}
	temporary, err := filepath.Glob("/tmp/attack*")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(&all, devices, temporary)
	return all.String()
}

// build compiles the program of the attacks, or copies it from the folder of MULLION_ATTACK_PROGRAMS: not every machine
// has Go.
func build(t *testing.T, system, file string) {
	t.Helper()
	if dir := os.Getenv("MULLION_ATTACK_PROGRAMS"); dir != "" {
		output(t, exec.CommandContext(t.Context(), "install", "-D", filepath.Join(dir, filepath.Base(file)), file))
		return
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "./prog")
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
	output(t, cmd)
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, out, problem.Bytes())
	}
	return string(out)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
