package cluster

import (
	"cmp"
	"fmt"
	"slices"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cluster/bundle"
	"mullion.dev/mullion/internal/spec"
)

// ResolveVersions gives each version of Kubernetes that a specification names its last number, from the bundles that
// lie in folders, and checks that the nodes go with the control plane. A version that is not named stays so: it is the
// one that Mullion comes with, also when that is another one day. So does the version of a control plane on another
// machine that no node here has. An error is bundle.ErrNotThere where there is no such bundle.
func ResolveVersions(c spec.Cluster, dirs ...string) (spec.Cluster, error) {
	var err error
	if c.KubernetesVersion != "" && slices.Contains(Versions(c), c.KubernetesVersion) {
		if c.KubernetesVersion, err = bundle.Find(c.KubernetesVersion, dirs...); err != nil {
			return c, err
		}
	}
	if err := linuxNodesHave(c, dirs...); err != nil {
		return c, err
	}

	c.Nodes = slices.Clone(c.Nodes)
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.KubernetesVersion == "" {
			continue
		}
		if n.KubernetesVersion, err = bundle.Find(n.KubernetesVersion, dirs...); err != nil {
			return c, fmt.Errorf("node %s: %w", n.Name, err)
		}

		if c.Join != nil {
			continue // the control plane is another's
		}
		if err := bundle.Skew(cmp.Or(c.KubernetesVersion, version.Kubernetes), n.KubernetesVersion); err != nil {
			return c, fmt.Errorf("node %s: %w", n.Name, err)
		}
	}

	return c, nil
}

// linuxNodesHave returns an error where a Linux node would have a kubelet that cannot call the node's containerd: one
// older than version.LinuxRuntime needs that of its bundle, in one of the folders.
func linuxNodesHave(c spec.Cluster, dirs ...string) error {
	for _, n := range c.Nodes {
		v := nodeVersion(c, n)
		if !n.Linux() || version.MinorOf(v) >= version.LinuxRuntime {
			continue
		}
		own := slices.ContainsFunc(dirs, func(dir string) bool { return bundle.At(dir, v).HasContainerd() })
		if own || n.Bare {
			continue
		}

		return fmt.Errorf("node %s: a kubelet of Kubernetes %s calls no version of the CRI that containerd 2 has, "+
			"and its bundle has no containerd of its own (`make bundle VERSION=%[2]s` builds it); name the nodes in a file "+
			"(-f cluster.yaml), Windows ones alone", n.Name, v)
	}

	return nil
}

// VersionNotes are lines for a person about what a cluster lacks because its control plane is older than what Mullion
// adds to it.
func VersionNotes(c spec.Cluster) []string {
	if c.Join != nil {
		return nil
	}

	var notes []string
	note := func(since version.Minor, text string) {
		if version.MinorOf(c.KubernetesVersion) < since {
			notes = append(notes, fmt.Sprintf("Kubernetes %s: %s", c.KubernetesVersion, text))
		}
	}
	note(version.AdmissionPolicies, "nothing keeps a Service or a pod from taking addresses and ports of the cluster's own, "+
		"since there are no ValidatingAdmissionPolicies")
	note(version.EndpointSlices, "the cluster's DNS has no names of single pods (headless Services), since there is "+
		"no discovery.k8s.io/v1")

	return notes
}

// nodeVersion returns the version of Kubernetes that a node has; "" for the one that Mullion comes with.
func nodeVersion(c spec.Cluster, n spec.Node) string {
	return cmp.Or(n.KubernetesVersion, c.KubernetesVersion)
}

// Versions returns the versions of Kubernetes that a cluster is made of on this machine; "" for the one that Mullion
// comes with.
func Versions(c spec.Cluster) []string {
	if c.Docker != nil {
		return nil
	}
	var all []string
	if c.Join == nil { // the control plane is here
		all = append(all, c.KubernetesVersion)
	}
	for _, n := range c.Nodes {
		all = append(all, nodeVersion(c, n))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
