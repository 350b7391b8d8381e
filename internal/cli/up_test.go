package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/preflight"
	"mullion.dev/mullion/internal/spec"
)

// lacksNothing has the machine found fit for a cluster.
func (m *machine) lacksNothing() {
	m.calls.preflight = func(context.Context, cluster.PreflightOptions) []preflight.Finding { return nil }
}

// comesUp has every cluster come up as it was asked for.
func (m *machine) comesUp() {
	m.lacksNothing()
	m.calls.up = func(_ context.Context, o cluster.UpOptions) (spec.Cluster, error) {
		m.write(m.paths.AdminKubeconfig(), clitest.Kubeconfig("https://127.0.0.1:6443"))
		return o.Spec, nil
	}
}

// own is what up says last.
const own = "Next, an image of your own program, which is in the folder ./app:\n" +
	"  BIN/mullion --data-dir DATA image build ./app -t app:v1\n"

func TestUpSaysWhatIsThere(t *testing.T) {
	const next = "Try:\n  BIN/mullion --data-dir DATA kubectl get nodes -o wide\n" + own
	for _, tt := range []struct {
		name, file string
		args       []string
		want       string
	}{
		{
			name: "as-it-comes",
			want: `Cluster "mullion" is ready after N.Ns: 3 node(s). ` +
				"The context \"mullion\" in TMP/.kube/config is the current one.\n" + next,
		},
		{
			name: "own-file",
			args: []string{"--kubeconfig", "FILE"},
			want: `Cluster "mullion" is ready after N.Ns: 3 node(s). ` +
				"The context \"mullion\" in TMP/own is the current one.\n" + next,
		},
		{
			name: "no-kubeconfig",
			args: []string{"--kubeconfig", "none", "--windows-version", "ltsc2019"},
			want: `Cluster "mullion" is ready after N.Ns: 2 node(s). ` +
				"No kubeconfig was changed; `BIN/mullion --data-dir DATA kubeconfig` prints one.\n" + next,
		},
		{
			name: "no-network-of-ours",
			file: "networking: {disableDefaultCNI: true}\nnodes: [{windowsVersion: ltsc2022}]\n",
			args: []string{"--kubeconfig", "none", "-f", "-"},
			want: `Cluster "mullion" is ready after N.Ns: 1 node(s). ` +
				"No kubeconfig was changed; `BIN/mullion --data-dir DATA kubeconfig` prints one.\n" +
				"The nodes become Ready once you deploy a CNI plugin (networking.disableDefaultCNI).\n" + next,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			m.comesUp()
			m.env.In = strings.NewReader("apiVersion: mullion.dev/v1alpha1\nkind: Cluster\n" + tt.file)
			for i, arg := range tt.args {
				if arg == "FILE" {
					tt.args[i] = filepath.Join(filepath.Dir(m.paths.Data), "own")
				}
			}
			got := m.run(append([]string{"up"}, tt.args...)...)
			got.out = clitest.Untimed(got.out)
			got.check(t, ExitOK, "\n"+tt.want, "")
		})
	}
}

// TestUpOnAJoinedMachine brings its nodes back, and leaves the person's kubeconfig alone: the administrator's is on
// another machine.
func TestUpOnAJoinedMachine(t *testing.T) {
	m := newMachine(t)
	m.describe(joined)
	m.lacksNothing()
	m.calls.up = func(_ context.Context, o cluster.UpOptions) (spec.Cluster, error) { return o.Spec, nil }
	got := m.run("up")
	got.out = clitest.Untimed(got.out)
	got.check(t, ExitOK, "\nCluster \"mullion\" is ready after N.Ns: 2 node(s). "+
		"No kubeconfig was changed; `BIN/mullion --data-dir DATA kubeconfig` prints one.\n"+
		own, "")
	if _, err := os.Stat(filepath.Join(filepath.Dir(m.paths.Data), ".kube")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a kubeconfig: %v", err)
	}
}

