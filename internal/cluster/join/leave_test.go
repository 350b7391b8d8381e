package join

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/machines/discovery"
	"mullion.dev/mullion/internal/spec"
)

// Each node deletes itself, and no other; the part is given back. Nothing of other machines is touched. A second Leave
// finds nothing to do.
func TestLeave(t *testing.T) {
	a := newAPI(t, node("win-1"), node("win-2"), node("far"), claim(1, "us"), claim(2, "them"))
	paths := a.joined(t, 1, "win-1", "win-2")
	if err := Leave(t.Context(), paths, nil); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]string{
		"delete nodes/win-1 by system:node:win-1",
		"delete nodes/win-2 by system:node:win-2",
	}, a.said("delete nodes")); diff != "" {
		t.Error(diff)
	}

	for name, want := range map[string]bool{"win-1": false, "win-2": false, "far": true, "machine-1": false, "machine-2": true} {
		if a.has(t, name) != want {
			t.Errorf("%s is in the cluster: %v", name, !want)
		}
	}

	if !exists(paths.JoinClaim()) {
		t.Error("Leave has changed the machine")
	}
	if err := Leave(t.Context(), paths, nil); err != nil {
		t.Errorf("a second Leave: %v", err)
	}
}

// The nodes of a machine that is up are those of its specification, with the certificates of their kubelets.
func TestLeaveOfMachineThatIsUp(t *testing.T) {
	a := newAPI(t, node("win-1"), node("linux-1"), claim(1, "us"))
	paths := a.joined(t, 1)
	c := published()
	c.Nodes = []spec.Node{{Name: "win-1"}, {Name: "linux-1", OS: spec.Linux}}
	c.Join = &spec.Join{
		Server:  a.url,
		Part:    1,
		Address: "192.0.2.7",
	}

	c = c.WithDefaults()
	if err := paths.SaveSpec(c); err != nil {
		t.Fatal(err)
	}

	for name, id := range cluster.NodeClients(paths, c).Identities {
		certify(t, id.Dir, name)
	}

	if err := Leave(t.Context(), paths, nil); err != nil {
		t.Fatal(err)
	}
	if a.has(t, "win-1") || a.has(t, "linux-1") || a.has(t, "machine-1") {
		t.Errorf("the machine is in the cluster still; it asked %q", a.said(""))
	}
}

