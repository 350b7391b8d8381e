//go:build cluster

package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/version"
)

// reader is a user of the machine who is not root.
type reader struct {
	c       cluster
	program string
	home    string
	uid     uint32
	groups  []uint32
}

// run runs mullion as that user, and returns both outputs and the exit code.
func (r reader) run(ctx context.Context, t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(ctx, r.program, args...)
	cmd.Dir = r.home
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "MULLION_DATA_DIR=" + r.c.data}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{
		Uid:    r.uid,
		Gid:    r.uid,
		Groups: r.groups,
	}}

	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return out.String(), errs.String(), exit.ExitCode()
	}

	if err != nil {
		t.Fatalf("run mullion as user %d: %v", r.uid, err)
	}
	return out.String(), errs.String(), 0
}

// planEnds is the exit code of a reader's plan, as up would end: beside its copy of mullion lie none of the programs
// that a cluster needs.
const planEnds = 3

// findingsEnd is the exit code of `mullion diagnose` where it has found something.
const findingsEnd = 8

// newReaders returns the person who ran sudo, and a stranger. They have programs of their own, since those of the
// checkout may lie where only root gets.
func (c cluster) newReaders(t *testing.T) (person, stranger reader) {
	t.Helper()
	dir, err := os.MkdirTemp("", "mullion-readers") //nolint:usetesting // nobody else gets into that of a test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}

	kubectl := filepath.Join("kubernetes", version.Kubernetes, "server", "bin", "kubectl")
	for _, program := range []string{"mullion", kubectl} {
		to := filepath.Join(dir, program)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("cp", "-L", filepath.Join(c.bin, program), to).CombinedOutput(); err != nil {
			t.Fatalf("copy %s: %v\n%s", program, err, out)
		}
	}

	made := func(uid uint32) reader {
		home := filepath.Join(dir, strconv.Itoa(int(uid)))
		if err := errors.Join(os.Mkdir(home, 0o700), os.Chown(home, int(uid), int(uid))); err != nil {
			t.Fatal(err)
		}
		return reader{
			c:       c,
			program: filepath.Join(dir, "mullion"),
			home:    home,
			uid:     uid,
		}
	}

	return made(4001), made(4002)
}

// upBySudo brings the cluster up again, as somebody who calls sudo does.
func (c cluster) upBySudo(t *testing.T, who reader) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(c.bin, "mullion"), "up", "--kubeconfig", "none")
	cmd.Env = append(c.env(), "SUDO_UID="+strconv.Itoa(int(who.uid)), "SUDO_GID="+strconv.Itoa(int(who.uid)))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("mullion up: %v\n%s", err, out)
	}
}

// reads runs what reads, and holds what is printed against a regular expression.
func (r reader) reads(t *testing.T) {
	t.Helper()
	for _, tt := range []struct {
		args, want string
	}{
		{"status", `(?m)^Cluster \S+: healthy$`},
		{"status -o json", `"state":"healthy"`},
		{"kubectl get nodes", `(?m)^win-1 +Ready`},
		{"kubectl get pods -A", `NAMESPACE|No resources found`},
		{"kubectl auth can-i list nodes", `(?m)^yes$`},
		{"kubeconfig", `client-key-data: `},
		{"logs etcd --tail 1", `^.+\n$`},
		{"logs kubelet/win-1 --tail 1", `.`},
		{"hns ls win-1", `(?m)^NETWORK `},
		{"hns show win-1 cbr0", `"Name": "cbr0"`},
		{"hns diag win-1", `HNS of node win-1: `},
		{"image ls", `(?m)^IMAGE +ID`},
		{"image ls --node win-1", `(?m)^IMAGE +ID`},
		{"node disk ls win-1", `(?m)^DISK `},
		{"net flows", `pod`},
		{"version", `mullion `},
		{"up --dry-run", `(?m)node win-1: `},
	} {
		out, errs, code := r.run(t.Context(), t, strings.Fields(tt.args)...)
		want := 0
		if tt.args == "up --dry-run" {
			want = planEnds
		}
		if code != want || !regexp.MustCompile(tt.want).MatchString(out+errs) {
			t.Errorf("mullion %s ended with %d, want %d and %q in:\n%s%s", tt.args, code, want, tt.want, out, errs)
		}
	}
}