func TestUpIsAskedWhatTheFlagsSay(t *testing.T) {
	m := newMachine(t)
	m.lacksNothing()
	var asked cluster.UpOptions
	var patience time.Duration
	m.calls.up = func(ctx context.Context, o cluster.UpOptions) (spec.Cluster, error) {
		deadline, _ := ctx.Deadline()
		asked, patience = o, time.Until(deadline)
		return o.Spec, context.DeadlineExceeded
	}

	m.run("up", "--windows-version", "ltsc2025,ltsc2019", "--listen", "192.0.2.7:6443", "--wait", "90s", "--retain")
	var versions []string
	for _, n := range asked.Spec.Nodes {
		if !n.Linux() {
			versions = append(versions, n.WindowsVersion)
		}
	}

	if diff := cmp.Diff([]string{"ltsc2025", "ltsc2019"}, versions); diff != "" {
		t.Error(diff)
	}
	if asked.Spec.Networking.APIServerAddress != "192.0.2.7" || !asked.Retain || asked.Paths != m.paths ||
		asked.Executable != m.env.Executable {
		t.Errorf("asked for %+v", asked)
	}
	if patience > 90*time.Second || patience < 80*time.Second {
		t.Errorf("waits %s, want 90 s", patience)
	}
}

// upErrors are errors of a cluster that does not come up, with what a person is told.
func upErrors() []struct {
	name      string
	err       error
	keepsLogs bool
	code      int
	remedy    string
} {
	return []struct {
		name      string
		err       error
		keepsLogs bool
		code      int
		remedy    string
	}{
		{
			name:   "another-cluster",
			err:    &cluster.ConflictError{Err: errors.New("it holds another"), Remedy: "choose another folder"},
			code:   ExitConflict,
			remedy: "choose another folder",
		},
		{
			name: "not-in-time",
			err:  fmt.Errorf("wait for kubelet/win-1: %w", context.DeadlineExceeded),
			code: ExitNotReady,
			remedy: "see `mullion status` and DATA/logs; on a slow machine give it more time: " +
				"`mullion up --wait 20m` goes on with what is there",
		},
		{
			name:   "a-part-failed",
			err:    fmt.Errorf("start etcd: %w", cluster.ErrFailed),
			code:   ExitNotReady,
			remedy: "the failed cluster is removed again; `mullion up --retain` keeps it and its logs",
		},
		{
			name:      "a-part-failed-and-is-kept",
			err:       fmt.Errorf("start etcd: %w", cluster.ErrFailed),
			keepsLogs: true,
			code:      ExitNotReady,
			remedy:    "see DATA/logs, then `mullion down` or `mullion up` again",
		},
		{
			name: "disk-full",
			err:  fmt.Errorf("write state: %w", syscall.ENOSPC),
			code: ExitRequirement,
			remedy: "the disk that holds DATA is full: free some space there, and try again; " +
				"`mullion status` says how much is left",
		},
		{
			name: "disk-full-as-text",
			err:  errors.New("containerd said: no space left on device"),
			code: ExitRequirement,
			remedy: "the disk that holds DATA is full: free some space there, and try again; " +
				"`mullion status` says how much is left",
		},
		{name: "anything-else", err: errors.New("the moon"), code: ExitInternal},
	}
}

func TestUpErrors(t *testing.T) {
	for _, tt := range upErrors() {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			m.lacksNothing()
			m.calls.up = func(_ context.Context, o cluster.UpOptions) (spec.Cluster, error) { return o.Spec, tt.err }
			if tt.keepsLogs {
				m.write(filepath.Join(m.paths.Logs(), "etcd.log"), "")
			}
			m.run("up").refused(t, tt.code, tt.err.Error(), tt.remedy)
		})
	}
}

// TestUpThatIsInterrupted holds that Ctrl-C is told apart from a cluster that does not come up.
func TestUpThatIsInterrupted(t *testing.T) {
	m := newMachine(t)
	m.lacksNothing()
	ctx, cancel := context.WithCancel(t.Context())
	m.calls.up = func(ctx context.Context, o cluster.UpOptions) (spec.Cluster, error) {
		cancel()
		<-ctx.Done()
		return o.Spec, fmt.Errorf("wait for wine: %w", ctx.Err())
	}
	m.runIn(ctx, "up").refused(t, ExitNotReady, "wait for wine: context canceled",
		"the cluster goes on coming up: `mullion up` follows it again, `mullion down` removes it")
}

