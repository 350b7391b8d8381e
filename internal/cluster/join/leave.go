package join

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/machines"
	"mullion.dev/mullion/internal/machines/discovery"
	"mullion.dev/mullion/internal/node/kubenode"
)

func saveClaim(paths layout.Paths, r claimRecord) error {
	return atomicfile.WriteJSON(paths.JoinClaim(), r)
}

// claimRecord is the machine's claim. Part is 0 as long as the machine has none.
type claimRecord struct {
	Server string `json:"server"`
	Part   int    `json:"part"`
	Holder string `json:"holder"`
}

// saveJoin writes what the machine's kubelets join with.
func saveJoin(paths layout.Paths, found discovery.Cluster, token bootstrap.Token) error {
	if err := os.MkdirAll(filepath.Dir(paths.JoinCA()), 0o700); err != nil {
		return err
	}
	if err := atomicfile.Write(paths.JoinCA(), found.CA, 0o600); err != nil {
		return err
	}

	text, err := clientcmd.Write(*bootstrap.TokenKubeconfig(token, found.Server, found.CA))
	if err != nil {
		return fmt.Errorf("encode the kubeconfig to join by: %w", err)
	}
	if err := atomicfile.Write(paths.JoinKubeconfig(), text, 0o600); err != nil {
		return err
	}
	return saveClaim(paths, claimRecord{Server: found.Server})
}

// leftover is what it takes to remove a machine from its cluster.
type leftover struct {
	ca, kubeconfig []byte
	claim          claimRecord
	nodes          map[string]kubenode.Identity
	certificates   map[string][]byte
}

// leftoverOf reads the leftover of a data folder; nil if no join got far enough to leave one.
func leftoverOf(paths layout.Paths) (*leftover, error) {
	l := &leftover{nodes: map[string]kubenode.Identity{}, certificates: map[string][]byte{}}
	text, err := os.ReadFile(paths.JoinClaim())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}

	if err == nil {
		err = json.Unmarshal(text, &l.claim)
	}
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", paths.JoinClaim(), err)
	}
	if l.ca, err = os.ReadFile(paths.JoinCA()); err != nil {
		return nil, err
	}

	if l.kubeconfig, err = os.ReadFile(paths.JoinKubeconfig()); err != nil {
		return nil, err
	}

	s, err := paths.LoadSpec()
	switch {
	case err == nil && s.Join != nil:
		l.nodes = cluster.NodeClients(paths, s).Identities
	case errors.Is(err, os.ErrNotExist):
		entries, readErr := os.ReadDir(filepath.Dir(paths.JoinNode("any")))
		if err = readErr; errors.Is(readErr, os.ErrNotExist) {
			err = nil
		}
		for _, e := range entries {
			l.nodes[e.Name()] = kubenode.Identity{Dir: paths.JoinNode(e.Name())}
		}
	}

	for name, id := range l.nodes {
		if pem, readErr := id.Read(); readErr == nil {
			l.certificates[name] = pem
		}
	}

	return l, err
}

// save writes the leftover into a fresh data folder, for Leave to try again.
func (l *leftover) save(paths layout.Paths, m machine) error {
	if err := m.Prepare(paths); err != nil {
		return err
	}
	files := map[string][]byte{paths.JoinCA(): l.ca, paths.JoinKubeconfig(): l.kubeconfig}
	for name, pem := range l.certificates {
		files[kubenode.Identity{Dir: paths.JoinNode(name)}.File()] = pem
	}

	for path, data := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := atomicfile.Write(path, data, 0o600); err != nil {
			return err
		}
	}

	return saveClaim(paths, l.claim)
}

// ErrNodesStay says that the cluster does not let nodes delete themselves.
var ErrNodesStay = errors.New("the cluster does not let the node delete itself")

// Leave deletes the machine's nodes from the cluster that it joined, or was about to join, and gives the machine's part
// of the underlay back. It uses admin, an administrator's client; if that is nil, the nodes' own rights. It leaves the
// machine itself as it is: Down is next. The error names what could not be removed; the machine then keeps its part,
// which is given back with the last of its nodes.
func Leave(ctx context.Context, paths layout.Paths, admin kubeclient.Interface) error {
	l, err := leftoverOf(paths)
	if err != nil || l == nil {
		return err
	}
	token, err := bootstrap.Client(paths.JoinKubeconfig(), nil)
	if err != nil {
		return err
	}

	var errs []error
	owned := false // a deleted node owned the claim, which is removed with its last owner
	for _, name := range slices.Sorted(maps.Keys(l.nodes)) {
		gone, err := l.delete(ctx, name, admin, token)
		if err != nil {
			errs = append(errs, fmt.Errorf("take node %q out of the cluster: %w", name, err))
		}
		owned = owned || gone
	}
	if len(errs) > 0 { // a node that stays has an address of the part
		return errors.Join(errs...)
	}

	if err := l.release(ctx, admin, token); err != nil && !owned {
		return err
	}
	return nil
}

// delete deletes a node; owned says that it was deleted as the claim's owner.
func (l *leftover) delete(ctx context.Context, name string, admin, token kubeclient.Interface) (owned bool, err error) {
	client := admin
	if client == nil {
		if _, err := l.nodes[name].Read(); err != nil {
			if _, ask := token.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(ask) {
				return false, nil // it never registered
			}
			return false, err
		}
		if client, err = l.nodes[name].Client(l.claim.Server, l.ca); err != nil {
			return false, err
		}
	}

	if l.claim.Part > 0 {
		owned = machines.Own(ctx, client, l.claim.Part, []string{name}) == nil
	}

	err = client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return owned, nil
	case apierrors.IsForbidden(err):
		return false, fmt.Errorf("%w: %w", ErrNodesStay, err)
	}

	return owned && err == nil, err
}

// release gives the part back.
func (l *leftover) release(ctx context.Context, admin, token kubeclient.Interface) error {
	if l.claim.Part == 0 {
		return nil
	}
	if admin != nil {
		token = admin
	}
	return machines.Release(ctx, token, l.claim.Part, l.claim.Holder)
}

// releaseAs releases the part claimed by an earlier join, using the client of a join to the same server.
func releaseAs(ctx context.Context, paths layout.Paths, server string, client kubeclient.Interface) error {
	l, err := leftoverOf(paths)
	if err != nil || l == nil || l.claim.Server != server {
		return err
	}
	return l.release(ctx, client, client)
}
