package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/remedy"
)

func TestKubeconfig(t *testing.T) {
	m := newMachine(t)
	text := clitest.Kubeconfig("https://127.0.0.1:6443")
	m.write(m.paths.AdminKubeconfig(), text)
	m.run("kubeconfig").check(t, ExitOK, text, "")
}

// TestStateThatIsNotTheUsers needs a folder that the user may not read, which root may.
func TestStateThatIsNotTheUsers(t *testing.T) {
	err := remedy.NoCluster("/data", &os.PathError{
		Op:   "open",
		Path: "/data/cluster.json",
		Err:  os.ErrPermission,
	})
	if text := err.Error(); text != `read the cluster's state in "/data": open /data/cluster.json: permission denied` ||
		ExitCode(err) != ExitRequirement {
		t.Errorf("exit code %d: %s", ExitCode(err), text)
	}

	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	m := newMachine(t)
	m.describe(nil)
	if err := os.Chmod(m.paths.Spec(), 0); err != nil {
		t.Fatal(err)
	}
	m.run("status").has(t, ExitRequirement, "→ run it with sudo, or use your own kubeconfig with kubectl")
}

// TestDescriptionThatIsDamaged is not said to be none: what is there is not to be overwritten.
func TestDescriptionThatIsDamaged(t *testing.T) {
	m := newMachine(t)
	m.write(m.paths.Spec(), `{"kind": "Clus`)
	m.lacksNothing()
	m.run("up").has(t, ExitInternal, `mullion: read "DATA/cluster.json": unexpected end of JSON input`)
}

func TestKubectl(t *testing.T) {
	m := newMachine(t)
	m.write(m.paths.AdminKubeconfig(), clitest.Kubeconfig("https://127.0.0.1:6443"))
	m.run("kubectl", "get", "pods").has(t, ExitRequirement, "mullion: find kubectl: ", "→ `make kubernetes` builds it")
	program := m.paths.Kubernetes("").Kubectl()
	m.write(program, "")
	var became, environ []string
	m.env.Exec = func(program string, argv, env []string) error {
		became, environ = append([]string{program}, argv...), env
		return nil
	}

	for _, tt := range []struct{ args, want []string }{
		{[]string{"get", "pods", "-A"}, []string{"--kubeconfig=" + m.paths.AdminKubeconfig(), "get", "pods", "-A"}},
		{[]string{"--kubeconfig", "own", "get"}, []string{"--kubeconfig", "own", "get"}},
		{[]string{"--kubeconfig=own", "get"}, []string{"--kubeconfig=own", "get"}},
		{[]string{"--help"}, []string{"--kubeconfig=" + m.paths.AdminKubeconfig(), "--help"}},
	} {
		m.run(append([]string{"kubectl"}, tt.args...)...).check(t, ExitOK, "", "")
		if diff := cmp.Diff(append([]string{program, "kubectl"}, tt.want...), became); diff != "" {
			t.Errorf("kubectl %v (-want +got):\n%s", tt.args, diff)
		}
		cache := "KUBECACHEDIR=" + filepath.Join(m.paths.Run(), "kubectl")
		if own := tt.want[0] != tt.args[0]; slices.Contains(environ, cache) != own {
			t.Errorf("kubectl %v has the environment %q; of the cluster's own: %t", tt.args, environ, own)
		}
	}

	m.env.Environ = append(m.env.Environ, "KUBECACHEDIR=/elsewhere")
	m.run("kubectl", "get", "pods").check(t, ExitOK, "", "")
	if !slices.Equal(environ, m.env.Environ) {
		t.Errorf("the environment is %q, not %q", environ, m.env.Environ)
	}
	m.env.Exec = func(string, []string, []string) error { return syscall.ENOEXEC }
	m.run("kubectl", "version").has(t, ExitInternal, "mullion: run \"BIN/kubernetes/")
}

// TestKubectlOfCheck asks a cluster by the bundle's kubectl, with the user's own configuration.
func TestKubectlOfCheck(t *testing.T) {
	m := newMachine(t)
	asked := filepath.Join(filepath.Dir(m.paths.Data), "asked")
	m.write(m.paths.Kubernetes("").Kubectl(), "#!/bin/sh\necho \"$1\" >> '"+asked+"'\necho '{\"items\": []}'\n")
	got := m.run("check", "--cluster", "--offline")
	text, err := os.ReadFile(asked)
	if err != nil {
		t.Fatalf("%v: %s", err, got.err)
	}

	for line := range strings.Lines(string(text)) {
		if line != "get\n" {
			t.Errorf("asked by %q", line)
		}
	}
}

func TestVersion(t *testing.T) {
	m := newMachine(t)
	m.run("version").check(t, ExitOK, "mullion "+version.Mullion()+"\nkubernetes "+version.Kubernetes+"\n"+
		runtime.Version()+" "+runtime.GOOS+"/"+runtime.GOARCH+"\n", "")
	var told map[string]string
	if err := json.Unmarshal([]byte(m.run("version", "-o", "json").out), &told); err != nil {
		t.Fatal(err)
	}

	want := map[string]string{"mullion": version.Mullion(), "kubernetes": version.Kubernetes, "go": runtime.Version()}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
	m.run("--version").check(t, ExitOK, "mullion version "+version.Mullion()+"\n", "")
	m.run("stop", "--version").refused(t, ExitUsage, "unknown flag: --version", "`mullion version` prints the versions")
}

func TestEnvironmentOfTheLastSetting(t *testing.T) {
	e := Env{Environ: []string{"A=1", "B=", "A=2=3", "noise"}}
	for key, want := range map[string]string{"A": "2=3", "B": "", "C": "", "noise": ""} {
		if got := e.Getenv(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

// TestDataFolderOfTheFlag holds that the flag comes before the environment.
func TestDataFolderOfTheFlag(t *testing.T) {
	m := newMachine(t)
	m.describe(nil)
	m.run("--data-dir", filepath.Join(m.paths.Data, "other"), "status").refused(t, ExitNotFound,
		`no cluster in "DATA/other"`, "bring one up with `mullion up`, or name its folder with --data-dir")
}

// TestSampleThatIsNotBuilt is told after the cluster is up, which it is.
func TestSampleThatIsNotBuilt(t *testing.T) {
	m := newMachine(t)
	m.comesUp()
	got := m.run("up", "--sample", "--kubeconfig", "none")
	got.has(t, ExitNotFound, `Cluster "mullion" is ready after`,
		"mullion: find the sample's image: stat BIN/webserver.tar: no such file or directory",
		"→ `make sample` builds it")
}