func TestUpOnAMachineThatLacksSomething(t *testing.T) {
	hint := preflight.Finding{
		Check:   "memory",
		Problem: "1 GB is free",
		Remedy:  "end something",
	}

	wine := preflight.Finding{
		Check:   "wine",
		Problem: "no Wine",
		Remedy:  "install it",
		Fatal:   true,
	}

	kernel := preflight.Finding{
		Check:   "kernel",
		Problem: "no nftables",
		Remedy:  "load nf_tables",
		Fatal:   true,
	}

	const warning = "warning: memory: 1 GB is free\n  → end something\n"
	for _, tt := range []struct {
		name     string
		findings []preflight.Finding
		code     int
		want     string
	}{
		{name: "a-warning", findings: []preflight.Finding{hint}, want: warning},
		{
			name:     "one-thing",
			findings: []preflight.Finding{wine, hint},
			code:     ExitRequirement,
			want:     warning + "mullion: no Wine\n→ install it\n",
		},
		{
			name:     "several-things",
			findings: []preflight.Finding{wine, kernel},
			code:     ExitRequirement,
			want: "mullion: this machine lacks what a cluster needs:\n  wine: no Wine\n    → install it\n" +
				"  kernel: no nftables\n    → load nf_tables\n→ correct these, then run the command again; `mullion doctor` says more of them\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			m.comesUp()
			var asked cluster.PreflightOptions
			m.calls.preflight = func(_ context.Context, o cluster.PreflightOptions) []preflight.Finding {
				asked = o
				return tt.findings
			}

			got := m.run("up", "--kubeconfig", "none")
			if got.code != tt.code || got.err != tt.want {
				t.Errorf("exit code %d, said:\n%s", got.code, got.err)
			}
			if ready := strings.Contains(got.out, "is ready"); ready != (tt.code == ExitOK) {
				t.Errorf("ready: %v", ready)
			}
			if len(asked.Nodes) != 3 || asked.Paths != m.paths || asked.Networking.PodSubnet == "" {
				t.Errorf("asked for %+v", asked)
			}
		})
	}
}

// TestUpReadsTheKubeconfigFirst holds that a broken one is told before anything is brought up.
func TestUpReadsTheKubeconfigFirst(t *testing.T) {
	m := newMachine(t)
	m.lacksNothing()
	m.calls.up = func(context.Context, cluster.UpOptions) (spec.Cluster, error) {
		t.Error("it was brought up all the same")
		return spec.Cluster{}, nil
	}

	file := filepath.Join(filepath.Dir(m.paths.Data), "broken")
	m.write(file, "clusters: [\n")
	got := m.run("up", "--kubeconfig", file)
	got.has(t, ExitUsage, `mullion: check kubeconfig "TMP/broken": `,
		"→ correct or move that file, or use --kubeconfig")
	m.env.Environ = m.env.Environ[:1] // no HOME, no KUBECONFIG
	m.run("up").has(t, ExitUsage, "→ set KUBECONFIG, or use --kubeconfig FILE or --kubeconfig none")
}

// TestUpLeavesOthersContextsAlone holds that the cluster is up, and that it is said how to reach it, where somebody
// else's context has its name.
func TestUpLeavesOthersContextsAlone(t *testing.T) {
	m := newMachine(t)
	m.comesUp()
	file := filepath.Join(filepath.Dir(m.paths.Data), "theirs")
	theirs := strings.NewReplacer("name: admin, context", "name: mullion, context",
		"current-context: admin", "current-context: mullion").Replace(clitest.Kubeconfig("https://192.0.2.1"))
	m.write(file, theirs)
	m.run("up", "--kubeconfig", file).has(t, ExitConflict, `mullion: merge context "mullion" into "TMP/theirs": `,
		"→ the cluster is up: `mullion kubectl` works; rename the context in that file, or use --kubeconfig")
	if text, err := os.ReadFile(file); err != nil || string(text) != theirs {
		t.Errorf("the file says %s, %v", text, err)
	}
}

// ended notes what of a machine was ended or removed.
func (m *machine) ended(err error) *[]string {
	var did []string
	note := func(what string) func(context.Context, layout.Paths, func(string)) error {
		return func(_ context.Context, paths layout.Paths, said func(string)) error {
			if paths != m.paths {
				m.t.Errorf("%s of %v", what, paths)
			}
			did = append(did, what)
			said("ended things (" + what + ")")
			return err
		}
	}
	m.calls.stop, m.calls.down = note("stop"), note("down")
	return &did
}

func TestStop(t *testing.T) {
	m := newMachine(t)
	m.describe(nil)
	m.ended(nil)
	m.run("stop").check(t, ExitOK, "ok   ended things (stop)\n", "")
	m.ended(errors.New("it stays"))
	m.run("stop").check(t, ExitInternal, "ok   ended things (stop)\n", "mullion: it stays\n")
}

