package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/windows/winver"
)

// MaxFile bounds a cluster.yaml, in bytes.
const MaxFile = 1 << 20

// maxNodes bounds a cluster: an underlay /24 has room for 200 hosts above .10.
const maxNodes = 200

// maxName bounds the name of a Linux node: it is part of the path of a Unix socket.
const maxName = 40

// Load reads a cluster.yaml. Its errors name the line and the field.
func Load(r io.Reader) (Cluster, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return Cluster{}, err
	}
	if len(data) > MaxFile {
		return Cluster{}, fmt.Errorf("larger than %d bytes", MaxFile)
	}

	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	var c Cluster
	if err := dec.Decode(&c); err != nil {
		if errors.Is(err, io.EOF) {
			return Cluster{}, errors.New("the file is empty")
		}
		return Cluster{}, friendly(err)
	}

	var more any
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) && (err != nil || more != nil) {
		return Cluster{}, errors.New("the file has a second document, after ---")
	}

	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return Cluster{}, friendly(err)
	}
	v := validator{root: &root}
	v.cluster(c)
	if len(v.errs) > 0 {
		return Cluster{}, errors.Join(v.errs...)
	}

	return c.withDefaults(), nil
}

// Validate checks a specification that did not come from a file, or was changed since.
func (c Cluster) Validate() error {
	v := validator{root: &yaml.Node{}}
	v.cluster(c)
	return errors.Join(v.errs...)
}

// friendly turns yaml's "field x not found in type spec.Node" into words for a person.
func friendly(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:\n")
	text = regexp.MustCompile(`field (\S+) not found in type spec\.(\w+)`).ReplaceAllStringFunc(text,
		func(m string) string {
			part := regexp.MustCompile(`field (\S+) not found in type spec\.(\w+)`).FindStringSubmatch(m)
			unknown := fmt.Sprintf("unknown field %q in %s", part[1], strings.ToLower(part[2]))
			if part[2] == "Cluster" && strings.HasPrefix(part[1], "controlPlane") {
				unknown += ": it has one control plane; kubeadm makes several on bare Linux hosts (docs/guide/bring-your-own.md)"
			}
			return unknown
		})

	text = regexp.MustCompile("cannot unmarshal !!\\w+ (`[^`]*` )?into spec\\.(\\w+)").ReplaceAllString(text,
		"${1}is not a $2")
	text = regexp.MustCompile("cannot unmarshal !!\\w+ (`[^`]*` )?into (\\[\\])?(spec\\.)?(\\w+)").ReplaceAllString(
		text, "${1}is not of type ${2}${4}")
	text = strings.ReplaceAll(text, "is not of type []Arg", `is no list of flags such as [{name: v, value: "4"}]`)
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}

	return errors.New(strings.Join(lines, "\n"))
}

type validator struct {
	root *yaml.Node
	errs []error
}

func (v *validator) fail(path []any, format string, args ...any) {
	where := ""
	if v.root.Kind != 0 {
		where = fmt.Sprintf("line %d: ", lineOf(v.root, path))
	}
	v.errs = append(v.errs, fmt.Errorf("%s%s: %s", where, pathString(path), fmt.Sprintf(format, args...)))
}

