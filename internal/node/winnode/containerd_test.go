package winnode

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/errdefs"

	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/runtime/image"
)

// withContainerd returns a host with a containerd.exe of its own, whose programs are there.
func withContainerd(t *testing.T) Config {
	t.Helper()
	c := sample(t)
	c.Containerd = t.TempDir()
	for _, name := range ContainerdPrograms() {
		if err := os.WriteFile(filepath.Join(c.Containerd, name), []byte(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// The kubelet waits for containerd.exe, and that for its pipe and for what makes containers; the pipe of CRI is
// containerd's alone, and the agent keeps what leads to Mullion's own runtime for itself.
func TestContainerdUnits(t *testing.T) {
	c := withContainerd(t)
	units, err := Units(c)
	if err != nil {
		t.Fatal(err)
	}
	after := map[component.ID][]component.ID{}
	for _, u := range units {
		after[u.ID()] = u.After
	}

	if got := after[c.ContainerdUnit()]; !slices.Equal(got, []component.ID{c.Unit("agent"), c.Unit("pipes")}) {
		t.Errorf("containerd starts after %v", got)
	}
	if got := after[c.KubeletUnit()]; !slices.Contains(got, c.ContainerdUnit()) {
		t.Errorf("the kubelet starts after %v", got)
	}

	own := agentconfig.CRISocket(c.RunDir)
	if args := strings.Join(c.pipesArgs(), " "); strings.Contains(args, own) || !strings.Contains(args, criPipe) {
		t.Errorf("the pipes of a host with containerd.exe: %s", args)
	}
	if args := strings.Join(sample(t).pipesArgs(), " "); !strings.Contains(args, "cri.sock") {
		t.Errorf("the pipes of another host: %s", args)
	}

	var places []string
	for _, p := range c.programs() {
		places = append(places, p.place)
	}
	for _, name := range ContainerdPrograms() {
		if !slices.Contains(places, "Program Files/containerd/"+name) {
			t.Errorf("%s is not among the host's programs: %q", name, places)
		}
	}
}

// With another's CNI plugin containerd.exe looks where such a plugin is installed.
func TestContainerdWithAnothersCNI(t *testing.T) {
	c := withContainerd(t)
	c.Network.NoCNI = true
	if text := c.containerdTOML(); !strings.Contains(text, `conf_dir = 'C:\etc\cni\net.d'`) ||
		!strings.Contains(text, `'C:\opt\cni\bin'`) {
		t.Error(text)
	}
}

// What an earlier start said of registries goes.
func TestContainerdForgetsRegistries(t *testing.T) {
	c := withContainerd(t)
	old := c.drive(certsDir, "old.example", "hosts.toml")
	if err := os.MkdirAll(filepath.Dir(old), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := c.writeContainerd(); err != nil {
		t.Fatal(err)
	}

	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a registry of an earlier start is known: %v", err)
	}
	if info, err := os.Stat(c.drive(containerdConfig)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the configuration, which may have passwords: %v, %v", info, err)
	}
}

// containerd.exe finds the cluster's proxy by variables of its service; its command line, which everybody sees, does
// not have them. Without a proxy it has none, also where an earlier start had one.
func TestContainerdProxy(t *testing.T) {
	c := withContainerd(t)
	if err := os.MkdirAll(c.drive(), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, all := range [][]string{{"HTTPS_PROXY=http://user:secret@proxy.example:3128", "NO_PROXY=.svc"}, nil} {
		c.PullEnviron = all
		if err := c.writeContainerd(); err != nil {
			t.Fatal(err)
		}
		file := c.drive(containerdEnv)
		text, err := os.ReadFile(file)
		if err != nil || !slices.Equal(strings.Fields(string(text)), all) {
			t.Errorf("the variables are %q, %v; want %q", text, err, all)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("their file, which may have passwords: %v, %v", info, err)
		}
	}
}

// A process is a host's own if it is in the host's network namespace.
func TestInHost(t *testing.T) {
	c := sample(t)
	self := proc.Leftover{PID: os.Getpid()}
	if c.inHost(self) {
		t.Error("a host without a namespace has a process")
	}
	if err := os.Symlink("/proc/self/ns/net", c.Netns); err != nil {
		t.Fatal(err)
	}
	if !c.inHost(self) || c.inHost(proc.Leftover{PID: 1 << 30}) {
		t.Error("a process in the namespace is not the host's, or one that is not there is")
	}
}

// store is a store of images that keeps what it is given, and knows digests.
type store struct {
	digests map[string]string
	loaded  int
	err     error
}

func (s *store) Digest(_ context.Context, ref string) (string, error) {
	if digest, ok := s.digests[ref]; ok {
		return digest, s.err
	}
	return "", errors.Join(errdefs.ErrNotFound, s.err)
}

func (s *store) Load(_ context.Context, r io.Reader) ([]string, error) {
	s.loaded++
	_, err := io.Copy(io.Discard, r)
	return nil, err
}

// An image is loaded if it lacks one of its names, or another is called so; and only then.
func TestEnsureImage(t *testing.T) {
	c := withContainerd(t)
	img, err := image.BuildStandIn(t.Context(), image.StandIns(c.Build)[0])
	if err != nil {
		t.Fatal(err)
	}
	digest, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}

	has := &store{digests: map[string]string{}}
	for _, ref := range img.Refs {
		has.digests[ref] = digest
	}
	if err := ensureImage(t.Context(), has, img); err != nil || has.loaded != 0 {
		t.Errorf("an image that is there was loaded %d times, %v", has.loaded, err)
	}
	has.digests[img.Refs[0]] = "sha256:other"
	if err := ensureImage(t.Context(), has, img); err != nil || has.loaded != 1 {
		t.Errorf("in place of another an image was loaded %d times, %v", has.loaded, err)
	}

	away := &store{err: errdefs.ErrUnavailable}
	away.digests = map[string]string{img.Refs[0]: digest}
	if err := ensureImage(t.Context(), away, img); !errdefs.IsUnavailable(err) {
		t.Errorf("a store that is away: %v", err)
	}
}