// TestUpWithAFolderOfWine: the folder is looked into before anything is done.
func TestUpWithAFolderOfWine(t *testing.T) {
	m := newMachine(t)
	m.comesUp()
	m.lacksNothing()
	const empty = "/var/empty-for-mullion"
	for _, command := range [][]string{{"up"}, {"up", "--dry-run"}, {"join", "--server", "192.0.2.10:6443", "--token", "abcdef.0123456789abcdef", "--unsafe-skip-ca-verification"}} {
		m.run(append(command, "--wine", empty)...).has(t, ExitUsage,
			"mullion: wine: find wine: lstat /var/empty-for-mullion: no such file or directory", "→ name another folder: --wine, or wine in the file; or leave it out")
	}
}

// TestUpOfAnotherKubernetes names a version; the last number comes from what lies beside mullion.
func TestUpOfAnotherKubernetes(t *testing.T) {
	m := newMachine(t)
	m.comesUp()
	m.lacksNothing()
	m.run("up", "--kubernetes-version", "1.35").refused(t, ExitUsage,
		`find Kubernetes v1.35 in "BIN/kubernetes", which has none: no such version of Kubernetes is there`,
		"name another version: --kubernetes-version, or kubernetesVersion in the file; in a checkout, `make bundle VERSION=…` builds one; "+
			"packages mullion-kubernetes-… have others")
	m.run("up", "--kubernetes-version", "latest").has(t, ExitUsage,
		`mullion: --kubernetes-version: kubernetesVersion: "latest" is not a version of Kubernetes`)
	m.write(filepath.Join(m.paths.Bin, "kubernetes", "v1.35.8", "server", "bin", "kubectl"), "")
	m.run("up", "--kubernetes-version", "1.35", "--dry-run").has(t, ExitOK, "  Kubernetes v1.35.8")
}

// TestUpInTheForeground stays until it is told to end, and then stops the cluster; where the cluster ends before, it
// says so.
func TestUpInTheForeground(t *testing.T) {
	m := newMachine(t)
	m.comesUp()
	did := m.ended(nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m.calls.await = func(ctx context.Context, paths layout.Paths) error {
		if paths != m.paths || len(*did) > 0 {
			t.Errorf("waits for %v after %v", paths, *did)
		}
		cancel() // as SIGTERM does
		return nil
	}

	got := m.runIn(ctx, "up", "--foreground")
	got.has(t, ExitOK, "")
	if !strings.HasSuffix(got.out, "as `mullion stop` does.\nok   ended things (stop)\n") {
		t.Errorf("printed %q", got.out)
	}
	if diff := cmp.Diff([]string{"stop"}, *did); diff != "" {
		t.Error(diff)
	}

	did = m.ended(nil)
	m.calls.await = func(context.Context, layout.Paths) error { return cluster.ErrEnded }
	m.run("up", "--foreground").has(t, ExitNotReady, "mullion: the supervisor ended\n→ `mullion up` again picks up")
	if len(*did) > 0 {
		t.Errorf("did %v to a cluster that ended", *did)
	}
}

// TestDown holds that the cluster's context goes with it, and that a data folder that cannot be read is no hindrance.
func TestDown(t *testing.T) {
	m := newMachine(t)
	m.comesUp()
	if got := m.run("up"); got.code != ExitOK {
		t.Fatal(got)
	}

	m.describe(nil)
	did := m.ended(nil)
	m.run("down").check(t, ExitOK, "ok   ended things (down)\n", "")
	if diff := cmp.Diff([]string{"down"}, *did); diff != "" {
		t.Error(diff)
	}

	config := filepath.Join(filepath.Dir(m.paths.Data), ".kube", "config")
	if text, err := os.ReadFile(config); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the kubeconfig says %s, %v", text, err)
	}
	m.write(m.paths.Spec(), `{"kind": "Clus`)
	m.run("down").check(t, ExitOK, "ok   ended things (down)\n", "mullion: read \"DATA/cluster.json\": "+
		"unexpected end of JSON input; removing what is there anyway\n")
	m.ended(errors.New("busy"))
	m.run("down").has(t, ExitInternal, "mullion: busy")
}

func TestLogLevelFlag(t *testing.T) {
	m := newMachine(t)
	for _, level := range []string{"loud", "DEBUG", "debug,info", "-4"} {
		m.run("up", "--log-level", level).refused(t, ExitUsage,
			"--log-level: no log level \""+level+"\"; there are debug, info, warn, error", "for example: --log-level debug")
	}
}