// readers reads the cluster as users who are not root: the person who ran sudo, and a member of no group, who is
// refused. What changes something is refused to both.
func (c cluster) readers(t *testing.T) {
	t.Helper()
	person, stranger := c.newReaders(t)
	c.upBySudo(t, person)
	c.healthy(t)
	t.Run("reads", person.reads)
	t.Run("follows", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		out, errs, _ := person.run(ctx, t, "logs", "supervisor", "--tail", "1", "-f")
		if strings.Count(out, "\n") < 1 || ctx.Err() == nil {
			t.Errorf("it printed %q, %s, and its end came before it was ended: %t", out, errs, ctx.Err() == nil)
		}
	})

	t.Run("no-secrets", func(t *testing.T) {
		for _, args := range []string{
			"kubectl get secrets -A", "kubectl create namespace x", "kubectl delete node win-1",
			"kubectl get --raw /api/v1/nodes/win-1/proxy/configz",
			"kubectl exec -n default x -- cmd",
		} {
			out, errs, code := person.run(t.Context(), t, strings.Fields(args)...)
			if code == 0 || (!strings.Contains(errs, "orbidden") && !strings.Contains(errs, "not found")) {
				t.Errorf("mullion %s ended with %d:\n%s%s", args, code, out, errs)
			}
		}

		out, _, code := person.run(t.Context(), t, "kubectl", "auth", "can-i", "create", "pods/exec")
		if code == 0 || strings.TrimSpace(out) != "no" {
			t.Errorf("a reader may run programs in pods: %q", out)
		}
	})

	t.Run("collects", func(t *testing.T) {
		out, errs, code := person.run(t.Context(), t, "export", "logs", filepath.Join(person.home, "exported"))
		if code != 0 {
			t.Errorf("export logs ended with %d:\n%s%s", code, out, errs)
		}

		for _, file := range []string{
			"logs/etcd.log", "nodes/win-1/hns/state.json", "objects/nodes.yaml", "status.txt",
		} {
			if info, err := os.Stat(filepath.Join(person.home, "exported", file)); err != nil || info.Size() == 0 {
				t.Errorf("export logs: %v", err)
			}
		}

		out, errs, code = person.run(t.Context(), t, "collect", "win-1", "-o", "win-1.tar.gz")
		if code != 0 || strings.Contains(errs, "not collected: ask") {
			t.Errorf("collect ended with %d:\n%s%s", code, out, errs)
		}
	})

	// A reader does not see all that root sees, and finds no trouble in that.
	t.Run("diagnoses", func(t *testing.T) {
		root, err := c.mullion(t.Context(), t, "diagnose")
		if code, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || code.ExitCode() != findingsEnd) {
			t.Fatalf("mullion diagnose: %v\n%s", err, root)
		}
		want := 0
		if err != nil {
			want = findingsEnd
		}

		out, errs, code := person.run(t.Context(), t, "diagnose")
		if code != want || !strings.Contains(out, "kubelets' configuration: not permitted") ||
			!strings.Contains(errs, "With root, all is looked at: sudo ") {
			t.Errorf("diagnose ended with %d, want %d:\n%s%s\nroot was told:\n%s", code, want, out, errs, root)
		}
	})

	t.Run("stranger", func(t *testing.T) {
		for _, args := range []string{"status", "kubectl get nodes", "logs etcd -f", "kubeconfig", "hns ls win-1", "image ls"} {
			out, errs, code := stranger.run(t.Context(), t, strings.Fields(args)...)
			if code != 3 || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "user 4002 is neither root") {
				t.Errorf("mullion %s of a stranger ended with %d:\n%s%s", args, code, out, errs)
			}
		}

		out, errs, code := stranger.run(t.Context(), t, "up", "--dry-run")
		if code != planEnds || !strings.Contains(errs, "these lie beside mullion, and are not there") ||
			!strings.Contains(errs, "only root may see whether a cluster is in") {
			t.Errorf("up --dry-run of a stranger ended with %d:\n%s%s", code, out, errs)
		}
	})

	t.Run("changes", func(t *testing.T) {
		for _, who := range []reader{person, stranger} {
			for _, args := range []string{"node exec win-1 -- cmd /c ver", "down", "stop", "hns restart win-1", "image rm a:b"} {
				out, errs, code := who.run(t.Context(), t, strings.Fields(args)...)
				want := "--data-dir " + c.data + " " + args + "\n"
				if code != 3 || out != "" || strings.Count(errs, "\n") != 1 || !strings.HasSuffix(errs, want) {
					t.Errorf("mullion %s ended with %d, want a line with %q:\n%s%s", args, code, want, out, errs)
				}
			}
		}
	})

	t.Run("own-context", func(t *testing.T) {
		folder := filepath.Join(person.home, ".kube")
		config := filepath.Join(folder, "config")
		if out, err := c.mullion(t.Context(), t, "up", "--kubeconfig", config); err != nil {
			t.Fatalf("mullion up: %v\n%s", err, out)
		}
		defer os.RemoveAll(folder)
		for _, path := range []string{folder, config} {
			if err := os.Chown(path, int(person.uid), int(person.uid)); err != nil {
				t.Fatal(err)
			}
		}

		out, errs, code := person.run(t.Context(), t, "kubectl", "auth", "can-i", "create", "pods/exec")
		if code != 0 || strings.TrimSpace(out) != "yes" {
			t.Errorf("with the own context it ended with %d:\n%s%s", code, out, errs)
		}
		out, errs, code = person.run(t.Context(), t, "kubeconfig")
		if code != 0 || errs != "" || !strings.Contains(out, "cluster: "+c.data) {
			t.Errorf("the own context is not printed: %d\n%s%s", code, out, errs)
		}
	})

	t.Run("killed", func(t *testing.T) {
		for _, pid := range c.matching(` supervise `)(t) {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			c.ended(t, pid)
		}

		if _, errs, code := person.run(t.Context(), t, "status"); code != 3 || !strings.Contains(errs, "nothing answers for a cluster") {
			t.Errorf("status without a supervisor ended with %d: %s", code, errs)
		}
		if out, err := c.mullion(t.Context(), t, "up", "--kubeconfig", "none"); err != nil { // without sudo
			t.Fatalf("mullion up: %v\n%s", err, out)
		}
		c.healthy(t)
		person.reads(t)
	})
}