// An administrator's client does all of it: the nodes' certificates and the token are not needed.
func TestLeaveByAdministrator(t *testing.T) {
	a := newAPI(t, node("win-1"), claim(1, "us"))
	paths := a.joined(t, 1, "win-1")
	if err := os.WriteFile(filepath.Join(paths.JoinNode("win-1"), "kubelet-client-current.pem"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Leave(t.Context(), paths, a); err != nil {
		t.Fatal(err)
	}

	if a.has(t, "win-1") || a.has(t, "machine-1") {
		t.Error("the machine is in the cluster still")
	}
	if asked := a.said(""); len(asked) > 0 {
		t.Errorf("others than the administrator asked %q", asked)
	}
}

// A cluster that does not let nodes delete themselves is told from one that does not answer. The other nodes are
// deleted all the same.
func TestLeaveIsForbidden(t *testing.T) {
	a := newAPI(t, node("win-1"), node("win-2"))
	paths := a.joined(t, 0, "win-1", "win-2")
	a.refuse("system:node:win-1", "delete", "nodes", forbidden("nodes", "win-1"))
	err := Leave(t.Context(), paths, nil)
	if !errors.Is(err, ErrNodesStay) {
		t.Errorf("the error is %v", err)
	}

	says(t, err, `take node "win-1" out of the cluster`, "you have no such right")
	if !a.has(t, "win-1") || a.has(t, "win-2") {
		t.Error("win-2 should be gone, and win-1 not")
	}
	if err := Leave(t.Context(), paths, a); err != nil || a.has(t, "win-1") {
		t.Errorf("an administrator after that: %v", err)
	}
}

// While the server does not work, the error names what is left and does not speak of missing rights; the next try
// removes it.
func TestLeaveIsTriedAgain(t *testing.T) {
	a := newAPI(t, node("win-1"), claim(1, "us"))
	paths := a.joined(t, 1, "win-1")
	end := a.refuse("*", "*", "*", silent())
	err := Leave(t.Context(), paths, nil)
	says(t, err, `take node "win-1" out`, "etcd has no leader")
	if errors.Is(err, ErrNodesStay) {
		t.Errorf("%v is taken for a lack of rights", err)
	}
	end()
	if err := Leave(t.Context(), paths, nil); err != nil || a.has(t, "win-1") || a.has(t, "machine-1") {
		t.Errorf("the next try: %v; it asked %q", err, a.said(""))
	}
}

// While a node stays, no other machine can get the part that the node's address is in.
func TestLeaveKeepsThePartOfANodeThatStays(t *testing.T) {
	a := newAPI(t, node("win-1"), node("win-2"), claim(1, "us"))
	paths := a.joined(t, 1, "win-1", "win-2")
	end := a.refuse("system:node:win-1", "delete", "nodes", forbidden("nodes", "win-1"))
	if err := Leave(t.Context(), paths, nil); !errors.Is(err, ErrNodesStay) || !a.has(t, "machine-1") {
		t.Errorf("got %v, and the claim is there: %v", err, a.has(t, "machine-1"))
	}
	end()
	if err := Leave(t.Context(), paths, a); err != nil || a.has(t, "win-1") || a.has(t, "machine-1") {
		t.Errorf("an administrator after that: %v", err)
	}
}

// A node without a certificate that never registered is passed over. One that did register cannot be deleted, and the
// error says so.
func TestLeaveOfNodeWithoutCertificate(t *testing.T) {
	a := newAPI(t, claim(1, "us"))
	paths := a.joined(t, 1)
	if err := os.MkdirAll(paths.JoinNode("win-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Leave(t.Context(), paths, nil); err != nil || a.has(t, "machine-1") {
		t.Errorf("a node that never registered: %v", err)
	}

	if err := a.Tracker().Add(node("win-1")); err != nil {
		t.Fatal(err)
	}
	err := Leave(t.Context(), paths, nil)
	if !errors.Is(err, os.ErrNotExist) || !a.has(t, "win-1") {
		t.Errorf("a node that did: %v", err)
	}
	says(t, err, `take node "win-1" out of the cluster`)
}

// A part that another machine has claimed since stays that machine's.
func TestLeaveKeepsTheClaimOfAnother(t *testing.T) {
	a := newAPI(t, claim(1, "them"))
	if err := Leave(t.Context(), a.joined(t, 1), nil); err != nil || !a.has(t, "machine-1") {
		t.Errorf("got %v, and the claim is there: %v", err, a.has(t, "machine-1"))
	}
}

// If the nodes own the claim, an expired token does not matter: the claim is removed with the nodes. If there is no
// node, it does.
func TestLeaveWithTokenThatHasExpired(t *testing.T) {
	expired := apierrors.NewUnauthorized("the token has expired")
	a := newAPI(t, node("win-1"), claim(1, "us"))
	a.refuse(theToken.String(), "*", "*", expired)
	if err := Leave(t.Context(), a.joined(t, 1, "win-1"), nil); err != nil || a.has(t, "win-1") {
		t.Errorf("with a node: %v", err)
	}
	a = newAPI(t, claim(1, "us"))
	a.refuse(theToken.String(), "*", "*", expired)
	says(t, Leave(t.Context(), a.joined(t, 1), nil), "give back part 1 of the underlay", "has expired")
}

// In a cluster that Mullion did not make there is no part to give back.
func TestLeaveOfForeignCluster(t *testing.T) {
	a := newAPI(t, node("win-1"))
	if err := Leave(t.Context(), a.joined(t, 0, "win-1"), nil); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"delete nodes/win-1 by system:node:win-1"}, a.said("")); diff != "" {
		t.Error(diff)
	}
}

// A machine that never tried to join has nothing to leave. Damaged records are named in the error.
func TestLeaveWithoutRecords(t *testing.T) {
	paths := freshPaths(t)
	if err := Leave(t.Context(), paths, nil); err != nil {
		t.Errorf("nothing to leave: %v", err)
	}

	for name, spoil := range map[string]func(layout.Paths) (string, error){
		"damaged-claim": func(p layout.Paths) (string, error) {
			return p.JoinClaim(), os.WriteFile(p.JoinClaim(), []byte("{"), 0o600)
		},
		"no-authority": func(p layout.Paths) (string, error) { return p.JoinCA(), os.Remove(p.JoinCA()) },
		"no-token":     func(p layout.Paths) (string, error) { return p.JoinKubeconfig(), os.Remove(p.JoinKubeconfig()) },
		"damaged-specification": func(p layout.Paths) (string, error) {
			return p.Spec(), os.WriteFile(p.Spec(), []byte("{"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, node("win-1"))
			paths := a.joined(t, 1, "win-1")
			file, err := spoil(paths)
			if err != nil {
				t.Fatal(err)
			}

			says(t, Leave(t.Context(), paths, nil), file)
			if asked := a.said(""); len(asked) > 0 {
				t.Errorf("it asked %q", asked)
			}
		})
	}
}

// The records of a join that could not be taken back are kept unchanged, and only their owner may read them.
func TestLeftoverIsKept(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	a := newAPI(t, node("win-1"), claim(3, "us"))
	before, err := leftoverOf(a.joined(t, 3, "win-1"))
	if err != nil {
		t.Fatal(err)
	}

	paths := layout.Paths{Data: filepath.Join(t.TempDir(), "again")}
	if err := before.save(paths, &room{}); err != nil {
		t.Fatal(err)
	}

	after, err := leftoverOf(paths)
	if err != nil || !paths.Leftover() {
		t.Fatalf("it is found again: %v, %v", paths.Leftover(), err)
	}
	if diff := cmp.Diff(before.certificates, after.certificates); diff != "" || after.claim != before.claim {
		t.Errorf("the claim is %+v, and the certificates are others: %s", after.claim, diff)
	}

	onlyForUs(t, paths)
	if err := Leave(t.Context(), paths, nil); err != nil || a.has(t, "win-1") || a.has(t, "machine-3") {
		t.Errorf("leaving by it: %v", err)
	}
}

// Only their owner may read the token and the server's authority, from the first moment.
func TestSaveJoin(t *testing.T) {
	paths := freshPaths(t)
	found := discovery.Cluster{Server: "https://192.0.2.1:6443", CA: []byte("authority")}
	if err := saveJoin(paths, found, theToken); err != nil {
		t.Fatal(err)
	}

	onlyForUs(t, paths)
	l, err := leftoverOf(paths)
	if err != nil {
		t.Fatal(err)
	}
	if l.claim != (claimRecord{Server: found.Server}) || string(l.ca) != "authority" || len(l.nodes) > 0 {
		t.Errorf("what is written: %+v", l)
	}

	says(t, errors.New(string(l.kubeconfig)), theToken.String(), found.Server)
	if err := os.RemoveAll(filepath.Dir(paths.JoinCA())); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Dir(paths.JoinCA()), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	if err := saveJoin(paths, found, theToken); err == nil {
		t.Error("a folder that cannot be made is no error")
	}
}

// onlyForUs checks the modes of what a join writes.
func onlyForUs(t *testing.T, paths layout.Paths) {
	t.Helper()
	var files []string
	err := filepath.WalkDir(filepath.Dir(paths.JoinCA()), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		files = append(files, path)
		return err
	})
	if err != nil || !slices.Contains(files, paths.JoinKubeconfig()) {
		t.Errorf("looked at %q: %v", files, err)
	}
}
