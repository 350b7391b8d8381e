//go:build cluster

package e2e

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/test/built"
)

// quickstart is a section of docs/quickstart.md: its heading, and the lines of its blocks for a shell.
type quickstart struct {
	name  string
	lines []string
}

// quickstarts returns the sections of the page; the first has the name of the page.
func quickstarts(t *testing.T) []quickstart {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(built.Repository(), "docs/quickstart.md"))
	if err != nil {
		t.Fatal(err)
	}

	var all []quickstart
	for part := range strings.SplitSeq(string(text), "\n## ") {
		name, rest, _ := strings.Cut(part, "\n")
		section := quickstart{name: strings.TrimPrefix(name, "# ")}
		for _, b := range blocks(rest) {
			if b.language != "sh" {
				t.Fatalf("%s: a block in %q", section.name, b.language)
			}
			section.lines = append(section.lines, b.text...)
		}
		all = append(all, section)
	}

	return all
}

// quickstartPrints is what each section prints, among other things.
func quickstartPrints() map[string][]string {
	return map[string][]string{
		"Quick starts":      {"Its registry of images is localhost:5001", "win-2 "},
		"Chart author":      {"[pod-run-as-user]", `deployment "web" successfully rolled out`, "Microsoft Windows [Version 10.0.20348"},
		"Platform engineer": {"Microsoft Windows [Version 10.0.17763", "mullion node start win-1", "node/win-1 condition met"},
		"Developer of kubelet, kube-proxy or a CNI plugin": {
			"kube-proxy of node win-2 is a copy of", "ok (own)", "flows as documented, 0 not", "L2Bridge", "is upstream's again",
		},
		"Owner of a CI":                    {`deployment "web" successfully rolled out`},
		"Learner, or a firm with programs": {"hello from windows", "localhost:5001/app:v2@sha256:", "\nversion 2\n"},
		"At the end":                       {"ended containers"},
	}
}

// TestFieldQuickstart runs each line of docs/quickstart.md, in a folder of its own, with a cluster that has other
// subnets than the page's.
func TestFieldQuickstart(t *testing.T) {
	needs(t)
	c := newCluster(t)
	c.needsRegistry(t, "5001")

	single := filepath.Join(c.home, "run") // mullion run has a folder of its own
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if t.Failed() {
			logs(t, c)
			_, _ = c.mullion(ctx, t, "--data-dir", single, "down", "--run")
		}
		c.takeDown(t)
	})

	prints, work := quickstartPrints(), t.TempDir()
	for _, s := range quickstarts(t) {
		want := prints[s.name]
		delete(prints, s.name)
		if len(s.lines) == 0 || len(want) == 0 {
			t.Fatalf("section %q has %d lines, and the test knows %q of it", s.name, len(s.lines), want)
		}
		if ok := t.Run(s.name, func(t *testing.T) { c.playQuickstart(t, s, want, work, single) }); !ok {
			return // the next ones build on it
		}
	}

	for name := range prints {
		t.Errorf("the page has no section %q", name)
	}
}

// needsRegistry skips a test where the program of the registry was not built, or somebody has its port.
func (c cluster) needsRegistry(t *testing.T, port string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(c.bin, "registry")); err != nil {
		t.Skipf("needs the registry: make registry: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Skipf("needs a free port: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// playQuickstart runs the lines of a section. sudo is nobody's here; a cluster gets the subnets of the test, and what
// mullion run keeps a folder of its own.
func (c cluster) playQuickstart(t *testing.T, s quickstart, want []string, work, single string) {
	t.Helper()
	script := `set -euo pipefail
sudo() { "$@"; }
mullion() {
  local data=$MULLION_DATA_DIR
  case "$*" in
    up\ *) echo 'name: mullion-quick' >>cluster.yaml
      local subnets='underlaySubnet: 10.188.0.0/24, podSubnet: 10.188.128.0/17, serviceSubnet: 10.188.64.0/18'
      echo "networking: {$subnets}" >>cluster.yaml ;;
    run\ * | down\ --run) data=$SINGLE ;;
  esac
  command mullion --data-dir "$data" "$@"
}
` + strings.Join(s.lines, "\n")

	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute*patience())
	defer cancel()
	cache, err := exec.CommandContext(ctx, "go", "env", "GOCACHE").Output() // f's home has none yet
	if err != nil {
		t.Fatal(err)
	}

	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir = work
	cmd.Env = append(c.env(), "SINGLE="+single, "GOCACHE="+strings.TrimSpace(string(cache)),
		"KUBE_PROXY="+filepath.Join(c.bin, "kubernetes", version.Kubernetes, "node/bin/kube-proxy.exe"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the section's lines: %v\n%s", err, out)
	}

	for _, text := range want {
		if !strings.Contains(string(out), text) {
			t.Errorf("%q is not in what the section's lines print:\n%s", text, out)
		}
	}
}

// quickstart plays the section of the author of charts on the cluster of TestCluster, and removes what it made.
func (c cluster) quickstart(t *testing.T) {
	t.Helper()
	const name = "Chart author"
	t.Cleanup(func() {
		_, _ = c.mullion(context.WithoutCancel(t.Context()), t, "kubectl", "delete", "deployment", "web", "--ignore-not-found", "--wait")
	})
	for _, s := range quickstarts(t) {
		if s.name == name {
			c.playQuickstart(t, s, quickstartPrints()[name], t.TempDir(), "")
			return
		}
	}
	t.Fatalf("the page has no section %q", name)
}
