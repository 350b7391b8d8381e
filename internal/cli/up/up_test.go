package up

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
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/preflight"
	"mullion.dev/mullion/internal/spec"
)

// machine is one with these commands.
type machine struct {
	*clitest.Machine

	calls Calls
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{Machine: clitest.New(t)}
	m.Commands = func(r *reader.Reader) []*cobra.Command {
		commands := New(r, m.calls)
		return []*cobra.Command{commands.Up(), commands.Server(), commands.Doctor()}
	}
	return m
}

// lacksNothing has the machine found fit for a cluster.
func (m *machine) lacksNothing() {
	m.calls.Preflight = func(context.Context, cluster.PreflightOptions) []preflight.Finding { return nil }
}

// comesUp has every cluster come up as it was asked for.
func (m *machine) comesUp() {
	m.lacksNothing()
	m.calls.Up = func(_ context.Context, o cluster.UpOptions) (spec.Cluster, error) {
		m.Write(m.Paths.AdminKubeconfig(), clitest.Kubeconfig("https://127.0.0.1:6443"))
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
			m.Env.In = strings.NewReader("apiVersion: mullion.dev/v1alpha1\nkind: Cluster\n" + tt.file)
			for i, arg := range tt.args {
				if arg == "FILE" {
					tt.args[i] = filepath.Join(filepath.Dir(m.Paths.Data), "own")
				}
			}

			got := m.Run(append([]string{"up"}, tt.args...)...)
			got.Out = clitest.Untimed(got.Out)
			got.Check(t, exit.OK, "\n"+tt.want, "")
		})
	}
}

// TestUpOnAJoinedMachine brings its nodes back, and leaves the person's kubeconfig alone: the administrator's is on
// another machine.
func TestUpOnAJoinedMachine(t *testing.T) {
	m := newMachine(t)
	m.Describe(clitest.Joined)
	m.lacksNothing()
	m.calls.Up = func(_ context.Context, o cluster.UpOptions) (spec.Cluster, error) { return o.Spec, nil }
	got := m.Run("up")
	got.Out = clitest.Untimed(got.Out)
	got.Check(t, exit.OK, "\nCluster \"mullion\" is ready after N.Ns: 2 node(s). "+
		"No kubeconfig was changed; `BIN/mullion --data-dir DATA kubeconfig` prints one.\n"+
		own, "")
	if _, err := os.Stat(filepath.Join(filepath.Dir(m.Paths.Data), ".kube")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a kubeconfig: %v", err)
	}
}

func TestUpIsAskedWhatTheFlagsSay(t *testing.T) {
	m := newMachine(t)
	m.lacksNothing()
	var asked cluster.UpOptions
	var patience time.Duration
	m.calls.Up = func(ctx context.Context, o cluster.UpOptions) (spec.Cluster, error) {
		deadline, _ := ctx.Deadline()
		asked, patience = o, time.Until(deadline)
		return o.Spec, context.DeadlineExceeded
	}

	m.Run("up", "--windows-version", "ltsc2025,ltsc2019", "--listen", "192.0.2.7:6443", "--wait", "90s", "--retain")
	var versions []string
	for _, n := range asked.Spec.Nodes {
		if !n.Linux() {
			versions = append(versions, n.WindowsVersion)
		}
	}

	if diff := cmp.Diff([]string{"ltsc2025", "ltsc2019"}, versions); diff != "" {
		t.Error(diff)
	}
	if asked.Spec.Networking.APIServerAddress != "192.0.2.7" || !asked.Retain || asked.Paths != m.Paths ||
		asked.Executable != m.Env.Executable {
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
			code:   exit.Conflict,
			remedy: "choose another folder",
		},
		{
			name: "not-in-time",
			err:  fmt.Errorf("wait for kubelet/win-1: %w", context.DeadlineExceeded),
			code: exit.NotReady,
			remedy: "see `mullion status` and DATA/logs; on a slow machine give it more time: " +
				"`mullion up --wait 20m` goes on with what is there",
		},
		{
			name:   "a-part-failed",
			err:    fmt.Errorf("start etcd: %w", cluster.ErrFailed),
			code:   exit.NotReady,
			remedy: "the failed cluster is removed again; `mullion up --retain` keeps it and its logs",
		},
		{
			name:      "a-part-failed-and-is-kept",
			err:       fmt.Errorf("start etcd: %w", cluster.ErrFailed),
			keepsLogs: true,
			code:      exit.NotReady,
			remedy:    "see DATA/logs, then `mullion down` or `mullion up` again",
		},
		{
			name: "disk-full",
			err:  fmt.Errorf("write state: %w", syscall.ENOSPC),
			code: exit.Requirement,
			remedy: "the disk that holds DATA is full: free some space there, and try again; " +
				"`mullion status` says how much is left",
		},
		{
			name: "disk-full-as-text",
			err:  errors.New("containerd said: no space left on device"),
			code: exit.Requirement,
			remedy: "the disk that holds DATA is full: free some space there, and try again; " +
				"`mullion status` says how much is left",
		},
		{name: "anything-else", err: errors.New("the moon"), code: exit.Internal},
	}
}

