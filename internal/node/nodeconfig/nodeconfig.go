// Package nodeconfig owns what the kubelet and kube-proxy of a node are told, and where the files by which they are
// told lie on the node. It is the same for Mullion's own nodes (package kubenode) and for a Windows Server that joins
// by mullion-agent (package winserver); it starts nothing and writes nothing.
package nodeconfig

import (
	"cmp"
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/spec"
)

// The files of kubelet and kube-proxy, where kubeadm and SIG Windows' tools have them. On Windows they are at the same
// place on C: (Path).
const (
	KubeletDir          = "/var/lib/kubelet"
	KubeletCertDir      = KubeletDir + "/pki"
	KubeletConfig       = KubeletDir + "/config.yaml"
	KubeletKubeconfig   = "/etc/kubernetes/kubelet.conf"
	BootstrapKubeconfig = "/etc/kubernetes/bootstrap-kubelet.conf"
	CAFile              = "/etc/kubernetes/pki/ca.crt"
)

// KubeletPort is where a kubelet answers the API server, by default.
const KubeletPort = 10250

// Ports on a node's loopback, the programs' defaults.
const (
	KubeletHealthPort = 10248
	ProxyHealthPort   = 10256
	ProxyMetricsPort  = 10249
)

// Path returns a path as the programs of a node of that system (spec.Linux, spec.Windows) write it.
func Path(system, path string) string {
	if system == spec.Windows {
		return "C:" + strings.ReplaceAll(path, "/", `\`)
	}
	return path
}

// Kubelet is what a node's kubelet depends on.
type Kubelet struct {
	Name string
	// OS is the node's system, spec.Linux or spec.Windows.
	OS string
	// Address is the node's; Address6 is its IPv6 one, if it has both families.
	Address, Address6 netip.Addr
	// ClusterDNS is the ClusterIP of the cluster's DNS; the zero value: none. ClusterDomain is "cluster.local" by
	// default.
	ClusterDNS    netip.Addr
	ClusterDomain string
	// SelfSigned: the kubelet signs its serving certificate itself, where nobody in the cluster approves such.
	SelfSigned bool
	// Taint registers the node with os=SYSTEM:NoSchedule.
	Taint bool
	// SystemReserved and KubeReserved are the kubelet's options.
	SystemReserved, KubeReserved map[string]string
	// Version is the kubelet's, "v1.20.15"; "" is the version that Mullion comes with.
	Version string
	// Runtime is the endpoint of the container runtime, for a kubelet whose configuration has no place for it.
	Runtime string
}

// Configuration returns the kubelet's configuration file, as
// https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/ has it, without what a system adds (Windows).
func (k Kubelet) Configuration() *kubeletv1beta1.KubeletConfiguration {
	no, yes := false, true
	c := &kubeletv1beta1.KubeletConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: "kubelet.config.k8s.io/v1beta1", Kind: "KubeletConfiguration"},
		Authentication: kubeletv1beta1.KubeletAuthentication{
			X509: kubeletv1beta1.KubeletX509Authentication{ClientCAFile: Path(k.OS, CAFile)},
			Webhook: kubeletv1beta1.KubeletWebhookAuthentication{
				Enabled:  &yes,
				CacheTTL: metav1.Duration{Duration: 2 * time.Minute},
			},
			Anonymous: kubeletv1beta1.KubeletAnonymousAuthentication{Enabled: &no},
		},
		Authorization: kubeletv1beta1.KubeletAuthorization{
			Mode: kubeletv1beta1.KubeletAuthorizationModeWebhook,
		},
		RotateCertificates: true,
		ServerTLSBootstrap: !k.SelfSigned,
		TLSMinVersion:      "VersionTLS12",
		ClusterDomain:      cmp.Or(k.ClusterDomain, spec.ClusterDomain),
		FailSwapOn:         &no,
		SystemReserved:     k.SystemReserved,
		KubeReserved:       k.KubeReserved,
	}

	if k.ClusterDNS.IsValid() {
		c.ClusterDNS = []string{k.ClusterDNS.String()}
	}
	if k.Taint && k.minor() >= version.TaintsInFile {
		c.RegisterWithTaints = []corev1.Taint{k.taint()}
	}
	return c
}

func (k Kubelet) minor() version.Minor { return version.MinorOf(k.Version) }

func (k Kubelet) taint() corev1.Taint {
	return corev1.Taint{
		Key:    "os",
		Value:  k.OS,
		Effect: corev1.TaintEffectNoSchedule,
	}
}

// File returns the text of a configuration file: Mullion's own configuration, and the fields that are merged into it
// (Merge). An older kubelet reads it less strictly, and warns, if there are fields that it does not know: of Mullion's
// own fields it gets those alone that say something, and none of what it is told by flags.
func (k Kubelet) File(own *kubeletv1beta1.KubeletConfiguration, fields map[string]any) ([]byte, error) {
	merged, err := Merge(own, fields)
	if err != nil {
		return nil, err
	}
	if k.minor().HasAll() {
		return yaml.Marshal(merged)
	}

	text, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	var said map[string]any
	if err := json.Unmarshal(text, &said); err != nil {
		return nil, err
	}

	if k.minor() < version.EndpointInFile {
		delete(said, "containerRuntimeEndpoint")
	}
	if slices.Equal(own.EnforceNodeAllocatable, enforceNothing()) {
		// The name of nothing is refused without cgroups:
		// https://github.com/kubernetes/kubernetes/blob/v1.20.15/pkg/kubelet/apis/config/validation/validation.go
		said["enforceNodeAllocatable"] = []string{}
	}
	if text, err = json.Marshal(dropEmpty(said)); err != nil {
		return nil, err
	}
	if text, err = patched(text, fields); err != nil {
		return nil, err
	}

	return yaml.JSONToYAML(text)
}

// patched returns a configuration as JSON, with fields merged into it as RFC 7386 has it.
func patched(text []byte, fields map[string]any) ([]byte, error) {
	if len(fields) == 0 {
		return text, nil
	}
	patch, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	return jsonpatch.MergePatch(text, patch)
}

// dropEmpty removes the fields that say nothing: zero, "", durations of zero, and what has none but such. A field that
// is false says something.
func dropEmpty(fields map[string]any) map[string]any {
	for name, value := range fields {
		switch v := value.(type) {
		case map[string]any:
			if len(dropEmpty(v)) == 0 {
				delete(fields, name)
			}

		case nil:
			delete(fields, name)
		case float64:
			if v == 0 {
				delete(fields, name)
			}

		case string:
			if v == "" || v == "0" || v == "0s" {
				delete(fields, name)
			}
		}
	}

	return fields
}

// Windows adds to a kubelet's configuration what Windows asks for. resolv is the file of name servers, endpoint the
// container runtime's.
func Windows(c *kubeletv1beta1.KubeletConfiguration, endpoint, resolv string) {
	no := false
	c.ContainerRuntimeEndpoint = endpoint
	c.ResolverConfig = &resolv
	// These two have to be set: Windows has no cgroups, and with the defaults the kubelet warns of that.
	c.CgroupsPerQOS = &no
	c.EnforceNodeAllocatable = enforceNothing()
	if c.EvictionHard == nil {
		c.EvictionHard = map[string]string{}
	}
	c.EvictionHard["memory.available"] = "500Mi" // as Windows has it
}

// enforceNothing is how a kubelet's configuration says that nothing keeps pods within what the node leaves them.
func enforceNothing() []string { return []string{"none"} }

// Args returns the kubelet's flags: what its configuration file has no place for.
func (k Kubelet) Args() []string {
	args := []string{
		"--config=" + Path(k.OS, KubeletConfig),
		"--bootstrap-kubeconfig=" + Path(k.OS, BootstrapKubeconfig),
		"--kubeconfig=" + Path(k.OS, KubeletKubeconfig),
		"--cert-dir=" + Path(k.OS, KubeletCertDir),
	}
	if k.OS == spec.Windows {
		args = append(args, "--root-dir="+Path(k.OS, KubeletDir))
	}

	ips := k.Address.String()
	if k.Address6.IsValid() {
		ips += "," + k.Address6.String()
	}
	args = append(args, "--hostname-override="+k.Name, "--node-ip="+ips, "--v=2")
	if k.minor() < version.EndpointInFile {
		args = append(args, "--container-runtime=remote", "--container-runtime-endpoint="+k.Runtime)
	}

	if k.Taint && k.minor() < version.TaintsInFile {
		t := k.taint()
		args = append(args, "--register-with-taints="+t.ToString())
	}
	return args
}

// WindowsProxyArgs returns the flags that kube-proxy has on Windows, beside those of every node. No feature gate is
// named: WinOverlay and WinDSR are locked on since Kubernetes 1.34. network is the HNS network of the pods, pods are
// the cluster's subnets of pod addresses.
func WindowsProxyArgs(network, pods string) []string {
	return []string{
		"--network-name=" + network,
		"--cluster-cidr=" + pods,
		"--healthz-bind-address=" + loopback(ProxyHealthPort),
		"--metrics-bind-address=" + loopback(ProxyMetricsPort),
		"--v=2",
	}
}

// ProxyArgs returns the flags that kube-proxy has on every node. kubeconfig is a path of the node's.
func ProxyArgs(mode, kubeconfig, node string) []string {
	return []string{"--proxy-mode=" + mode, "--kubeconfig=" + kubeconfig, "--hostname-override=" + node}
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// Merge merges fields into a configuration as RFC 7386 has it. A field that the kubelet does not know is an
// error, since the kubelet would only tell its log of it.
func Merge(own *kubeletv1beta1.KubeletConfiguration, fields map[string]any,
) (*kubeletv1beta1.KubeletConfiguration, error) {
	if len(fields) == 0 {
		return own, nil
	}
	text, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	if text, err = patched(text, fields); err != nil {
		return nil, err
	}

	var merged kubeletv1beta1.KubeletConfiguration
	if err := yaml.UnmarshalStrict(text, &merged); err != nil {
		return nil, errors.New(regexp.MustCompile(`^error unmarshaling JSON: while decoding JSON: (json: )?`).
			ReplaceAllString(err.Error(), ""))
	}

	return &merged, nil
}
