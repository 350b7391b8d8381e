// Package aksengine reads the cluster definitions ("API models") of acs-engine and AKS Engine, such as the windows.json
// of the documents, as descriptions of clusters. It owns what a field of such a model becomes, and says what becomes of
// every other: nothing in a model is passed over in silence, and no password or key of one is kept or said. It reads
// text and does nothing else. The fields are those of
// https://github.com/Azure/aks-engine/blob/v0.80.2/docs/topics/clusterdefinitions.md.
package aksengine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/winver"
)

// Note says what became of a field of a model: that it is ignored, or what it is here instead.
type Note struct {
	// Path is the field's place: properties.masterProfile.count.
	Path string
	Text string
}

// String returns the note as a line.
func (n Note) String() string { return n.Path + ": " + n.Text }

// Bounds of a model: aks-engine's own for pools and masters
// (https://github.com/Azure/aks-engine/blob/v0.80.2/pkg/api/vlabs/types.go), for a node's pods what a /24 has room for,
// and those of cluster.yaml for names.
const (
	maxCount   = 100
	maxMasters = 5
	maxPods    = 250
	// maxComputerName bounds the name of a Windows node, in characters.
	maxComputerName = 15
	maxClusterName  = 40
)

// Is reports whether a text is meant as an API model: an object of JSON with properties, as cluster.yaml never has.
func Is(text []byte) bool {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	return bytes.HasPrefix(text, []byte("{")) && isModel.Match(text)
}

var isModel = lazyregexp.New(`(?i)"properties"\s*:|"apiVersion"\s*:\s*"vlabs"`)

// Read turns an API model into the description of a cluster, complete and valid, and notes on everything that is
// different from it. Its errors name the field, and never have its value if it could be a secret.
func Read(text []byte) (spec.Cluster, []Note, error) {
	root, err := decode(text)
	if err != nil {
		return spec.Cluster{}, nil, err
	}
	r := &reader{}
	c := r.model(r.object("", root))
	if err := r.err(); err != nil {
		return spec.Cluster{}, nil, err
	}

	if err := c.Validate(); err != nil {
		return spec.Cluster{}, nil, errors.New(strings.NewReplacer(
			"networking.podSubnet", kubernetesConfigPath+".clusterSubnet",
			"networking.serviceSubnet", kubernetesConfigPath+".serviceCidr",
			"nodes:", "properties.agentPoolProfiles:").Replace(err.Error()))
	}
	if r.unsaid > 0 {
		r.notes = append(r.notes, Note{Path: "properties", Text: fmt.Sprintf("%d more fields are ignored", r.unsaid)})
	}

	return c.WithDefaults(), r.notes, nil
}

const kubernetesConfigPath = "properties.orchestratorProfile.kubernetesConfig"

// decode reads one value of JSON, with numbers as they are written.
func decode(text []byte) (any, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // some editors of Windows write it
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var root any
	if err := dec.Decode(&root); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, fmt.Errorf("line %d: %w", 1+bytes.Count(text[:min(int(syntax.Offset), len(text))], []byte("\n")), err)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil, errors.New("the JSON ends too early")
		}
		return nil, err
	}

	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the model's last brace")
	}

	return root, nil
}

func (r *reader) model(root object) spec.Cluster {
	c := spec.Cluster{APIVersion: spec.APIVersion, Kind: spec.Kind}
	if version, path := root.text("apiVersion"); version != "" && version != "vlabs" {
		r.note(path, "%s is read as vlabs", quoted(version))
	}
	properties := root.object("properties")
	if properties.fields == nil {
		r.fail("properties", "is missing")
	}

	pods := r.orchestrator(properties.object("orchestratorProfile"), &c)
	r.master(properties.object("masterProfile"), &c)
	windows := r.windows(properties.object("windowsProfile"))
	pools, path := properties.list("agentPoolProfiles")
	if len(pools) == 0 {
		r.fail(path, "is missing: without a pool there are no nodes")
	}

	if len(pools) > maxCount {
		r.fail(path, "%d pools, at most %d", len(pools), maxCount)
		return c
	}

	names := map[string]bool{}
	for i, pool := range pools {
		node := r.pool(r.object(fmt.Sprintf("%s[%d]", path, i), pool), names)
		if node.OS == spec.Windows {
			if node.WindowsVersion = windows.version; !windows.told {
				windows.told = true
				r.note(windows.path, "%s", windows.why)
			}
		}

		if pods != 0 && node.KubeletConfiguration == nil {
			node.KubeletConfiguration = spec.Fields{"maxPods": float64(pods)}
		}
		c.Nodes = append(c.Nodes, node)
	}

	properties.rest(map[string]string{
		"linuxProfile":            "nodes have no accounts to log in to; `mullion node shell` opens a prompt",
		"servicePrincipalProfile": "nothing here calls Azure",
		"certificateProfile":      "the cluster makes its own certificates",
		"aadProfile":              "nothing here calls Azure",
		"customCloudProfile":      "nothing here calls Azure",
		"extensionProfiles":       "nodes run no scripts of a model",
		"featureFlags":            "they are Azure's",
		"telemetryProfile":        "nothing is sent anywhere",
		"provisioningState":       "it is Azure's",
	})

	root.rest(map[string]string{
		"location": "the cluster is on this machine", "name": "masterProfile.dnsPrefix is the cluster's name",
		"id": "it is Azure's", "plan": "it is Azure's", "tags": "it is Azure's", "type": "it is Azure's",
	})
	return c
}

