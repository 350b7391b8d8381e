// Package corpus generates manifests for benchmarks and tests of the checker: any number, the same for the same seed,
// with sizes and kinds as in real repositories. About a third of the pods use something that Windows nodes lack.
package corpus

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
)

// Write writes n manifests as one stream of YAML documents.
func Write(w io.Writer, seed uint64, n int) error {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0)), w: bufio.NewWriter(w)}
	for i := range n {
		g.manifest(i)
	}
	return g.w.Flush()
}

// Reader streams what Write writes.
func Reader(seed uint64, n int) io.ReadCloser {
	r, w := io.Pipe()
	go func() { w.CloseWithError(Write(w, seed, n)) }()
	return r
}

type generator struct {
	*rand.Rand
	w *bufio.Writer
}

// line writes a line; the errors of w come from Flush.
func (g *generator) line(format string, args ...any) { fmt.Fprintf(g.w, format+"\n", args...) }

func (g *generator) pick(of ...string) string { return of[g.IntN(len(of))] }

// one is true once in n times.
func (g *generator) one(n int) bool { return g.IntN(n) == 0 }

func (g *generator) manifest(i int) {
	kind := g.pick("Deployment", "Deployment", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Pod",
		"Service", "ConfigMap")
	version := map[string]string{
		"Deployment": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1",
		"Job": "batch/v1", "CronJob": "batch/v1",
	}[kind]
	if version == "" {
		version = "v1"
	}

	name := fmt.Sprintf("%s-%d", g.pick("web", "api", "worker", "cache"), i)
	g.line("---\napiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n  namespace: team-%d\n  labels:\n    app: %s",
		version, kind, name, g.IntN(20), name)
	switch kind {
	case "ConfigMap":
		g.line("data:")
		for k := range 1 + g.IntN(20) {
			g.line("  key%d: value %d of %s", k, g.IntN(1000), name)
		}
	case "Service":
		g.line("spec:\n  type: %s\n  selector:\n    app: %s\n  ports:\n  - port: 80\n    targetPort: 8080",
			g.pick("ClusterIP", "ClusterIP", "LoadBalancer"), name)

	case "Pod":
		g.pod("", name)
	case "CronJob":
		g.line(
			"spec:\n  schedule: \"*/%d * * * *\"\n  jobTemplate:\n    spec:\n      template:\n        metadata:\n          labels:\n            app: %s", 1+g.IntN(59), name)
		g.pod("        ", name)

	default:
		g.line(
			"spec:\n  selector:\n    matchLabels:\n      app: %s\n  template:\n    metadata:\n      labels:\n        app: %s", name, name)
		g.pod("    ", name)
	}
}

// pod writes a pod's specification, with in before each line.
func (g *generator) pod(in, name string) {
	g.line("%sspec:", in)
	in += "  "
	switch {
	case g.one(3):
		g.line("%snodeSelector:\n%s  kubernetes.io/os: linux", in, in)
	case !g.one(10):
		g.line("%sos:\n%s  name: windows\n%snodeSelector:\n%s  kubernetes.io/os: windows", in, in, in, in)
	}

	if g.one(10) {
		g.line("%s%s: true", in, g.pick("hostPID", "hostIPC", "hostNetwork", "shareProcessNamespace"))
	}
	if g.one(6) {
		g.line("%ssecurityContext:\n%s  %s", in, in,
			g.pick("fsGroup: 2000", "runAsUser: 1000", "runAsNonRoot: true",
				"sysctls:\n"+in+"  - name: a\n"+in+"    value: b"))
	}

	g.line("%scontainers:", in)
	for k := range 1 + g.IntN(3) {
		g.line("%s- name: c%d\n%s  image: registry.example.com/%s:%d\n%s  ports:\n%s  - containerPort: 8080", in, k, in,
			name, g.IntN(100), in, in)
		g.line(
			"%s  resources:\n%s    requests:\n%s      memory: 256Mi\n%s    limits:\n%s      cpu: 500m\n%s      memory: 256Mi", in, in, in, in, in, in)
		if g.one(5) {
			g.line("%s  securityContext:\n%s    %s", in, in,
				g.pick("privileged: true", "readOnlyRootFilesystem: true", "capabilities: {drop: [ALL]}",
					"runAsUser: 1"))
		}

		g.line("%s  env:", in)
		for e := range 1 + g.IntN(8) {
			g.line("%s  - name: SETTING_%d\n%s    value: \"%d\"", in, e, in, g.IntN(10000))
		}

		g.line("%s  readinessProbe:\n%s    httpGet:\n%s      path: /healthz\n%s      port: 8080", in, in, in, in)
	}
}