func TestUpErrors(t *testing.T) {
	for _, tt := range upErrors() {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			m.lacksNothing()
			m.calls.Up = func(_ context.Context, o cluster.UpOptions) (spec.Cluster, error) { return o.Spec, tt.err }
			if tt.keepsLogs {
				m.Write(filepath.Join(m.Paths.Logs(), "etcd.log"), "")
			}
			m.Run("up").Refused(t, tt.code, tt.err.Error(), tt.remedy)
		})
	}
}

// TestUpThatIsInterrupted holds that Ctrl-C is told apart from a cluster that does not come up.
func TestUpThatIsInterrupted(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	m := newMachine(t)
	m.lacksNothing()
	ctx, cancel := context.WithCancel(t.Context())
	m.calls.Up = func(ctx context.Context, o cluster.UpOptions) (spec.Cluster, error) {
		cancel()
		<-ctx.Done()
		return o.Spec, fmt.Errorf("wait for wine: %w", ctx.Err())
	}
	m.RunIn(ctx, "up").Refused(t, exit.NotReady, "wait for wine: context canceled",
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
			code:     exit.Requirement,
			want:     warning + "mullion: no Wine\n→ install it\n",
		},
		{
			name:     "several-things",
			findings: []preflight.Finding{wine, kernel},
			code:     exit.Requirement,
			want: "mullion: this machine lacks what a cluster needs:\n  wine: no Wine\n    → install it\n" +
				"  kernel: no nftables\n    → load nf_tables\n→ correct these, then run the command again; `mullion doctor` says more of them\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			m.comesUp()
			var asked cluster.PreflightOptions
			m.calls.Preflight = func(_ context.Context, o cluster.PreflightOptions) []preflight.Finding {
				asked = o
				return tt.findings
			}

			got := m.Run("up", "--kubeconfig", "none")
			if got.Code != tt.code || got.Err != tt.want {
				t.Errorf("exit code %d, said:\n%s", got.Code, got.Err)
			}
			if ready := strings.Contains(got.Out, "is ready"); ready != (tt.code == exit.OK) {
				t.Errorf("ready: %v", ready)
			}

			if len(asked.Nodes) != 3 || asked.Paths != m.Paths || asked.Networking.PodSubnet == "" {
				t.Errorf("asked for %+v", asked)
			}
		})
	}
}

// TestUpReadsTheKubeconfigFirst holds that a broken one is told before anything is brought up.
func TestUpReadsTheKubeconfigFirst(t *testing.T) {
	m := newMachine(t)
	m.lacksNothing()
	m.calls.Up = func(context.Context, cluster.UpOptions) (spec.Cluster, error) {
		t.Error("it was brought up all the same")
		return spec.Cluster{}, nil
	}

	file := filepath.Join(filepath.Dir(m.Paths.Data), "broken")
	m.Write(file, "clusters: [\n")
	got := m.Run("up", "--kubeconfig", file)
	got.Has(t, exit.Usage, `mullion: check kubeconfig "TMP/broken": `,
		"→ correct or move that file, or use --kubeconfig")
	m.Env.Environ = m.Env.Environ[:1] // no HOME, no KUBECONFIG
	m.Run("up").Has(t, exit.Usage, "→ set KUBECONFIG, or use --kubeconfig FILE or --kubeconfig none")
}

// TestUpLeavesOthersContextsAlone holds that the cluster is up, and that it is said how to reach it, where somebody
// else's context has its name.
func TestUpLeavesOthersContextsAlone(t *testing.T) {
	m := newMachine(t)
	m.comesUp()
	file := filepath.Join(filepath.Dir(m.Paths.Data), "theirs")
	theirs := strings.NewReplacer("name: admin, context", "name: mullion, context",
		"current-context: admin", "current-context: mullion").Replace(clitest.Kubeconfig("https://192.0.2.1"))
	m.Write(file, theirs)
	m.Run("up", "--kubeconfig", file).Has(t, exit.Conflict, `mullion: merge context "mullion" into "TMP/theirs": `,
		"→ the cluster is up: `mullion kubectl` works; rename the context in that file, or use --kubeconfig")
	if text, err := os.ReadFile(file); err != nil || string(text) != theirs {
		t.Errorf("the file says %s, %v", text, err)
	}
}

