//go:build cluster

package e2e

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// evicted is the pod that is evicted first: its priority is below all others'. It requests some memory, because a
// restarted kubelet under pressure does not admit pods of the class BestEffort again.
const evicted = `
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: e2e-first-to-go}
value: -1000
---
apiVersion: v1
kind: Pod
metadata: {name: evicted}
spec:
  nodeName: win-2
  priorityClassName: e2e-first-to-go
  terminationGracePeriodSeconds: 1
  containers: [{name: serves, image: 'mullion.local/e2e:v1', args: [serve, ':80'], resources: {requests: {memory: 1Mi}}}]
`

// eviction makes the kubelet of a Windows node evict, by a threshold above what any machine has available. The signal
// memory.available is Windows' commit limit less what is committed, which the kubelet reads as a performance figure:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/eviction/helpers_windows.go
func (c cluster) eviction(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "evicted.yaml")
	if err := os.WriteFile(file, []byte(evicted), 0o600); err != nil {
		t.Fatal(err)
	}

	kubectl := func(args ...string) string {
		t.Helper()
		out, err := c.mullion(t.Context(), t, append([]string{"kubectl"}, args...)...)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return out
	}

	is := func(pattern string, args ...string) {
		t.Helper()
		want := regexp.MustCompile(pattern)
		poll(t, settle, func(ctx context.Context) error {
			out, err := c.mullion(ctx, t, append([]string{"kubectl", "get"}, args...)...)
			if err == nil && !want.MatchString(out) {
				err = errors.New(pattern + " is not in " + out)
			}
			return err
		})
	}

	pressure := func(status string) {
		t.Helper()
		is("^"+status+"$", "node", "win-2", "-o", `jsonpath={.status.conditions[?(@.type=="MemoryPressure")].status}`)
	}
	kubectl("apply", "-f", file)
	is("^Running$", "pod", "evicted", "-o", "jsonpath={.status.phase}")

	config := filepath.Join(c.data, "nodes", "win-2", "prefix", "Files", "var", "lib", "kubelet", "config.yaml")
	before, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}

	with := func(text string) {
		t.Helper()
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		const kubelet = `^C:\\k\\kubelet\.exe .*--hostname-override=win-2 `
		c.back(t, kubelet, c.kill(t, kubelet))
	}

	// A soft threshold: a hard one would also be taken off the node's allocatable memory, and leave nothing for
	// admitting the pod again.
	with(strings.NewReplacer(
		"\nevictionSoft:\n", "\nevictionSoft:\n  memory.available: 99%\n",
		"\nevictionSoftGracePeriod:\n", "\nevictionSoftGracePeriod:\n  memory.available: 1s\n",
		"\nevictionMaxPodGracePeriod: 30\n", "\nevictionMaxPodGracePeriod: 1\n").Replace(string(before)))
	pressure("True")
	is(
		`^Failed Evicted The node was low on resource: memory\. Threshold quantity: \d+.*, available: \d+.*Container serves was using \d+Ki, request is 1Mi`, "pod", "evicted", "-o",
		"jsonpath={.status.phase} {.status.reason} {.status.message}")
	is(`node\.kubernetes\.io/memory-pressure`, "node", "win-2", "-o", "jsonpath={.spec.taints[*].key}")
	with(string(before))
	pressure("False")
	is(`^$`, "node", "win-2", "-o", "jsonpath={.spec.taints[*].key}")
	kubectl("delete", "-f", file, "--wait=false")
}