// orchestrator reads the orchestratorProfile and returns the pods that each node may have, 0 if it does not say.
func (r *reader) orchestrator(o object, c *spec.Cluster) (pods int) {
	if kind, path := o.text("orchestratorType"); kind != "" && !strings.EqualFold(kind, "Kubernetes") {
		r.fail(path, "%s is not Kubernetes", quoted(kind))
	}
	for _, name := range []string{"orchestratorVersion", "orchestratorRelease"} {
		if version, path := o.text(name); version != "" {
			r.note(path, "%s is not what is brought up: it is the version that Mullion comes with, or that of --kubernetes-version",
				quoted(version))
		}
	}

	k := o.object("kubernetesConfig")
	r.network(k, c)
	pods, _, _ = k.number("maxPods", maxPods)
	if on, set, path := k.flag("enableRbac"); set && !on {
		r.note(path, "RBAC is always on")
	}
	if on, set, path := k.flag("enableAggregatedAPIs"); set && !on {
		r.note(path, "aggregated APIs are always on")
	}

	switch name, path := k.text("containerRuntime"); name {
	case "", "containerd":
	default:
		r.note(path, "%s is not there: Windows nodes have Mullion's container runtime, Linux nodes containerd", quoted(name))
	}

	if name, path := k.text("kubeProxyMode"); name != "" {
		r.note(path, "kube-proxy is in mode kernelspace on Windows nodes, and in mode nftables on Linux nodes")
	}

	k.rest(ignoredConfig())
	o.rest(map[string]string{"dcosConfig": "it is not Kubernetes'"})
	return pods
}

// network reads the fields of a kubernetesConfig that are about the network.
func (r *reader) network(k object, c *spec.Cluster) {
	plugin, path := k.text("networkPlugin")
	c.Networking.Mode = spec.ModeL2Bridge
	switch strings.ToLower(plugin) {
	case "kubenet": // on Windows that is win-bridge with an l2bridge network, as here
	case "", "azure":
		r.note(path, "Azure's plugin, the default, is not there: Windows pods have win-bridge (mode l2bridge), with addresses of the pods' own subnet")
	case "flannel":
		c.Networking.Mode = spec.ModeOverlay
		r.note(path, `"flannel" is win-overlay (mode overlay), without flannel's own programs`)
	default:
		r.note(path, "%s is not there: Windows pods have win-bridge (mode l2bridge)", quoted(plugin))
	}

	if policy, path := k.text("networkPolicy"); policy != "" && policy != "none" {
		r.note(path, "%s is not there: NetworkPolicies have no effect", quoted(policy))
	}

	c.Networking.PodSubnet = r.subnet(k, "clusterSubnet")
	c.Networking.ServiceSubnet = r.subnet(k, "serviceCidr")
	if dns, path := k.text("dnsServiceIP"); dns != "" {
		addr, err := netip.ParseAddr(dns)
		if err != nil {
			r.fail(path, "is not an IP address")
			return
		}
		if is := c.WithDefaults().Networking.ClusterDNS(); is != addr {
			r.note(path, "the cluster's DNS is %s", is)
		}
	}
}

// subnet reads a subnet, or two of both families.
func (r *reader) subnet(k object, name string) string {
	text, path := k.text(name)
	for part := range strings.SplitSeq(text, ",") {
		if _, err := netip.ParsePrefix(strings.TrimSpace(part)); text != "" && err != nil {
			r.fail(path, "is not a subnet such as 10.244.0.0/16")
			return ""
		}
	}
	return text
}