var nameForm = lazyregexp.New(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

func (v *validator) cluster(c Cluster) {
	if c.APIVersion != APIVersion {
		v.fail([]any{"apiVersion"}, "is %q, want %q", c.APIVersion, APIVersion)
	}
	v.domains(c.Domains)
	if c.Kind != Kind {
		v.fail([]any{"kind"}, "is %q, want %q", c.Kind, Kind)
	}

	if c.Name != "" && (!nameForm.MatchString(c.Name) || len(c.Name) > 40) {
		v.fail([]any{"name"}, "%q is not a DNS label of at most 40 characters", c.Name)
	}
	v.kubernetesVersion(c.KubernetesVersion, "kubernetesVersion")
	if c.Wine != "" && (!filepath.IsAbs(c.Wine) || filepath.Clean(c.Wine) != c.Wine) {
		v.fail([]any{"wine"}, "%q is not the absolute path of a folder, for example /opt/wine-10", c.Wine)
	}

	v.proxy(c.Proxy)
	v.registry(c)
	v.registries(c.Registries)
	if c.Foreign() {
		v.foreignSubnets(c.withDefaults().Networking)
	} else {
		v.networking(c.Networking)
	}
	if len(c.Nodes) == 0 && (!c.SeveralMachines() || c.Join != nil) {
		v.fail([]any{"nodes"}, "a cluster needs at least one node")
	}

	for i, n := range c.Nodes {
		v.kubernetesVersion(n.KubernetesVersion, "nodes", i, "kubernetesVersion")
		v.node(i, n)
	}

	if len(v.errs) == 0 {
		v.expanded(c.withDefaults())
	}
}

// versionForm is a version, or the first two numbers of one. One's own builds have more: v1.37.0-alpha.1.7+0a1b2c3.
var versionForm = lazyregexp.New(
	`^v?1\.\d{1,3}(\.\d{1,3}(-[0-9A-Za-z.-]{1,64})?(\+[0-9A-Za-z.-]{1,64})?)?$`)

func (v *validator) kubernetesVersion(version string, path ...any) {
	if version != "" && !versionForm.MatchString(version) {
		v.fail(path, "%q is not a version of Kubernetes, for example 1.35 or v1.35.8", version)
	}
}

func (v *validator) expanded(c Cluster) {
	if len(c.Nodes) > maxNodes {
		v.fail([]any{"nodes"}, "%d nodes, at most %d", len(c.Nodes), maxNodes)
	}
	if !c.Foreign() {
		v.pool(c)
	}

	v.machines(c)
	if c.Join != nil && len(c.Bare()) > 0 {
		v.fail([]any{"nodes"},
			"bare hosts are of the machine that has the control plane, and this one joins another's cluster")
	}

	v.bareLinux(c)
	v.runtimes(c)
	seen := map[string]bool{}
	for _, n := range c.Nodes {
		if seen[n.Name] {
			v.fail([]any{"nodes"}, "two nodes are called %q", n.Name)
		}

		seen[n.Name] = true
		switch {
		case !n.Linux() && len(n.Name) > 15:
			v.fail([]any{"nodes"}, "name %q has more than the 15 characters of a Windows computer name", n.Name)
		case len(n.Name) > maxName:
			v.fail([]any{"nodes"}, "name %q has more than %d characters", n.Name, maxName)
		}
	}
}

func (v *validator) networking(n Networking) {
	d := Cluster{Networking: n}.withDefaults().Networking
	if _, err := netip.ParseAddr(d.APIServerAddress); err != nil {
		v.fail([]any{"networking", "apiServerAddress"}, "%q is not an IP address", n.APIServerAddress)
	}
	if n.APIServerPort < 0 || n.APIServerPort > 65535 {
		v.fail([]any{"networking", "apiServerPort"}, "%d is not a TCP port", n.APIServerPort)
	}

	oneOf(v, "mode", d.Mode, Modes())
	oneOf(v, "profile", d.Profile, Profiles())
	if n.EnableDSR && !d.Mode.Services() {
		v.fail([]any{"networking", "enableDSR"}, "kube-proxy does not run on Windows nodes in mode %s; leave it out",
			d.Mode)
	}

	v.deployed(n, d.Mode)
	v.policies(n, d.Mode)
	v.subnets(d)
	v.externalNodes(d)
}

// deployed checks the fields by which kube-proxy and the CNI plugin are left to be deployed in the cluster.
func (v *validator) deployed(n Networking, mode Mode) {
	if n.KubeProxyMode != "" && n.KubeProxyMode != KubeProxyNone {
		v.fail([]any{"networking", "kubeProxyMode"},
			"%q is not %q; leave it out for mode kernelspace on Windows nodes and nftables on Linux nodes",
			n.KubeProxyMode, KubeProxyNone)
	}
	if n.KubeProxyMode == KubeProxyNone && n.EnableDSR {
		v.fail([]any{"networking", "enableDSR"},
			"is for Mullion's own kube-proxy, but kubeProxyMode none leaves that out; give --enable-dsr to your own kube-proxy")
	}

	if n.DisableDefaultCNI && !mode.Services() {
		v.fail([]any{"networking", "disableDefaultCNI"}, "mode %s has no CNI plugin to leave out", mode)
	}
}

// policies checks whether NetworkPolicies can be carried out.
func (v *validator) policies(n Networking, mode Mode) {
	switch windows := []any{"networking", "windowsNetworkPolicy"}; {
	case n.WindowsNetworkPolicy == "":
	case n.WindowsNetworkPolicy != PolicyExternal:
		v.fail(windows, "%q is not %q; leave it out for Mullion to carry policies out on Windows nodes",
			n.WindowsNetworkPolicy, PolicyExternal)
	case !n.Policies():
		v.fail(windows, "Mullion carries out no policies in this cluster anyway (networkPolicy, mode, disableDefaultCNI); leave it out")
	}

	if n.NetworkPolicy == nil || !*n.NetworkPolicy {
		return
	}

	at := []any{"networking", "networkPolicy"}
	switch {
	case mode == ModeNAT:
		v.fail(at, "in mode nat the nodes do not see the addresses of each other's pods; leave it out")
	case mode == ModeTransparent:
		v.fail(at, "in mode transparent pods' packets do not pass their node; leave it out")
	case n.DisableDefaultCNI:
		v.fail(at, "with disableDefaultCNI policies are left to the CNI plugin that you deploy; leave it out")
	}
}

// oneOf checks a field of networking against the values that it may have.
func oneOf[T ~string](v *validator, field string, value T, values []T) {
	if slices.Contains(values, value) {
		return
	}

	var names []string
	for _, known := range values {
		if strings.EqualFold(string(known), string(value)) {
			v.fail([]any{"networking", field}, "%q is written %q", value, known)
			return
		}
		names = append(names, string(known))
	}
	v.fail([]any{"networking", field}, "%q is none of %s", value, strings.Join(names, ", "))
}

func (v *validator) node(i int, n Node) {
	at := func(field string) []any { return []any{"nodes", i, field} }
	if n.Name != "" && !nameForm.MatchString(n.Name) {
		v.fail(at("name"), "%q is not a DNS label", n.Name)
	}

	switch n.OS {
	case "", Windows:
	case Linux:
		if n.WindowsVersion != "" {
			v.fail(at("windowsVersion"), "is for a Windows node; this one is a Linux node")
		}
	default:
		v.fail(at("os"), "%q is not an operating system of a node: windows or linux", n.OS)
	}

	if n.WindowsVersion != "" {
		if _, err := winver.Lookup(n.WindowsVersion); err != nil {
			v.fail(at("windowsVersion"), "%v", err)
		}
	}

	v.reserved(at("systemReserved"), n.SystemReserved)
	v.reserved(at("kubeReserved"), n.KubeReserved)
	v.programs(i, n)
	v.bare(i, n)
	v.runtime(i, n)
	v.shown(at("processors"), n.OS, n.Processors != (Processors{}), n.Processors.valid())
	v.shown(at("memory"), n.OS, n.Memory != "", n.Memory.valid())
	v.shown(at("pauseImage"), n.OS, n.PauseImage != "", n.PauseImage.valid(n.WindowsVersion))
	if n.Count < 0 || n.Count > maxNodes {
		v.fail(at("count"), "%d is not between 1 and %d", n.Count, maxNodes)
	}
}

// shown checks a field of what a Windows node shows of its machine: whether it is set, and what is wrong with it.
func (v *validator) shown(path []any, system string, set bool, why string) {
	if why != "" {
		v.fail(path, "%s", why)
	}
	if set && system == Linux {
		v.fail(path, "is for a Windows node; this one is a Linux node")
	}
}

// quantityForm matches those of Kubernetes' quantities that make sense for a node's resources.
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
var quantityForm = lazyregexp.New(`^[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$`)

// reserved checks the reserved resources of a node; with a mistake in them the kubelet would not start.
func (v *validator) reserved(path []any, resources map[string]string) {
	known := []string{"cpu", "memory", "ephemeral-storage"}
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		switch {
		case !slices.Contains(known, name):
			v.fail(append(path, name), "is none of %s", strings.Join(known, ", "))
		case !quantityForm.MatchString(resources[name]):
			v.fail(append(path, name), "%q is not a quantity such as 500m or 1Gi", resources[name])
		}
	}
}

func pathString(path []any) string {
	var b strings.Builder
	for _, p := range path {
		switch p := p.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", p)
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(p)
		}
	}

	return b.String()
}

// lineOf returns the line of the deepest part of path that the document has.
func lineOf(n *yaml.Node, path []any) int {
	line := max(n.Line, 1)
	if n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}

	for _, p := range path {
		next := child(n, p)
		if next == nil {
			return line
		}
		n, line = next, next.Line
	}

	return line
}

func child(n *yaml.Node, key any) *yaml.Node {
	switch key := key.(type) {
	case int:
		if n.Kind == yaml.SequenceNode && key < len(n.Content) {
			return n.Content[key]
		}

	case string:
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				return n.Content[i+1]
			}
		}
	}

	return nil
}