// ended notes that the cluster was stopped.
func (m *machine) ended(err error) *[]string {
	var did []string
	m.calls.Stop = func(_ context.Context, paths layout.Paths, said func(string)) error {
		if paths != m.Paths {
			m.T.Errorf("stops %v", paths)
		}
		did = append(did, "stop")
		said("ended things (stop)")
		return err
	}
	return &did
}

// TestUpWithAFolderOfWine: the folder is looked into before anything is done.
func TestUpWithAFolderOfWine(t *testing.T) {
	m := newMachine(t)
	m.comesUp()
	m.lacksNothing()
	const empty = "/var/empty-for-mullion"
	for _, command := range [][]string{{"up"}, {"up", "--dry-run"}} {
		m.Run(append(command, "--wine", empty)...).Has(t, exit.Usage,
			"mullion: wine: find wine: lstat /var/empty-for-mullion: no such file or directory", "→ name another folder: --wine, or wine in the file; or leave it out")
	}
}

// TestUpOfAnotherKubernetes names a version; the last number comes from what lies beside mullion.
func TestUpOfAnotherKubernetes(t *testing.T) {
	m := newMachine(t)
	m.comesUp()
	m.lacksNothing()
	m.Run("up", "--kubernetes-version", "1.35").Refused(t, exit.Usage,
		`find Kubernetes v1.35 in "BIN/kubernetes", which has none: no such version of Kubernetes is there`,
		"name another version: --kubernetes-version, or kubernetesVersion in the file; in a checkout, `make bundle VERSION=…` builds one; "+
			"packages mullion-kubernetes-… have others")
	m.Run("up", "--kubernetes-version", "latest").Has(t, exit.Usage,
		`mullion: --kubernetes-version: kubernetesVersion: "latest" is not a version of Kubernetes`)
	m.Write(filepath.Join(m.Paths.Bin, "kubernetes", "v1.35.8", "server", "bin", "kubectl"), "")
	m.Run("up", "--kubernetes-version", "1.35", "--dry-run").Has(t, exit.OK, "  Kubernetes v1.35.8")
}

// TestUpInTheForeground stays until it is told to end, and then stops the cluster; where the cluster ends before, it
// says so.
func TestUpInTheForeground(t *testing.T) {
	m := newMachine(t)
	m.comesUp()
	did := m.ended(nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	m.calls.Await = func(ctx context.Context, paths layout.Paths) error {
		if paths != m.Paths || len(*did) > 0 {
			t.Errorf("waits for %v after %v", paths, *did)
		}
		cancel() // as SIGTERM does
		return nil
	}

	got := m.RunIn(ctx, "up", "--foreground")
	got.Has(t, exit.OK, "")
	if !strings.HasSuffix(got.Out, "as `mullion stop` does.\nok   ended things (stop)\n") {
		t.Errorf("printed %q", got.Out)
	}
	if diff := cmp.Diff([]string{"stop"}, *did); diff != "" {
		t.Error(diff)
	}

	did = m.ended(nil)
	m.calls.Await = func(context.Context, layout.Paths) error { return cluster.ErrEnded }
	m.Run("up", "--foreground").Has(t, exit.NotReady, "mullion: the supervisor ended\n→ `mullion up` again picks up")
	if len(*did) > 0 {
		t.Errorf("did %v to a cluster that ended", *did)
	}
}

func TestLogLevelFlag(t *testing.T) {
	m := newMachine(t)
	for _, level := range []string{"loud", "DEBUG", "debug,info", "-4"} {
		m.Run("up", "--log-level", level).Refused(t, exit.Usage,
			"--log-level: no log level \""+level+"\"; there are debug, info, warn, error", "for example: --log-level debug")
	}
}

// TestDescriptionThatIsDamaged is not said to be none: what is there is not to be overwritten.
func TestDescriptionThatIsDamaged(t *testing.T) {
	m := newMachine(t)
	m.Write(m.Paths.Spec(), `{"kind": "Clus`)
	m.lacksNothing()
	m.Run("up").Has(t, exit.Internal, `mullion: read "DATA/cluster.json": unexpected end of JSON input`)
}

// TestSampleThatIsNotBuilt is told after the cluster is up, which it is.
func TestSampleThatIsNotBuilt(t *testing.T) {
	m := newMachine(t)
	m.comesUp()
	got := m.Run("up", "--sample", "--kubeconfig", "none")
	got.Has(t, exit.NotFound, `Cluster "mullion" is ready after`,
		"mullion: find the sample's image: stat BIN/webserver.tar: no such file or directory",
		"→ `make sample` builds it")
}
