package runner

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient/fake"
	"mullion.dev/mullion/internal/conformance/ginkgo"
	"mullion.dev/mullion/internal/conformance/result"
	"mullion.dev/mullion/internal/conformance/suite"
)

func node(name, system string, isReady bool, taints ...corev1.Taint) *corev1.Node {
	status := corev1.ConditionFalse
	if isReady {
		status = corev1.ConditionTrue
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.NodeSpec{Taints: taints},
		Status: corev1.NodeStatus{
			NodeInfo:   corev1.NodeSystemInfo{OperatingSystem: system},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}},
		},
	}
}

func TestJudge(t *testing.T) {
	no := corev1.Taint{Key: "x", Effect: corev1.TaintEffectNoSchedule}
	tests := []struct {
		name    string
		nodes   []*corev1.Node
		says    string
		windows int
		linux   []string
	}{
		{
			"mixed",
			[]*corev1.Node{node("l", "linux", true), node("m", "linux", true, no), node("w", "windows", true)},
			"", 1,
			[]string{"l"},
		},
		{"no-windows", []*corev1.Node{node("l", "linux", true)}, "no Windows node", 0, nil},
		{
			"not-ready",
			[]*corev1.Node{node("l", "linux", false), node("w", "windows", true)},
			"not ready: node l", 0,
			nil,
		},
		{"no-node", nil, "no Windows node", 0, nil},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var nodes []corev1.Node
			for _, n := range tt.nodes {
				nodes = append(nodes, *n)
			}

			var c cluster
			err := c.judge(nodes)
			var own *Error
			switch {
			case tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says) || !errors.As(err, &own) ||
				own.Remedy == ""):
				t.Errorf("error %v, want %q with a remedy", err, tt.says)
			case tt.says == "" && (err != nil || c.windows != tt.windows || !slices.Equal(c.linux, tt.linux)):
				t.Errorf("%v, %d windows, linux %v", err, c.windows, c.linux)
			}
		})
	}
}

// TestTaint checks that a taint that was there before stays.
func TestTaint(t *testing.T) {
	own := corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}
	c := &cluster{api: fake.NewClientset(node("a", "linux", true), node("b", "linux", true, own))}
	taints := func(name string) []corev1.Taint {
		t.Helper()
		n, err := c.api.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return n.Spec.Taints
	}

	for range 2 { // adding it twice adds one
		if err := c.taint(t.Context(), []string{"a", "b"}, true); err != nil {
			t.Fatal(err)
		}
	}

	if len(taints("a")) != 1 || len(taints("b")) != 2 {
		t.Errorf("with the taint: %v, %v", taints("a"), taints("b"))
	}
	if err := c.taint(t.Context(), []string{"a", "b"}, false); err != nil {
		t.Fatal(err)
	}
	if len(taints("a")) != 0 || !slices.Equal(taints("b"), []corev1.Taint{own}) {
		t.Errorf("at the end: %v, %v", taints("a"), taints("b"))
	}

	if err := c.taint(t.Context(), []string{"gone"}, true); err == nil {
		t.Error("a node that is not there is no error")
	}
}

