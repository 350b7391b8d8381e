package check_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/rules"
	"mullion.dev/mullion/internal/windows/winver"
)

const container = "containers: [{name: c, image: i, securityContext: {privileged: true}}]"

func run(t *testing.T, o check.Options, in string) (got []check.Result) {
	t.Helper()
	o.Windows = winver.All()
	c, err := check.New(rules.All(), o)
	if err != nil {
		t.Fatal(err)
	}

	emit := func(r check.Result) error {
		got = append(got, r)
		return nil
	}
	if err := c.Run(t.Context(), "f", strings.NewReader(in), emit); err != nil {
		t.Fatal(err)
	}

	if err := c.Finish(emit); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestWorkloads(t *testing.T) {
	spec := "spec: {nodeSelector: {kubernetes.io/os: windows}, " + container + "}"
	for kind, in := range map[string]string{
		"v1 Pod":                   spec,
		"v1 PodTemplate":           "template: {" + spec + "}",
		"v1 ReplicationController": "spec: {template: {" + spec + "}}",
		"apps/v1 Deployment":       "spec: {template: {" + spec + "}}",
		"apps/v1 StatefulSet":      "spec: {template: {" + spec + "}}",
		"apps/v1 DaemonSet":        "spec: {template: {" + spec + "}}",
		"apps/v1 ReplicaSet":       "spec: {template: {" + spec + "}}",
		"batch/v1 Job":             "spec: {template: {" + spec + "}}",
		"batch/v1 CronJob":         "spec: {jobTemplate: {spec: {template: {" + spec + "}}}}",
		"v1 PodList":               "items: [{metadata: {name: x}, " + spec + "}]",
		"v1 List":                  "items: [{apiVersion: v1, kind: Pod, " + spec + "}]",
	} {
		version, name, _ := strings.Cut(kind, " ")
		got := run(t, check.Options{Kubernetes: 36}, "apiVersion: "+version+"\nkind: "+name+"\n"+in+"\n")
		if len(got) != 1 || len(got[0].Findings) != 1 || got[0].Findings[0].Rule.ID != "container-privileged" ||
			got[0].Findings[0].Line != 3 {
			t.Errorf("%s: %+v", kind, got)
		}
	}

	got := run(t, check.Options{Kubernetes: 36},
		"apiVersion: policy.k8s.io/v1\nkind: Deployment\nspec: {template: {"+spec+"}}\n")
	if got[0].Passed["Deployment"] != 1 || len(got[0].Findings) != 0 {
		t.Errorf("a Deployment of another group: %+v", got)
	}
}

func TestDecision(t *testing.T) {
	affinity := func(terms ...string) string {
		return "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [" + strings.Join(terms, ", ") + "]}}}"
	}

	win := "{matchExpressions: [{key: kubernetes.io/os, operator: In, values: [windows]}]}"
	notWin := "{matchExpressions: [{key: kubernetes.io/os, operator: NotIn, values: [windows]}]}"
	for in, want := range map[string]check.OS{
		"x: y": check.Either, "os: {name: linux}": check.Linux,
		"nodeSelector: {kubernetes.io/os: windows}":                    check.Windows,
		"os: {name: windows}, nodeSelector: {kubernetes.io/os: linux}": check.Windows,
		affinity(win): check.Windows, affinity(win, win): check.Windows, affinity(notWin): check.Linux,
		affinity(win, notWin): check.Either, affinity(win, "{}"): check.Either, affinity("{}", win): check.Either,
	} {
		got := run(t, check.Options{Kubernetes: 36}, "apiVersion: v1\nkind: Pod\nspec: {"+in+", "+container+"}\n")
		if got[0].Pods[want] != 1 {
			t.Errorf("%s: %v, want %s", in, got[0].Pods, want)
		}
		if want == check.Linux && len(got[0].Findings) != 0 {
			t.Errorf("%s: judged", in)
		}
	}
}

func TestRefused(t *testing.T) {
	in := "apiVersion: v1\nkind: Pod\nspec: {os: {name: windows}, nodeSelector: {kubernetes.io/os: windows}, " + container + "}\n"
	for minor, want := range map[int]check.Severity{23: check.Warning, 24: check.Error, 36: check.Error} {
		if got := run(t, check.Options{Kubernetes: minor}, in); len(got[0].Findings) != 1 ||
			got[0].Findings[0].Severity != want {
			t.Errorf("1.%d: %+v, want one %s", minor, got[0].Findings, want)
		}
	}
}

// TestOrder holds that results come in the order of the input although documents are judged in parallel.
func TestOrder(t *testing.T) {
	testrun.Once(t, testrun.Order)
	got := run(t, check.Options{Kubernetes: 36}, corpus(500))
	if len(got) != 500 {
		t.Fatalf("%d results", len(got))
	}
	for i, r := range got {
		if want := fmt.Sprintf("web-%d", i); r.Findings[0].Object.Name != want {
			t.Fatalf("result %d is of %s", i, r.Findings[0].Object.Name)
		}
	}
}

// corpus makes n Deployments of about 1 KB.
func corpus(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-%d
  labels:
    app: web
spec:
  replicas: 3
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      nodeSelector:
        kubernetes.io/os: windows
      securityContext:
        fsGroup: 2000
      containers:
      - name: web
        image: registry.example.com/shop/web:1.4
        ports:
        - containerPort: 8080
          name: http
        env:
        - name: LOG_LEVEL
          value: info
        - name: POD_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        resources:
          requests:
            cpu: 100m
            memory: 128Mi
          limits:
            cpu: 500m
            memory: 256Mi
        readinessProbe:
          httpGet:
            path: /healthz
            port: http
        securityContext:
          privileged: true
        volumeMounts:
        - name: data
          mountPath: /var/data
      volumes:
      - name: data
        emptyDir: {}
`, i)
	}

	return b.String()
}

// BenchmarkRun checks 10,000 Deployments with all rules.
func BenchmarkRun(b *testing.B) {
	const n = 10000
	in := corpus(n)
	c, err := check.New(rules.All(), check.Options{Kubernetes: 36, Windows: winver.All()})
	if err != nil {
		b.Fatal(err)
	}

	b.SetBytes(int64(len(in)))
	for b.Loop() {
		emit := func(check.Result) error { return nil }
		if err := c.Run(b.Context(), "f", strings.NewReader(in), emit); err != nil {
			b.Fatal(err)
		}
		if err := c.Finish(emit); err != nil {
			b.Fatal(err)
		}
	}

	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "manifests/s")
	b.ReportMetric(float64(runtime.GOMAXPROCS(0)), "cpus")
}
