//go:build cluster

package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
)

// starvation is what a pod takes of something that the machine's programs share, as prog has it.
type starvation struct {
	Name string
	// Ask is how much a pod asks for, and Most how much it may get: below 0, as prog's constants say.
	Ask, Most int
	// Root is how much the machine's root asks for, without a container around it, and gets; 0: it is not asked for.
	Root int
}

// The values of Most, as prog has them.
const (
	nothing  = 0
	byMemory = -1
	open     = -2
	underWay = -3
)

// leastPayloads is how many there are in each of the two wings: calls of which a container's programs must make none,
// and ways to starve a machine.
const leastPayloads = 200

// starvedMemory is what the container of a pod that starves the machine may have.
const starvedMemory = 256

// took is what a starvation says that it got.
type took struct {
	Name        string
	Got, Answer int
	// Killed says that it was ended, as for want of memory, or since it Hung.
	Killed, Hung bool
	// Mebibytes is how much less memory the machine had free at the end.
	Mebibytes int
}

// starvations returns what prog knows, built for this machine.
func starvations(t *testing.T, program string) []starvation {
	t.Helper()
	var all []starvation
	text := output(t, exec.CommandContext(t.Context(), program, "starvers"))
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}

	for i, s := range all {
		if s.Most == underWay {
			all[i].Most = testrun.MessagesUnderWay(t)
		}
	}
	return all
}

// kept returns those that pods take all at once, and keep.
func kept(all []starvation) []starvation {
	names := []string{
		"descriptors/terminal", "unread/tcp", "unread/udp-receivers", "unread/unix-stream", "unread/big-pipe",
		"unread/netlink-answers", "unread/ping-answers", "unread/descriptors", "memory/files", "memory/locked", "memory/maps", "watches/epoll", "locks/whole-file",
		"signals/thread", "ipc/semaphore-sets", "ipc/messages", "ipc/segments", "ipc/posix-queues", "keys/user",
	}
	return slices.DeleteFunc(slices.Clone(all), func(s starvation) bool { return !slices.Contains(names, s.Name) })
}

// quick returns those that one pod takes one after the other in a few seconds: all that are refused or have a number.
// What ends with the container's memory ends the container, sooner or later.
func quick(all []starvation) []starvation {
	others := kept(all)
	return slices.DeleteFunc(slices.Clone(all), func(s starvation) bool {
		return s.Most < 0 || slices.Contains(others, s)
	})
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
    args: [%[2]s]
    env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}]
    resources: {limits: {memory: %[3]dMi}}