func (r *reader) master(o object, c *spec.Cluster) {
	if n, path, ok := o.number("count", maxMasters); ok && n > 1 {
		r.note(path, "there is one control plane, not %d; kubeadm makes several on bare Linux hosts", n)
	}
	prefix, path := o.text("dnsPrefix")
	switch {
	case len(prefix) <= maxClusterName && nodeName.MatchString(prefix):
		c.Name = prefix
	case prefix != "":
		r.note(path, "ignored: it is not a DNS label of at most %d characters, so it cannot be the cluster's name", maxClusterName)
	}
	o.rest(azureMachine())
}

var nodeName = lazyregexp.New(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// windowsVersion is what a model says of its Windows nodes.
type windowsVersion struct {
	version, path, why string
	told               bool // it has been said, or there is nothing to say
}

// windows finds the Windows version in the names of an image of Azure's.
func (r *reader) windows(o object) windowsVersion {
	sku, path := o.text("windowsSku")
	offer, _ := o.text("windowsOffer")
	image, _ := o.text("imageVersion")
	o.take("windowsPublisher")
	o.rest(map[string]string{ //nolint:gosec // what is said of a password that is not read
		"adminUsername": "nodes have no accounts to log in to", "adminPassword": "nodes have no accounts to log in to; it is not kept",
		"imageReference": "nodes have no images of Azure's", "windowsImageSourceURL": "nodes have no images of Azure's",
		"windowsDockerVersion": "nodes have no Docker", "csiProxyURL": "csi-proxy is deployed by examples/csi-proxy",
		"enableCsiProxy": "csi-proxy is deployed by examples/csi-proxy",
		"sshEnabled":     "`mullion node shell` opens a prompt", "enableAutomaticUpdates": "nodes have no updates",
		"secrets": "nothing here calls Azure",
	})

	for _, text := range []string{sku, offer, image} {
		for _, word := range versionWord.FindAllString(strings.ToLower(text), -1) {
			if b, err := winver.Lookup(word); err == nil {
				return windowsVersion{version: b.Name, told: true}
			}
		}
	}

	// https://github.com/Azure/aks-engine/blob/v0.80.2/docs/topics/windows-and-kubernetes.md
	w := windowsVersion{
		version: "ltsc2019",
		path:    path,
		why:     "left out, so the nodes are of Windows Server 2019, as by default in AKS Engine",
	}
	if sku+offer+image != "" {
		w.why = "names no Windows version that Mullion knows, so the nodes are of Windows Server 2019"
	}

	return w
}

// versionWord finds what may be a version or build of Windows: 2019, 1809, 20h2, 17763.
var versionWord = lazyregexp.New(`\b(\d\dh\d|\d{4,5})\b`)

// pool makes the nodes of a pool.
func (r *reader) pool(o object, names map[string]bool) spec.Node {
	n := spec.Node{OS: spec.Linux, Labels: map[string]string{}}
	switch system, path := o.text("osType"); strings.ToLower(system) {
	case "", "linux":
	case "windows":
		n.OS = spec.Windows
	default:
		r.fail(path, "%s is neither Linux nor Windows", quoted(system))
	}

	if value, path := o.take("count"); value == nil {
		r.fail(path, "is missing")
	}

	count, _, _ := o.number("count", maxCount)
	n.Count = count
	name, path := o.text("name")
	lower := strings.ToLower(name)
	switch {
	case names[lower]:
		r.fail(path, "two pools have this name")
	case !nodeName.MatchString(lower) || len(fmt.Sprintf("%s-%d", lower, count)) > maxComputerName:
		r.note(path, "ignored: with its number it is not the name of a computer, at most %d letters, digits and dashes", maxComputerName)
	default:
		n.Name = lower
	}

	if names[lower] = true; labelValue.MatchString(lower) {
		n.Labels["agentpool"] = lower // as AKS Engine labels them
	}

	r.labels(o, n.Labels)
	k := o.object("kubernetesConfig")
	if pods, _, ok := k.number("maxPods", maxPods); ok {
		n.KubeletConfiguration = spec.Fields{"maxPods": float64(pods)}
	}
	k.rest(ignoredConfig())
	o.rest(azureMachine())
	return n
}

// labels takes the labels that a kubelet may give its node:
// https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction
func (r *reader) labels(o object, to map[string]string) {
	labels := o.object("customNodeLabels")
	for _, key := range slices.Sorted(maps.Keys(labels.fields)) {
		value, path := labels.text(key)
		switch {
		case !labelKey.MatchString(key) || !labelValue.MatchString(value):
			r.note(path, "ignored: not a label of Kubernetes")
		case strings.Contains(key, "kubernetes.io/") || strings.Contains(key, "k8s.io/"):
			r.note(path, "ignored: a kubelet may not give its node this label")
		default:
			to[key] = value
		}
	}
}

var (
	labelKey   = lazyregexp.New(`^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)
	labelValue = lazyregexp.New(`^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$`)
)

// azureMachine returns the fields of masters and pools that describe machines of Azure's.
func azureMachine() map[string]string {
	const azure = "nodes are on this machine, not Azure's"
	reasons := map[string]string{
		"extensions": "nodes run no scripts of a model", "preProvisionExtension": "nodes run no scripts of a model",
		"customFiles": "the control plane takes no files of a model", "role": "it is Azure's", "kubernetesConfig": "there is one for the cluster",
	}

	for _, name := range []string{
		"HTTPSourceAddressPrefix", "acceleratedNetworkingEnabled", "acceleratedNetworkingEnabledWindows", "agentSubnet",
		"agentVnetSubnetID", "auditDEnabled", "availabilityProfile", "availabilityZones", "cosmosEtcd", "customVMTags",
		"diskEncryptionSetID", "diskSizesGB", "distro", "dnsPrefix", "enableVMSSNodePublicIP", "firstConsecutiveStaticIP",
		"fqdn", "imageReference", "ipAddressCount", "loadBalancerBackendAddressPoolIDs", "oauthEnabled", "osDiskSizeGB",
		"platformFaultDomainCount", "platformUpdateDomainCount", "ports", "scaleSetEvictionPolicy", "scaleSetPriority",
		"singlePlacementGroup", "spotMaxPrice", "storageProfile", "subjectAltNames", "vmSize", "vmssOverProvisioningEnabled",
		"vnetCidr", "vnetSubnetID",
	} {
		reasons[name] = azure
	}

	return reasons
}

// ignoredConfig returns the fields of a kubernetesConfig that have no equal here.
func ignoredConfig() map[string]string {
	const programs, azure = "the programs are those that Mullion comes with", "nothing here calls Azure"
	const flags = "flags are not taken from a model; nodes[].kubeletExtraArgs of cluster.yaml has the kubelet's"
	reasons := map[string]string{
		"addons": "no addon of a model is installed", "components": "no component of a model is installed",
		"kubeletConfig": flags, "apiServerConfig": flags, "controllerManagerConfig": flags, "schedulerConfig": flags,
		"cloudControllerManagerConfig": azure, "podSecurityPolicyConfig": "Kubernetes has no PodSecurityPolicy any more",
		"enablePodSecurityPolicy": "Kubernetes has no PodSecurityPolicy any more", "dockerBridgeSubnet": "nodes have no Docker",
		"etcdDiskSizeGB": "etcd is on this machine's disk", "etcdEncryptionKey": "Secrets are not encrypted at rest; it is not kept",
		"enableDataEncryptionAtRest": "Secrets are not encrypted at rest", "enableEncryptionWithExternalKms": "Secrets are not encrypted at rest",
		"enableSecureKubelet": "kubelets ask for a certificate always", "gcHighThreshold": "it is the kubelet's default",
		"gcLowThreshold": "it is the kubelet's default", "networkMode": "the plugin has its own",
		"privateCluster": "the API server listens on this machine alone, unless --listen says otherwise",
	}

	for _, name := range []string{
		"azureCNIURLLinux", "azureCNIURLWindows", "azureCNIVersion", "containerdVersion", "customCcmImage", "customHyperkubeImage",
		"customKubeAPIServerImage", "customKubeBinaryURL", "customKubeControllerManagerImage", "customKubeProxyImage",
		"customKubeSchedulerImage", "customWindowsPackageURL", "dockerEngineVersion", "etcdVersion", "kubernetesImageBase",
		"kubernetesImageBaseType", "mcrKubernetesImageBase", "mobyVersion", "windowsContainerdURL", "windowsNodeBinariesURL",
		"windowsSdnPluginURL",
	} {
		reasons[name] = programs
	}

	for _, name := range []string{
		"cloudProviderBackoff", "cloudProviderBackoffDuration", "cloudProviderBackoffExponent", "cloudProviderBackoffJitter",
		"cloudProviderBackoffMode", "cloudProviderBackoffRetries", "cloudProviderDisableOutboundSNAT", "cloudProviderRateLimit",
		"cloudProviderRateLimitBucket", "cloudProviderRateLimitBucketWrite", "cloudProviderRateLimitQPS",
		"cloudProviderRateLimitQPSWrite", "excludeMasterFromStandardLB", "keyVaultSku", "loadBalancerSku",
		"maximumLoadBalancerRuleCount", "outboundRuleIdleTimeoutInMinutes", "privateAzureRegistryServer",
		"useCloudControllerManager", "useInstanceMetadata", "useManagedIdentity", "userAssignedID",
	} {
		reasons[name] = azure
	}

	return reasons
}
