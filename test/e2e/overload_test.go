//go:build cluster

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// overloadYAML is the cluster of TestFieldOverload.
const overloadYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-overload
networking: {underlaySubnet: 10.215.0.0/24, podSubnet: 10.65.0.0/16, serviceSubnet: 10.165.0.0/16}
nodes:
- os: windows
  count: 2
- os: linux
`

// probed is a Deployment of Windows pods whose readiness a program in each tells every five seconds, in a second. The
// name and the number of pods come in.
const probed = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      nodeSelector: {kubernetes.io/os: windows}
      terminationGracePeriodSeconds: 0
      containers:
      - name: app
        image: mullion.local/e2e:v1
        args: [wait, leave]
        readinessProbe: {exec: {command: ['C:\app\tool.exe', exit, '0']}, periodSeconds: 5}
`

// looking is a Job of pods that look names up from their first moment on, and fail if one is not found.
const looking = `
apiVersion: batch/v1
kind: Job
metadata: {name: names}
spec:
  completions: %[1]d
  parallelism: %[1]d
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {kubernetes.io/os: windows}
      terminationGracePeriodSeconds: 0
      containers:
      - name: app
        image: mullion.local/e2e:v1
        args: [lookup, kubernetes.default.svc.cluster.local, kubernetes]
`

// burning is a Deployment of pods that use all the processor time that they get.
const burning = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: burning}
spec:
  replicas: 24
  selector: {matchLabels: {app: burning}}
  template:
    metadata: {labels: {app: burning}}
    spec:
      nodeSelector: {kubernetes.io/os: windows}
      terminationGracePeriodSeconds: 0
      containers: [{name: app, image: 'mullion.local/e2e:v1', args: [burn, 1h]}]
`

// overload is the short form of TestFieldOverload, beside the machine's other work.
func (c cluster) overload(t *testing.T) {
	t.Helper()
	otherWork(t)
	c.crowd(t, 10, 2*time.Minute, true)
}

// TestFieldOverload makes fifty pods at once that look names up in their first moment, as published for nodes on which
// that failed (https://github.com/Azure/AKS/issues/1029). Then it makes fifty with exec probes at once, beside two
// programs of the machine that are busy, and then beside 24 pods that burn. What is asked is answered, the nodes stay
// Ready, and the new pods become Ready one after the other, or an event says with figures what they wait for. Beside
// the machine's work, who was Ready stays so. Pods that burn leave a probe's program, which has its pod's weight, too
// little for its second.
func TestFieldOverload(t *testing.T) {
	needs(t)

	c := newCluster(t)
	c.bringUp(t, overloadYAML)
	c.image(t)
	t.Run("names", func(t *testing.T) { c.names(t, 50) })
	t.Run("other-work", func(t *testing.T) {
		otherWork(t)
		c.crowd(t, 50, 6*time.Minute, true)
	})

	t.Run("burning", func(t *testing.T) {
		c.deploy(t, burning)
		c.crowd(t, 50, 2*time.Minute, false)
	})
}

// names makes that many pods at once, each of which finds names in its first moment.
func (c cluster) names(t *testing.T, pods int) {
	t.Helper()
	c.deploy(t, fmt.Sprintf(looking, pods))
	c.must(t, "kubectl", "wait", "--for=condition=Complete", "job/names", "--timeout=6m")
}

// otherWork keeps two of the machine's processors busy until the test ends.
func otherWork(t *testing.T) {
	t.Helper()
	for range 2 {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
}

// deploy applies a manifest, and deletes at the end of the test what it made.
func (c cluster) deploy(t *testing.T, manifest string) {
	t.Helper()
	file := c.apply(t, manifest)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if out, err := c.mullion(ctx, t, "kubectl", "delete", "--wait", "-f", file); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// crowd makes that many pods at once beside two that are Ready, and watches what the cluster answers until all are,
// and, with stay, whether the two stay so.
func (c cluster) crowd(t *testing.T, pods int, within time.Duration, stay bool) {
	t.Helper()
	const before = 2
	c.deploy(t, fmt.Sprintf(probed, "before", before))
	c.must(t, "kubectl", "rollout", "status", "deployment/before", "--timeout=3m")
	c.deploy(t, fmt.Sprintf(probed, "crowd", pods))

	var answers, status []time.Duration
	most := 0
	for deadline := time.Now().Add(within * patience()); most < pods && time.Now().Before(deadline); {
		answers = append(answers, c.answers(t, time.Second)...)
		begin := time.Now()
		if out, err := c.mullion(t.Context(), t, "status"); err != nil {
			t.Errorf("mullion status: %v\n%s", err, out) // a node is not Ready, or somebody does not answer
		}

		status = append(status, time.Since(begin))
		old, fresh := c.readyOf(t, "before"), c.readyOf(t, "crowd")
		if stay && old < before {
			t.Errorf("of %d pods that were Ready before, %d are", before, old)
		}
		most = max(most, fresh)
	}

	slices.Sort(answers)
	slices.Sort(status)
	p99, usual := answers[len(answers)*99/100], status[len(status)/2]
	t.Logf("%d of %d pods Ready; %d answers of the API, 99 of 100 within %s; status %s, at most %s", most, pods,
		len(answers), p99, usual, status[len(status)-1])
	if p99 > time.Second*patience() {
		t.Errorf("one of 100 answers of the API takes longer than %s", p99)
	}

	if usual > 2*time.Second*patience() {
		t.Errorf("mullion status takes %s", usual)
	}
	if most == pods {
		return
	}

	events := c.must(t, "kubectl", "get", "events", "--field-selector", "reason=WaitsForProcessor")
	if most == 0 || !strings.Contains(events, "programs at a time") {
		t.Errorf("%d of %d pods are Ready, and no event says what the others wait for:\n%s", most, pods, events)
	}
}

// readyOf returns how many pods of a Deployment are Ready.
func (c cluster) readyOf(t *testing.T, deployment string) (n int) {
	t.Helper()
	out := c.must(t, "kubectl", "get", "deployment", deployment, "-o", "jsonpath={.status.readyReplicas}")
	_, _ = fmt.Sscan(out, &n) // none is no number
	return n
}

// answers asks the API server, 20 times a second, and returns how long it took.
func (c cluster) answers(t *testing.T, during time.Duration) []time.Duration {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(c.data, "kubeconfig", "admin.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}

	var took []time.Duration
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()

	for end := time.Now().Add(during); time.Now().Before(end); <-tick.C {
		begin := time.Now()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			config.Host+"/api/v1/namespaces/default/pods", nil)
		if err != nil {
			t.Fatal(err)
		}

		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		took = append(took, time.Since(begin))
	}

	return took
}
