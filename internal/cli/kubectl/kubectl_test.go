package kubectl

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cluster/view"
)

func newMachine(t *testing.T) *clitest.Machine {
	t.Helper()
	m := clitest.New(t)
	m.Commands = func(r *reader.Reader) []*cobra.Command {
		return []*cobra.Command{New(r).Kubectl(), New(r).Kubeconfig()}
	}
	return m
}

// TestReaderKubeconfig: a person has the own context, unless it is of a cluster that was there before; otherwise what
// the socket gives, and is told so.
func TestReaderKubeconfig(t *testing.T) {
	const url = "https://127.0.0.1:6443"
	m := newMachine(t)
	m.ReadBy(clitest.Answers{"cluster": clitest.Cluster(url), "kubeconfig": clitest.Said(clitest.Kubeconfig(url))})
	m.Run("kubeconfig").Has(t, exit.OK, "apiVersion: v1",
		"mullion: this kubeconfig may only read; `sudo mullion kubeconfig`")

	own := filepath.Join(filepath.Dir(m.Paths.Data), "config")
	m.Env.Environ = append(m.Env.Environ, "KUBECONFIG="+own)
	marked := func(server string) string {
		mark := fmt.Sprintf("extensions: [{name: mullion, extension: {cluster: %q}}]", m.Paths.Data)
		return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: other
clusters:
- {name: mine, cluster: {server: %q, certificate-authority-data: Y2E=, %s}}
- {name: other, cluster: {server: "https://other.example"}}
contexts:
- {name: mine, context: {cluster: mine, user: mine, %[2]s}}
- {name: other, context: {cluster: other, user: other}}
users:
- {name: mine, user: {token: own-token, %[2]s}}
- {name: other, user: {token: other-token}}
`, server, mark)
	}

	m.Write(own, marked(url))
	got := m.Run("kubeconfig")
	if !strings.Contains(got.Out, "own-token") || strings.Contains(got.Out, "other") || got.Err != "" {
		t.Errorf("the own context: %s%s", got.Out, got.Err)
	}

	m.Write(own, marked("https://127.0.0.1:1"))
	if got := m.Run("kubeconfig"); strings.Contains(got.Out, "own-token") || got.Code != exit.OK {
		t.Errorf("a context of an earlier cluster: %s%s", got.Out, got.Err)
	}
	m.Write(own, "some words\n")
	m.Run("kubeconfig").Has(t, exit.OK, "mullion: this kubeconfig may only read")

	m.ReadBy(clitest.Answers{"cluster": clitest.Refuses(view.Stranger, "a stranger")})
	m.Run("kubeconfig").Has(t, exit.Requirement, "mullion: read the cluster in DATA: a stranger: sudo ")
	m.Write(own, marked(url)) // it needs no socket
	m.Run("kubeconfig").Has(t, exit.OK, "apiVersion: v1")
}

// TestReaderKubectl gives kubectl a file in memory, and the person's own cache; what needs no cluster works without
// one.
func TestReaderKubectl(t *testing.T) {
	const url = "https://127.0.0.1:6443"
	m := newMachine(t)
	m.Write(m.Paths.Kubernetes("").Kubectl(), "#!/bin/sh\necho \"$@\"\n")
	var argv, environ []string
	m.Env.Exec = func(_ string, args, env []string) error {
		argv, environ = args, env
		return nil
	}

	m.ReadBy(clitest.Answers{"cluster": clitest.Cluster(url), "kubeconfig": clitest.Said(clitest.Kubeconfig(url))})
	m.Run("kubectl", "get", "pods").Check(t, exit.OK, "", "")
	file, ok := strings.CutPrefix(argv[1], "--kubeconfig=/proc/self/fd/")
	if !ok || !cmp.Equal(argv[2:], []string{"get", "pods"}) {
		t.Fatalf("kubectl is run with %q", argv)
	}
	if text, err := os.ReadFile("/proc/self/fd/" + file); err != nil || !strings.Contains(string(text), url) {
		t.Errorf("its kubeconfig: %s, %v", text, err)
	}

	for _, line := range environ {
		if strings.HasPrefix(line, "KUBECACHEDIR=") {
			t.Errorf("a person's kubectl has the cache %q", line)
		}
	}

	none := newMachine(t)
	none.Env.Exec, none.Env.Euid = m.Env.Exec, 1000
	none.Sources.View = reader.RealSources().View
	none.Write(none.Paths.Kubernetes("").Kubectl(), "")
	for _, args := range []string{
		"", "--help", "get -h", "version --client", "version --client=true -o yaml", "completion bash", "config view",
		"help get", "options", "kustomize .", "plugin list",
	} {
		for _, euid := range []int{0, 1000} {
			none.Env.Euid = euid
			none.Run(append([]string{"kubectl"}, strings.Fields(args)...)...).Check(t, exit.OK, "", "")
			if diff := cmp.Diff(append([]string{"kubectl"}, strings.Fields(args)...), argv); diff != "" {
				t.Errorf("kubectl %s (-want +got):\n%s", args, diff)
			}
		}
	}

	for _, args := range []string{"get pods", "version", "explain pods", "exec web -- sh --help"} {
		none.Run(append([]string{"kubectl"}, strings.Fields(args)...)...).Has(t, exit.NotFound, `mullion: no cluster in "DATA"`)
	}
}

// TestKubectlCompletes asks kubectl, with a cluster and without one.
func TestKubectlCompletes(t *testing.T) {
	m := newMachine(t)
	m.Write(m.Paths.Kubernetes("").Kubectl(), "#!/bin/sh\nprintf 'pods\\tthe pods\\npodtemplates\\n:4\\n'\necho \"$@\" >&2\n")
	m.Sources.View = reader.RealSources().View
	for _, euid := range []int{0, 1000} {
		m.Env.Euid = euid
		got := m.Run("__complete", "kubectl", "get", "-n", "x", "po")
		if got.Code != exit.OK || !strings.HasPrefix(got.Out, "pods\tthe pods\npodtemplates\n:4\n") {
			t.Errorf("as %d: exit code %d, %q, %s", euid, got.Code, got.Out, got.Err)
		}
	}

	m.Write(m.Paths.Kubernetes("").Kubectl(), "#!/bin/sh\necho noise\n")
	if got := m.Run("__complete", "kubectl", "get", ""); got.Out != ":4\n" {
		t.Errorf("of noise: %q", got.Out)
	}
}

func TestKubeconfig(t *testing.T) {
	m := newMachine(t)
	text := clitest.Kubeconfig("https://127.0.0.1:6443")
	m.Write(m.Paths.AdminKubeconfig(), text)
	m.Run("kubeconfig").Check(t, exit.OK, text, "")
}

func TestKubectl(t *testing.T) {
	m := newMachine(t)
	m.Write(m.Paths.AdminKubeconfig(), clitest.Kubeconfig("https://127.0.0.1:6443"))
	m.Run("kubectl", "get", "pods").Has(t, exit.Requirement, "mullion: find kubectl: ", "→ `make kubernetes` builds it")
	program := m.Paths.Kubernetes("").Kubectl()
	m.Write(program, "")
	var became, environ []string
	m.Env.Exec = func(program string, argv, env []string) error {
		became, environ = append([]string{program}, argv...), env
		return nil
	}

	for _, tt := range []struct{ args, want []string }{
		{[]string{"get", "pods", "-A"}, []string{"--kubeconfig=" + m.Paths.AdminKubeconfig(), "get", "pods", "-A"}},
		{[]string{"--kubeconfig", "own", "get"}, []string{"--kubeconfig", "own", "get"}},
		{[]string{"--kubeconfig=own", "get"}, []string{"--kubeconfig=own", "get"}},
		{[]string{"--help"}, []string{"--kubeconfig=" + m.Paths.AdminKubeconfig(), "--help"}},
	} {
		m.Run(append([]string{"kubectl"}, tt.args...)...).Check(t, exit.OK, "", "")
		if diff := cmp.Diff(append([]string{program, "kubectl"}, tt.want...), became); diff != "" {
			t.Errorf("kubectl %v (-want +got):\n%s", tt.args, diff)
		}
		cache := "KUBECACHEDIR=" + filepath.Join(m.Paths.Run(), "kubectl")
		if own := tt.want[0] != tt.args[0]; slices.Contains(environ, cache) != own {
			t.Errorf("kubectl %v has the environment %q; of the cluster's own: %t", tt.args, environ, own)
		}
	}

	m.Env.Environ = append(m.Env.Environ, "KUBECACHEDIR=/elsewhere")
	m.Run("kubectl", "get", "pods").Check(t, exit.OK, "", "")
	if !slices.Equal(environ, m.Env.Environ) {
		t.Errorf("the environment is %q, not %q", environ, m.Env.Environ)
	}
	m.Env.Exec = func(string, []string, []string) error { return syscall.ENOEXEC }
	m.Run("kubectl", "version").Has(t, exit.Internal, "mullion: run \"BIN/kubernetes/")
}

// TestHalfMadeCluster: a described cluster that has no kubeconfig yet is none for these commands.
func TestHalfMadeCluster(t *testing.T) {
	m := newMachine(t)
	m.Describe(clitest.Several)
	for _, args := range [][]string{{"kubeconfig"}, {"kubectl", "get", "pods"}} {
		m.Run(args...).Refused(t, exit.NotFound, `no cluster in "DATA"`,
			"bring one up with `mullion up`, or name its folder with --data-dir")
	}
}