func TestNamespacesOfTestsGo(t *testing.T) {
	ns := func(name string, labels map[string]string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	test := map[string]string{"e2e-run": "x"}
	c := &cluster{api: fake.NewClientset(ns("kube-system", nil), ns("old-1", test), ns("new-2", test))}
	if err := c.removeNamespaces(t.Context(), map[string]bool{"old-1": true}); err != nil {
		t.Fatal(err)
	}

	list, err := c.api.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, n := range list.Items {
		left = append(left, n.Name)
	}

	slices.Sort(left)
	if !slices.Equal(left, []string{"kube-system", "old-1"}) {
		t.Errorf("left: %v", left)
	}
}

// TestSelectionLeavesOutWhatIsDone holds that the arguments skip the done specs, and only those, and are not too long
// for Linux.
func TestSelectionLeavesOutWhatIsDone(t *testing.T) {
	var done []string
	for i := range 3000 {
		done = append(done, "[sig-x] spec (number) "+strings.Repeat("a",
			80)+" "+string(rune('a'+i%26))+strings.Repeat("b", i%100))
	}

	slices.Sort(done)
	done = slices.Compact(done)
	args := selection(result.Run{Focus: "f", Skip: "s"}, done)
	if args[0] != "--ginkgo.focus=f" || args[1] != "--ginkgo.skip=s" || len(args) < 4 {
		t.Fatalf("%d arguments, first %q", len(args), args[:2])
	}

	var skips []*regexp.Regexp
	for _, a := range args[2:] {
		if len(a) > 128<<10 {
			t.Errorf("an argument has %d bytes", len(a))
		}
		skips = append(skips, regexp.MustCompile(strings.TrimPrefix(a, "--ginkgo.skip=")))
	}

	skipped := func(name string) bool {
		return slices.ContainsFunc(skips,
			func(r *regexp.Regexp) bool { return r.MatchString("Kubernetes e2e suite " + name) })
	}
	for _, name := range done {
		if !skipped(name) {
			t.Fatalf("%q runs again", name)
		}
	}

	if skipped("[sig-x] spec (number) other") || skipped(done[0]+" and more") {
		t.Error("a spec that is not done is left out")
	}
}

func TestToSpec(t *testing.T) {
	report := func(state string, attempts int) ginkgo.Report {
		return ginkgo.Report{
			LeafNodeType: "It",
			LeafNodeText: "x",
			State:        state,
			NumAttempts:  attempts,
			RunTime:      2 * time.Second,
		}
	}

	for name, tt := range map[string]struct {
		r    ginkgo.Report
		want result.State
	}{
		"passed": {report(ginkgo.Passed, 1), result.Passed}, "flaky": {report(ginkgo.Passed, 2), result.Flaky},
		"failed":      {report(ginkgo.Failed, 2), result.Failed},
		"panicked":    {report(ginkgo.Panicked, 1), result.Failed},
		"timed-out":   {report(ginkgo.TimedOut, 1), result.Failed},
		"interrupted": {report(ginkgo.Interrupted, 1), result.Cut}, "aborted": {report(ginkgo.Aborted, 1), result.Cut},
		"skipped": {report(ginkgo.Skipped, 1), result.Skipped},
	} {
		if got := toSpec(tt.r); got.State != tt.want || got.Seconds != 2 {
			t.Errorf("%s: %+v", name, got)
		}
	}

	r := report(ginkgo.Panicked, 1)
	r.Failure = ginkgo.Failure{
		Message:        " Test Panicked ",
		ForwardedPanic: "nil map",
		Location: ginkgo.Location{
			FileName:   "/root/go/pkg/mod/k8s.io/kubernetes@v1.36.3/test/e2e/x.go",
			LineNumber: 7,
		},
	}

	if got := toSpec(r); got.Message != "Test Panicked\npanic: nil map" ||
		got.Location != "k8s.io/kubernetes@v1.36.3/test/e2e/x.go:7" {
		t.Errorf("%+v", got)
	}
	r = report(ginkgo.Failed, 1)
	r.AdditionalFailures = []ginkgo.AdditionalFailure{{Failure: ginkgo.Failure{Message: "while tidying up"}}}
	if got := toSpec(r); got.Message != "while tidying up" {
		t.Errorf("%+v", got)
	}
}

func TestNodesIn(t *testing.T) {
	nodes := []result.Node{{Name: "win-1"}, {Name: "win-10"}, {Name: "linux-1"}}
	if got := nodesIn(`event for pod: {kubelet win-10} Pulled; "node":"linux-1".`, nodes); !slices.Equal(got,
		[]string{"win-10", "linux-1"}) {
		t.Errorf("got %v", got)
	}
}

// TestNodeLog takes lines as the kubelet and Mullion's programs write them.
func TestNodeLog(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "kubelet", "win-1.log")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}

	start := time.Date(2026, 11, 21, 9, 29, 45, 0, time.Local)
	log := "E1121 09:29:44.000000      32 x.go:1] too early\r\n" +
		"E1121 09:29:46.030376      32 status_manager.go:1164] \"Failed to get status\" pod=\"other-1/x\"\r\n" +
		"I1121 09:29:47.000000      32 kubelet.go:1] \"SyncLoop ADD\" pods=[\"pods-4711/mine\"]\r\n" +
		"I1121 09:29:48.000000      32 kubelet.go:1] \"SyncLoop ADD\" pods=[\"pods-9/other\"]\r\n" +
		"time=" + start.Add(4*time.Second).UTC().Format(time.RFC3339Nano) + " level=WARN msg=slow\n" +
		"a line without a time\n" +
		"E1121 09:30:00.000000      32 x.go:1] too late\n"

	if err := os.WriteFile(file, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}

	s := result.Spec{
		Nodes:   []string{"win-1"},
		Start:   start,
		Seconds: 10,
	}

	got := nodeLogs(s, `Creating namespace "pods-4711"`,
		func(string) []string { return []string{file, filepath.Join(dir, "gone.log")} })
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "==> kubelet of win-1") ||
		!strings.Contains(lines[1], "status_manager") ||
		!strings.Contains(lines[2], "pods-4711/mine") || !strings.Contains(lines[3], "slow") {
		t.Errorf("got:\n%s", got)
	}
}

func TestMissingProgram(t *testing.T) {
	_, err := List(t.Context(), filepath.Join(t.TempDir(), "e2e.test"), suite.Suite{Focus: "x"})
	var own *Error
	if !errors.As(err, &own) || !strings.Contains(own.Remedy, "make e2e") {
		t.Errorf("got %v", err)
	}
}
