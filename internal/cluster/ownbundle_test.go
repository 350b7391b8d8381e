package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cluster/bundle"
	"mullion.dev/mullion/internal/cluster/bundle/bundletest"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/spec"
)

// ownVersion is that of a build of one's own.
const ownVersion = "v1.37.0-alpha.1.7+0a1b2c3d4e5f67"

// described puts the description of a cluster of a version into the data folder.
func describedIn(t *testing.T, paths layout.Paths, version string) {
	t.Helper()
	c := spec.Default(nil, false, "")
	c.KubernetesVersion = version
	if err := paths.SaveSpec(c); err != nil {
		t.Fatal(err)
	}
}

// TestOwnBundle takes a bundle, takes it again, and takes another of the same version before and after a cluster is
// there.
func TestOwnBundle(t *testing.T) {
	paths := layout.Paths{Data: t.TempDir(), Bin: t.TempDir()}
	from := bundletest.Put(t, t.TempDir(), bundletest.Programs(ownVersion))
	take := func() (*OwnBundle, error) {
		own := &OwnBundle{Dir: paths.Data, paths: paths}
		return own, own.take(t.Context(), []string{from})
	}
	bundletest.Put(t, paths.Data, map[string][]byte{"kubernetes/.new-1/server/bin/kubelet": nil}) // of one that was interrupted
	own, err := take()
	if err != nil || own.Version != ownVersion || !own.isNew {
		t.Fatalf("%+v, %v", own, err)
	}

	if left, err := os.ReadDir(filepath.Join(paths.Data, "kubernetes")); err != nil || len(left) != 1 {
		t.Errorf("there are %v, %v", left, err)
	}
	if got := paths.Kubernetes(ownVersion); got.Dir != filepath.Join(paths.Data, "kubernetes", ownVersion) ||
		got.Etcd() != bundle.At(paths.Bin, version.Kubernetes).Etcd() {
		t.Errorf("its bundle is %+v with etcd %s", got, got.Etcd())
	}

	if own, err := take(); err != nil || own.isNew {
		t.Errorf("again: %+v, %v", own, err)
	}
	other := bundletest.Programs(ownVersion)
	other["node/bin/kubelet.exe"] = bundletest.Windows("changed " + ownVersion)
	bundletest.Put(t, from, other)
	if own, err := take(); err != nil || !own.isNew {
		t.Errorf("another, without a cluster: %+v, %v", own, err)
	}

	describedIn(t, paths, ownVersion)
	if own, err := take(); err != nil || own.isNew {
		t.Errorf("the same, with a cluster: %+v, %v", own, err)
	}

	other["node/bin/kubelet.exe"] = bundletest.Windows("changed again " + ownVersion)
	bundletest.Put(t, from, other)
	var conflict *ConflictError
	words := "has Kubernetes " + ownVersion + " already"
	if _, err := take(); !errors.As(err, &conflict) || !strings.Contains(err.Error(), words) {
		t.Errorf("another, with a cluster: %v", err)
	}
}

// TestDiscardOwnBundle removes a bundle that nothing has.
func TestDiscardOwnBundle(t *testing.T) {
	for name, tt := range map[string]struct {
		cluster      string // its version, "" without a cluster
		isNew, stays bool
	}{
		"no-cluster":        {"", true, false},
		"was-there":         {"", false, true},
		"cluster-has-it":    {ownVersion, true, true},
		"of-another":        {"v1.37.1", true, false},
		"another-had-it":    {"v1.37.1", false, true},
		"cluster-not-known": {"unreadable", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			paths := layout.Paths{Data: t.TempDir()}
			own := &OwnBundle{Dir: paths.Data, paths: paths}
			from := bundletest.Put(t, t.TempDir(), bundletest.Programs(ownVersion))
			if err := own.take(t.Context(), []string{from}); err != nil {
				t.Fatal(err)
			}

			own.isNew = tt.isNew
			if tt.cluster != "" {
				describedIn(t, paths, tt.cluster)
			}
			if err := own.Discard(t.Context()); (err != nil) != (name == "cluster-not-known") {
				t.Error(err)
			}

			if got := bundle.At(paths.Data, ownVersion).There(); got != tt.stays {
				t.Errorf("it is there: %v, want %v", got, tt.stays)
			}
		})
	}
}

// TestDiscardBesideALeftover keeps what a join remembers of its cluster, in a folder that was made for the bundle too.
func TestDiscardBesideALeftover(t *testing.T) {
	paths := layout.Paths{Data: t.TempDir()}
	own := &OwnBundle{
		Dir:        paths.Data,
		paths:      paths,
		madeFolder: true,
	}

	from := bundletest.Put(t, t.TempDir(), bundletest.Programs(ownVersion))
	if err := own.take(t.Context(), []string{from}); err != nil {
		t.Fatal(err)
	}

	bundletest.Put(t, paths.Data, map[string][]byte{"join/claim.json": []byte("{}")})
	if err := own.Discard(t.Context()); err != nil {
		t.Error(err)
	}
	if !paths.Leftover() || bundle.At(paths.Data, ownVersion).There() {
		t.Errorf("the leftover is there: %v; the bundle: %v", paths.Leftover(),
			bundle.At(paths.Data, ownVersion).There())
	}
}

// TestTakeBundleBesideALeftover is refused before anything is made.
func TestTakeBundleBesideALeftover(t *testing.T) {
	paths := layout.Paths{Data: t.TempDir()}
	bundletest.Put(t, paths.Data, map[string][]byte{"join/claim.json": []byte("{}")})
	from := bundletest.Put(t, t.TempDir(), bundletest.Programs(ownVersion))
	var conflict *ConflictError
	if _, err := TakeBundle(t.Context(), paths, []string{from}); !errors.As(err, &conflict) {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(paths.Data); err != nil || len(left) != 1 {
		t.Errorf("in the folder are %v, %v", left, err)
	}
}

func TestDescribeOwnBundle(t *testing.T) {
	bin := bundletest.Put(t, t.TempDir(), map[string][]byte{"kubernetes/v1.37.1/server/bin/etcd": nil})
	for version, want := range map[string]string{
		ownVersion: "it has no etcd; that of Kubernetes v1.37.1, which comes with Mullion, is used",
		"v1.37.1":  "v1.37.1 lies beside mullion too; that of --bundle is used",
	} {
		from := bundletest.Put(t, t.TempDir(), bundletest.Programs(version))
		own, err := TryBundle(t.Context(), t.TempDir(), []string{from})
		if err != nil {
			t.Fatal(err)
		}
		own.Describe(bin, false)
		if len(own.Notes) == 0 || own.Notes[0] != want {
			t.Errorf("%s: %q, want %q first", version, own.Notes, want)
		}

		own.Notes = nil
		if own.Describe(bin, true); strings.Contains(strings.Join(own.Notes, " "), "etcd") {
			t.Errorf("%s, for nodes alone: %q", version, own.Notes)
		}
	}
}