`

// starvedByRoot has the machine's root take more than a pod may: so it is known that there is more of it.
func starvedByRoot(t *testing.T, program string) {
	t.Helper()
	all := starvations(t, program)
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--ipc", "--net", "--pid", "--fork", "--mount-proc",
		"sh", "-c", "exec 9<"+program+" && mount -t tmpfs none /tmp && ip link set lo up && "+
			"echo 0 0 >/proc/sys/net/ipv4/ping_group_range && { ulimit -n 100000; ulimit -l unlimited; "+
			"exec /proc/self/fd/9 sweep root; }") // the program may lie in the /tmp that is hidden
	got := takes(t, output(t, cmd))

	reached, asked := 0, 0
	for _, s := range all {
		if s.Root == 0 {
			continue
		}
		asked++
		if g := got[s.Name]; g.Killed || g.Got < s.Root {
			t.Errorf("control %s: root gets %d, of %d (%d)", s.Name, g.Got, s.Root, g.Answer)
			continue
		}
		reached++
	}

	t.Logf("starvation: %d ways; root gets what it asks for of %d of %d; %d depend on the kernel", len(all), reached,
		asked, len(all)-asked)
	if len(all) < leastPayloads {
		t.Errorf("there are %d ways, want %d", len(all), leastPayloads)
	}
}

// takes returns the lines of prog's sweep.
func takes(t *testing.T, said string) map[string]took {
	t.Helper()
	all := map[string]took{}
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "wine client error:") {
			continue // Wine's own word, where what it sends with is used up
		}
		var one took
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		all[one.Name] = one
	}
	return all
}

// judge compares what a pod got with what it may have.
func (s starvation) judge(t *testing.T, got took) {
	t.Helper()
	switch {
	case got.Hung:
		t.Errorf("%s: it did not end, and did not say what it got", s.Name)
	case s.Most >= 0 && got.Got > s.Most:
		t.Errorf("%s: got %d, may have %d", s.Name, got.Got, s.Most)
	case s.Most == byMemory && !got.Killed && got.Got >= s.Ask:
		t.Errorf("%s: got %d, and its memory did not end", s.Name, got.Got)
	case s.Most > 0 && got.Got == 0 && !got.Killed:
		t.Errorf("%s: got none, and may have %d: this is no attack", s.Name, s.Most)
	}
}

// starve has pods starve the machine, one after the other and all at once, and looks what others notice. By
// MULLION_ATTACK_EACH each of the others is taken by a pod of its own besides.
func (f fixture) starve(t *testing.T, all []starvation) {
	t.Helper()
	before := f.notice(t, "before", all)
	whole := os.Getenv("MULLION_ATTACK_EACH") != ""

	t.Run("one-by-one", func(t *testing.T) {
		f.sweep(t, before, all, quick(all))
	})

	if whole {
		for _, s := range slices.DeleteFunc(slices.Clone(all), func(s starvation) bool { return s.Most == open }) {
			if slices.Contains(quick(all), s) {
				continue
			}
			t.Run(s.pod(), func(t *testing.T) { f.starveWith(t, before, all, s) })
		}
	}
	t.Run("all", func(t *testing.T) { f.starveWith(t, before, all, kept(all)...) })
}

// sweep has one pod take them one after the other, each of which it gives back.
func (f fixture) sweep(t *testing.T, before noticed, all, some []starvation) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sweep.yaml")
	write(t, file, fmt.Sprintf(starvePod, "sweep", "serve", starvedMemory))
	f.must(t, "kubectl", "apply", "-f", file)
	t.Cleanup(func() {
		_, _ = f.mullion(context.WithoutCancel(t.Context()), "kubectl", "delete", "-f", file, "--ignore-not-found",
			"--timeout=60s")
	})
	f.must(t, "kubectl", "wait", "--for=condition=Ready", "pod/starve-sweep", "--timeout=90s")

	args := []string{"sweep", "ask"}
	for _, s := range some {
		args = append(args, s.Name)
	}

	got := takes(t, f.exec(t, "starve-sweep", args...))
	held := 0
	for _, s := range some {
		g, ok := got[s.Name]
		if !ok {
			t.Errorf("%s was not tried", s.Name)
			continue
		}
		s.judge(t, g)
		if g.Mebibytes > 3*starvedMemory {
			t.Errorf("%s: got %d, and the machine has %d MiB less", s.Name, g.Got, g.Mebibytes)
		}

		t.Logf("%s: got %d of %d, then %d; %d MiB, killed %t", s.Name, g.Got, s.Ask, g.Answer, g.Mebibytes, g.Killed)
		held++
	}

	t.Logf("starvation: %d ways were tried one after the other", held)

	f.must(t, "kubectl", "delete", "-f", file, "--timeout=60s")
	f.asBefore(t, before, all)
}

// pod returns the name of a pod that starves the machine in this way.
func (s starvation) pod() string { return strings.ReplaceAll(s.Name, "/", "-") }

func (f fixture) starveWith(t *testing.T, before noticed, all []starvation, some ...starvation) {
	t.Helper()
	var manifest strings.Builder
	for _, s := range some {
		fmt.Fprintf(&manifest, starvePod, s.pod(), "keep, "+s.Name, starvedMemory)
	}

	file := filepath.Join(t.TempDir(), "starve.yaml")
	write(t, file, manifest.String())
	f.must(t, "kubectl", "apply", "-f", file)
	t.Cleanup(func() {
		_, _ = f.mullion(context.WithoutCancel(t.Context()), "kubectl", "delete", "-f", file, "--ignore-not-found",
			"--timeout=60s")
	})

	for _, s := range some {
		f.starved(t, s)
	}

	f.compare(t, before, f.notice(t, "while pods starve the machine", all))
	f.must(t, "kubectl", "delete", "-f", file, "--timeout=60s")
	f.asBefore(t, before, all)
}

// starved waits until a pod has all that it gets, and compares that.
func (f fixture) starved(t *testing.T, s starvation) {
	t.Helper()
	pod := "starve-" + s.pod()
	for deadline := time.Now().Add(patient(2 * time.Minute)); ; <-time.After(500 * time.Millisecond) {
		phase := f.must(t, "kubectl", "get", "pod", pod, "-o", "jsonpath={.status.phase}")
		if phase == "Failed" && s.Most == byMemory {
			t.Logf("%s: ended with its memory", s.Name)
			return
		}

		if phase == "Running" || phase == "Failed" {
			log := f.must(t, "kubectl", "logs", pod)
			if got, told := told(t, log, s.Name); told {
				t.Logf("%s: got %d, of %d", s.Name, got.Got, s.Ask)
				s.judge(t, got)
				return
			}
		}

		if time.Now().After(deadline) {
			t.Fatalf("%s: %s has not said what it got", phase, pod)
		}
	}
}

// told returns what a pod's log says that it got, if it says that already.
func told(t *testing.T, log, name string) (got took, told bool) {
	t.Helper()
	if !strings.Contains(log, "{") {
		return took{}, false
	}
	got, told = takes(t, log)[name]
	return got, told
}
