package cluster

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cluster/bundle"
	"mullion.dev/mullion/internal/cluster/bundle/bundletest"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/spec"
)

// programs of a person, in a folder.
func ownFiles(t *testing.T) string {
	t.Helper()
	return bundletest.Put(t, t.TempDir(), map[string][]byte{
		"kubelet.exe": bundletest.Windows("one"), "kube-proxy.exe": bundletest.Windows("two"),
		"tool.exe": bundletest.Go(spec.Windows, debug.BuildInfo{Path: "example.org/tool"}),
		"kubelet":  bundletest.Linux("three"), "letter": []byte("Dear reader, this is not a program but a letter, long enough to be one."),
	})
}

// change returns what SetProgram changes, and what it says of it.
func change(node, part, file string) (ProgramChange, *[]string) {
	var said []string
	return ProgramChange{
		Node: node,
		Part: part,
		File: file,
		Said: func(s string) { said = append(said, s) },
	}, &said
}

// TestSetProgramOfAnotherVersion takes it, and says where it does not go with the control plane.
func TestSetProgramOfAnotherVersion(t *testing.T) {
	ours := testClusters(t)["default"]
	older := ours
	older.KubernetesVersion = "v1.34.9"
	foreign := ours
	foreign.Join = &spec.Join{Foreign: &spec.Foreign{}}
	const policy = "; upstream does not support that: https://kubernetes.io/releases/version-skew-policy/"
	for name, tt := range map[string]struct {
		c       spec.Cluster
		version string
		want    []string
	}{
		"same":   {ours, version.Kubernetes, nil},
		"oldest": {ours, "v1.34.1", nil},
		"too-old": {ours, "v1.33.1", []string{
			"a node of Kubernetes v1.33.1 is more than 3 minor versions older than the control plane, which is " +
				version.Kubernetes + policy,
		}},
		"newer": {older, "v1.36.3", []string{
			"a node of Kubernetes v1.36.3 is newer than the control plane, which is v1.34.9" + policy,
		}},
		"foreign": {foreign, "v1.30.0", []string{
			"FILE is of Kubernetes v1.30.0, which is not compared with the control plane's: Mullion did not make this cluster",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			program := bundletest.Go(spec.Linux, debug.BuildInfo{
				Path: "k8s.io/kubernetes/cmd/kube-proxy",
				Main: debug.Module{Path: "k8s.io/kubernetes", Version: tt.version},
			})
			file := filepath.Join(bundletest.Put(t, t.TempDir(), map[string][]byte{"k": program}), "k")
			p, said := change("linux-1", "kube-proxy", file)
			if err := p.check(tt.c, spec.Node{Name: "linux-1", OS: spec.Linux}); err != nil {
				t.Fatal(err)
			}

			for i, line := range *said {
				(*said)[i] = strings.ReplaceAll(line, file, "FILE")
			}

			if diff := cmp.Diff(tt.want, *said); diff != "" {
				t.Errorf("it said (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSetProgram sets programs of a cluster that is not up.
func TestSetProgram(t *testing.T) {
	c := testClusters(t)["default"]
	paths, dir := saved(t, c), ownFiles(t)
	own := func(node string) []string {
		t.Helper()
		parts, err := OwnProgramsOf(paths, node)
		if err != nil {
			t.Fatal(err)
		}
		return parts
	}

	set := func(node, part, file string) {
		t.Helper()
		if file != "" {
			file = filepath.Join(dir, file)
		}
		change, said := change(node, part, file)
		running, err := SetProgram(t.Context(), paths, change)
		if err != nil || running || (file != "" && len(*said) != 1) {
			t.Errorf("set %s of %s: %v, %v, said %q", part, node, running, err, *said)
		}
	}
	set("win-1", "kubelet", "kubelet.exe")
	set("win-1", "kube-proxy", "kube-proxy.exe")
	set("linux-1", "kubelet", "kubelet")
	set("win-2", "kubelet", "") // it is upstream's already
	for node, want := range map[string][]string{"win-1": {"kubelet", "kube-proxy"}, "win-2": nil, "linux-1": {"kubelet"}} {
		if diff := cmp.Diff(want, own(node)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", node, diff)
		}
	}

	// a copy: what is built later changes nothing until it is set again
	copied := filepath.Join(paths.Node("win-1"), "own", "kubelet.exe")
	if err := os.WriteFile(filepath.Join(dir, "kubelet.exe"), bundletest.Windows("later"), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{"one", "later"} {
		text, err := os.ReadFile(copied)
		info, statErr := os.Stat(copied)
		if err != nil || statErr != nil || !strings.HasSuffix(string(text), want) || info.Mode().Perm() != 0o755 {
			t.Errorf("the copy ends in %q, mode %v, want %s", text[len(text)-3:], info.Mode(), want)
		}
		set("win-1", "kubelet", "kubelet.exe")
	}

	if left, err := os.ReadDir(filepath.Dir(copied)); err != nil || len(left) != 2 {
		t.Errorf("in the folder are %v, %v", left, err)
	}
	plan, err := NewPlan(c, paths)
	if err != nil {
		t.Fatal(err)
	}

	if lines := strings.Join(plan.nodeLines(), "\n"); !strings.Contains(lines, "ltsc2022, own kubelet, own kube-proxy") {
		t.Errorf("the plan says\n%s", lines)
	}
	set("win-1", "kubelet", "")
	if diff := cmp.Diff([]string{"kube-proxy"}, own("win-1")); diff != "" {
		t.Errorf("with upstream's kubelet.exe again (-want +got):\n%s", diff)
	}
}

func TestSetProgramRefuses(t *testing.T) {
	c := testClusters(t)["default"]
	bare := c
	bare.Networking.KubeProxyMode = spec.KubeProxyNone
	dir := ownFiles(t)
	for name, tt := range map[string]struct {
		c                spec.Cluster
		node, part, file string
		words            string
		is               error
	}{
		"no-node":          {c, "win-9", "kubelet", "kubelet.exe", `no node "win-9"`, nil},
		"no-part":          {bare, "win-1", "kube-proxy", "kube-proxy.exe", "set the kube-proxy of node win-1", ErrNoSuchPart},
		"other-system":     {c, "win-1", "kubelet", "kubelet", "is a program for Linux on x86-64, and not a program for Windows", nil},
		"windows-on-linux": {c, "linux-1", "kubelet", "kubelet.exe", "is a program for Windows on x86-64, and not a program for Linux", nil},
		"no-program":       {c, "win-1", "kubelet", "letter", "letter is no program", nil},
		"other-program":    {c, "win-1", "kubelet", "tool.exe", "is the program example.org/tool, and not a kubelet", nil},
		"no-file":          {c, "win-1", "kubelet", "none", "no such file", os.ErrNotExist},
		"folder":           {c, "win-1", "kubelet", "", "is no file", nil},
	} {
		t.Run(name, func(t *testing.T) {
			paths := saved(t, tt.c)
			change, said := change(tt.node, tt.part, dir+"/"+tt.file)
			_, err := SetProgram(t.Context(), paths, change)
			if len(*said) > 0 {
				t.Errorf("it said %q", *said)
			}
			if err == nil || !strings.Contains(err.Error(), tt.words) || (tt.is != nil && !errors.Is(err, tt.is)) {
				t.Errorf("%v, want %q", err, tt.words)
			}

			if _, err := os.Stat(filepath.Join(paths.Node("win-1"), "own")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("it made a folder: %v", err)
			}
		})
	}

	some, _ := change("win-1", "kubelet", dir+"/kubelet.exe")
	if _, err := SetProgram(t.Context(), layout.Paths{Data: t.TempDir()}, some); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a cluster: %v", err)
	}
	some.File = dir + "/kubelet"
	_, err := SetProgram(t.Context(), saved(t, c), some)
	if wrong, ok := errors.AsType[*bundle.WrongProgramError](err); !ok || wrong.System != spec.Windows {
		t.Errorf("%v", err)
	}
}

// reader is a part that starts if the program in its place is good, and remembers which it was.
type reader struct {
	place string
	ran   []string
}

func (r *reader) ID() component.ID           { return component.OfNode("kubelet", "win-1") }
func (r *reader) Stop(context.Context) error { return nil }
func (r *reader) Start(context.Context) error {
	text, err := os.ReadFile(r.place)
	if err != nil {
		text = []byte("upstream's")
	}
	if r.ran = append(r.ran, string(text)); string(text) == "bad" {
		return errors.New("unknown flag")
	}
	return nil
}

// TestSetWhileUp has the part started again with each program, and with the former one where that is in vain.
func TestSetWhileUp(t *testing.T) {
	testrun.Once(t, testrun.Race)
	dir := t.TempDir()
	files := bundletest.Put(t, t.TempDir(), map[string][]byte{"a": []byte("a"), "b": []byte("b"), "bad": []byte("bad")})
	part := &reader{place: filepath.Join(dir, "kubelet.exe")}
	socket := filepath.Join(t.TempDir(), "s")
	ended := make(chan error, 1)
	go func() {
		ended <- supervisor.Run(t.Context(), supervisor.Config{
			Socket: socket, Units: []component.Unit{{Component: part}}, Log: slog.New(slog.DiscardHandler),
		})
	}()

	client := supervisor.NewClient(socket)
	s := setting{
		ctx:    t.Context(),
		client: client,
		dir:    dir,
		name:   "kubelet.exe",
		unit:   part.ID(),
	}

	for {
		if running, err := s.isRunning(layout.Paths{Data: dir}); err != nil {
			t.Fatal(err)
		} else if running {
			break
		}
	}

	for _, tt := range []struct {
		file   string
		former bool
		words  string
	}{
		{"bad", true, "unknown flag"}, {"a", false, ""}, {"bad", true, "unknown flag"}, {"b", false, ""}, {"", false, ""}, {"", false, ""},
	} {
		file := tt.file
		if file != "" {
			file = filepath.Join(files, file)
		}
		former, err := s.set(file, true)
		if former != tt.former || (err == nil) != (tt.words == "") || (err != nil && !strings.Contains(err.Error(), tt.words)) {
			t.Errorf("%q: former %v, %v", tt.file, former, err)
		}

		if left, err := filepath.Glob(filepath.Join(dir, ".*-*")); err != nil || len(left) > 0 {
			t.Errorf("%q: there are still %v, %v", tt.file, left, err)
		}
	}

	if err := client.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}

	want := []string{"upstream's", "bad", "upstream's", "a", "bad", "a", "b", "upstream's"}
	if diff := cmp.Diff(want, part.ran); diff != "" {
		t.Errorf("what ran (-want +got):\n%s", diff)
	}
}
