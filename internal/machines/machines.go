// Package machines owns the records in the API by which the machines of one cluster know each other: the cluster's
// networking, each machine's part of the underlay, and its address. It owns neither how a machine finds the API
// (package discovery) nor what it does to its own network (package underlay).
//
//	mullion-system/cluster      ConfigMap: the specification without nodes; bootstrap tokens and nodes may read it
//	mullion-system/machine-N    ConfigMap: the claim of the machine that has part N, and its address
//
// Claims need no lock, because the API server lets only one creator of a name win. The nodes of a machine own its
// claim: when the last one is deleted, upstream's garbage collector removes the claim.
package machines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/machines/terms"
	"mullion.dev/mullion/internal/spec"
)

const (
	// Namespace holds the records.
	Namespace = terms.MullionNamespace
	// Cluster is the name of the ConfigMap with the specification.
	Cluster = terms.MullionConfig
	// SpecKey is the key of the specification in the ConfigMap Cluster.
	SpecKey = terms.MullionKey

	claimPrefix = "machine-"
	addressKey  = "address"
	// holderKey is the key of the holder, a value by which a machine recognizes its own claim.
	holderKey = "holder"
)

var (
	// ErrForeign says that the cluster is not one that Mullion made for several machines.
	ErrForeign = errors.New("the cluster is not one of Mullion's for several machines")
	// ErrFull says that no part of the underlay is free.
	ErrFull = errors.New("every part of the underlay is taken")
	// ErrNodeExists says that a node of the wanted name is in the cluster.
	ErrNodeExists = errors.New("the cluster has a node of that name")
	// ErrRefused says that the API server does not take the token (any more).
	ErrRefused = errors.New("the API server does not accept the token")
)

// Machine is one machine's claim.
type Machine struct {
	Part    int
	Address netip.Addr
}

// ClaimName returns the name of the claim of a part.
func ClaimName(part int) string { return claimPrefix + strconv.Itoa(part) }

// ClaimData returns the content of a claim.
func ClaimData(address netip.Addr, holder string) map[string]string {
	return map[string]string{addressKey: address.String(), holderKey: holder}
}

// read reads a claim. ok is false if the ConfigMap is no valid claim.
func read(c *corev1.ConfigMap) (Machine, bool) {
	number, ok := strings.CutPrefix(c.Name, claimPrefix)
	part, err := strconv.Atoi(number)
	if !ok || err != nil || part < 0 {
		return Machine{}, false
	}
	address, err := netip.ParseAddr(c.Data[addressKey])
	return Machine{Part: part, Address: address}, err == nil && address.Is4()
}

// Published returns the text of the ConfigMap with the specification, without what is a machine's own: its nodes, and
// its proxy and registries, which may have passwords.
func Published(c spec.Cluster) (string, error) {
	c.Nodes = nil
	c.Proxy = nil
	c.Registries = nil
	text, err := json.Marshal(c)
	return string(text), err
}

// Specification reads the cluster's specification, without nodes, and checks it.
func Specification(ctx context.Context, client kubeclient.Interface) (spec.Cluster, error) {
	var c spec.Cluster
	object, err := client.CoreV1().ConfigMaps(Namespace).Get(ctx, Cluster, metav1.GetOptions{})
	switch {
	case apierrors.IsUnauthorized(err):
		return c, fmt.Errorf("read the cluster's networking: %w", ErrRefused)
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return c, fmt.Errorf("read the cluster's networking: %w", ErrForeign)
	case err != nil:
		return c, fmt.Errorf("read the cluster's networking: %w", err)
	}

	if c, err = terms.Mullion(object.Data[SpecKey]); err != nil {
		return c, fmt.Errorf("read the cluster's networking: %w", err)
	}
	return c, nil
}

// Wanted describes a claim that a machine wants to make.
type Wanted struct {
	// Parts is the number of the underlay's parts.
	Parts int
	// Address is the address at which the machine is reached.
	Address netip.Addr
	// Holder is a value of the machine's own, by which Release recognizes its claim.
	Holder string
	// Trying is called with each part before it is claimed. A machine that stores the number can release the part even
	// after a crash.
	Trying func(part int) error
}

// Claim claims the first free part and returns its number.
func Claim(ctx context.Context, client kubeclient.Interface, w Wanted) (int, error) {
	for part := 1; part < w.Parts; part++ {
		if err := w.Trying(part); err != nil {
			return 0, fmt.Errorf("claim part %d of the underlay: %w", part, err)
		}
		claim := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: ClaimName(part), Namespace: Namespace},
			Data:       ClaimData(w.Address, w.Holder),
		}

		_, err := client.CoreV1().ConfigMaps(Namespace).Create(ctx, claim, metav1.CreateOptions{})
		if err == nil {
			return part, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return 0, fmt.Errorf("claim part %d of the underlay: %w", part, err)
		}
	}

	return 0, fmt.Errorf("claim a part of the underlay: %w: %d machines", ErrFull, w.Parts)
}

// Release removes the claim of a part, if it is still that holder's.
func Release(ctx context.Context, client kubeclient.Interface, part int, holder string) error {
	claim, err := client.CoreV1().ConfigMaps(Namespace).Get(ctx, ClaimName(part), metav1.GetOptions{})
	if err == nil && claim.Data[holderKey] == holder {
		err = client.CoreV1().ConfigMaps(Namespace).Delete(ctx, claim.Name,
			metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &claim.UID}})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("give back part %d of the underlay: %w", part, err)
	}
	return nil
}

// Own makes nodes the owners of their machine's claim, besides those it has.
func Own(ctx context.Context, client kubeclient.Interface, part int, nodes []string) error {
	claim, err := client.CoreV1().ConfigMaps(Namespace).Get(ctx, ClaimName(part), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the claim of part %d of the underlay: %w", part, err)
	}

	changed := false
	for _, name := range nodes {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("read node %q: %w", name, err)
		}

		owner := metav1.OwnerReference{
			APIVersion: "v1",
			Kind:       "Node",
			Name:       name,
			UID:        node.UID,
		}

		owned := false
		for i, o := range claim.OwnerReferences {
			if o.Name == name {
				owned, changed = true, changed || o.UID != owner.UID
				claim.OwnerReferences[i] = owner
			}
		}
		if !owned {
			claim.OwnerReferences, changed = append(claim.OwnerReferences, owner), true
		}
	}

	if !changed {
		return nil
	}

	if _, err := client.CoreV1().ConfigMaps(Namespace).Update(ctx, claim, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("tie part %d of the underlay to its nodes: %w", part, err)
	}
	return nil
}

// FreeNames checks that the cluster has no nodes of these names.
func FreeNames(ctx context.Context, client kubeclient.Interface, names []string) error {
	for _, name := range names {
		_, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		switch {
		case err == nil:
			return fmt.Errorf("check the name of node %q: %w", name, ErrNodeExists)
		case !apierrors.IsNotFound(err):
			return fmt.Errorf("check the name of node %q: %w", name, err)
		}
	}
	return nil
}
