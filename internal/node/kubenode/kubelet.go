package kubenode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"mullion.dev/mullion/internal/node/nodeconfig"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/spec"
)

// KubeletCertDir is the kubelet's folder of certificates.
const KubeletCertDir = nodeconfig.KubeletCertDir

// The kubelet's files.
const (
	kubeletConfig       = nodeconfig.KubeletConfig
	kubeletKubeconfig   = nodeconfig.KubeletKubeconfig
	bootstrapKubeconfig = nodeconfig.BootstrapKubeconfig
	caFile              = nodeconfig.CAFile
)

// Kubelet returns the node's kubelet, started as s says. Ready means that s says so, and that the kubelet's health
// endpoint answers; that the node is Ready is seen in the API.
func (n Node) Kubelet(s proc.Spec) *Process {
	probe := healthProbe(n.Netns, kubeletHealthPort)
	s.Ready = after(s.Ready, func(ctx context.Context) error { _, err := probe(ctx); return err })
	return n.Process(Kubelet, s, n.writeKubelet)
}

// after returns a probe that asks first, unless that is nil, and then the other.
func after(first, probe func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if first != nil {
			if err := first(ctx); err != nil {
				return err
			}
		}
		return probe(ctx)
	}
}

// KubeletArgs returns the kubelet's flags: what its configuration file has no place for.
func (n Node) KubeletArgs() []string {
	told := n.told()
	told.Runtime = n.ownKubeletConfiguration().ContainerRuntimeEndpoint
	args := told.Args()
	if len(n.Labels) > 0 {
		var labels []string
		for _, k := range slices.Sorted(maps.Keys(n.Labels)) {
			labels = append(labels, k+"="+n.Labels[k])
		}
		args = append(args, "--node-labels="+strings.Join(labels, ","))
	}
	return append(args, flags(n.KubeletExtraArgs)...)
}

func flags(args []spec.Arg) []string {
	var all []string
	for _, a := range args {
		all = append(all, a.Flag())
	}
	return all
}

// told returns what the kubelet is told.
func (n Node) told() nodeconfig.Kubelet {
	return nodeconfig.Kubelet{
		Name:           n.Name,
		OS:             n.OS,
		Address:        n.Address,
		Address6:       n.Address6,
		ClusterDNS:     n.ClusterDNS,
		ClusterDomain:  n.ClusterDomain,
		SelfSigned:     n.SelfSigned,
		Taint:          n.Taint,
		SystemReserved: n.SystemReserved,
		KubeReserved:   n.KubeReserved,
		Version:        n.Version,
	}
}

// kubeletConfiguration returns the kubelet's configuration file, as
// https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/ has it.
func (n Node) kubeletConfiguration() ([]byte, error) {
	text, err := n.told().File(n.ownKubeletConfiguration(), n.Config.Kubelet)
	if err != nil {
		return nil, fmt.Errorf("kubeletConfiguration of node %q: %w", n.Name, err)
	}
	return text, nil
}

// CheckFields returns an error if the kubelet does not know fields that are to be merged into a node's configuration.
func CheckFields(fields map[string]any) error {
	_, err := nodeconfig.Merge(&kubeletv1beta1.KubeletConfiguration{}, fields)
	return err
}

// Check returns an error if the kubelet does not know a field that is merged into its configuration, or if there are
// flags for a kube-proxy and the node has none.
func (n Node) Check(hasProxy bool) error {
	if _, err := n.kubeletConfiguration(); err != nil {
		return err
	}
	if len(n.KubeProxyExtraArgs) > 0 && !hasProxy {
		return fmt.Errorf("kubeProxyExtraArgs of node %q: Mullion runs no kube-proxy on it", n.Name)
	}
	return nil
}

// ownKubeletConfiguration returns the kubelet's configuration without the fields that are merged into it.
func (n Node) ownKubeletConfiguration() *kubeletv1beta1.KubeletConfiguration {
	k := n.told().Configuration()
	diskThresholds(k)
	n.Tweak(k)
	return k
}

// writeKubelet writes the kubelet's configuration, the bootstrap kubeconfig and, where the machine can make it, the
// kubelet's first certificate.
func (n Node) writeKubelet() error {
	config, err := n.kubeletConfiguration()
	if err != nil {
		return fmt.Errorf("write configuration of kubelet %q: %w", n.Name, err)
	}
	ca, err := os.ReadFile(n.CAFile)
	if err != nil {
		return fmt.Errorf("read the cluster's authority: %w", err)
	}

	if err := n.dropForeignIdentity(ca); err != nil {
		return err
	}
	bootstrap, err := n.bootstrap(ca)
	if err != nil {
		return err
	}

	for _, f := range []struct {
		path string
		data []byte
		mode fs.FileMode
	}{{kubeletConfig, config, 0o644}, {caFile, ca, 0o644}, {bootstrapKubeconfig, bootstrap, 0o600}} {
		if err := n.WriteFile(f.path, f.data, f.mode); err != nil {
			return err
		}
	}

	return n.writeFirstIdentity(ca)
}

// bootstrap returns a kubeconfig with the bootstrap token, the API server's URL as nodes reach it, and the authority's
// certificates (PEM).
func (n Node) bootstrap(ca []byte) ([]byte, error) {
	config, err := clientcmd.LoadFromFile(n.BootstrapKubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read bootstrap kubeconfig: %w", err)
	}
	for name, cluster := range config.Clusters {
		config.Clusters[name] = &clientcmdapi.Cluster{
			Server:                   n.Server,
			CertificateAuthorityData: ca,
			TLSServerName:            cluster.TLSServerName,
		}
	}
	return clientcmd.Write(*config)
}

// certificateTime is how a kubelet names its certificates by the time at which it got them.
const certificateTime = "2006-01-02-15-04-05"

// writeFirstIdentity gives a kubelet that has no certificate the first one, and the kubeconfig that refers to it, as
// the kubelet itself writes both when its request has been granted. So it need not try for seconds, as nobody, what it
// may not do yet. The link is relative: it leads to the same file in the host and on the machine.
func (n Node) writeFirstIdentity(ca []byte) error {
	const current = KubeletCertDir + "/" + currentCertificate
	if n.FirstCertificate == nil {
		return nil
	}
	if there, err := n.exists(current); there || err != nil {
		return err
	}

	pair, err := n.FirstCertificate()
	if err != nil {
		return fmt.Errorf("make the first certificate of kubelet %q: %w", n.Name, err)
	}
	name := "kubelet-client-" + time.Now().Format(certificateTime) + ".pem"
	if err := n.WriteFile(KubeletCertDir+"/"+name, pair, 0o600); err != nil {
		return err
	}

	if err := n.link(current, name); err != nil {
		return err
	}
	config, err := n.ownKubeconfig(ca)
	if err != nil {
		return err
	}
	return n.WriteFile(kubeletKubeconfig, config, 0o600)
}

// ownKubeconfig returns the kubelet's kubeconfig. Names and contents are those that the kubelet writes:
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/kubelet/certificate/bootstrap/bootstrap.go
func (n Node) ownKubeconfig(ca []byte) ([]byte, error) {
	current := n.Path(KubeletCertDir + "/" + currentCertificate)
	return clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			"default-cluster": {Server: n.Server, CertificateAuthorityData: ca},
		},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{
			"default-auth": {ClientCertificate: current, ClientKey: current},
		},
		Contexts: map[string]*clientcmdapi.Context{
			"default-context": {Cluster: "default-cluster", AuthInfo: "default-auth", Namespace: "default"},
		},
		CurrentContext: "default-context",
	})
}

// dropForeignIdentity removes the kubelet's kubeconfig and certificates if they are of another cluster's authority: a
// kubelet that has a certificate does not ask for a new one.
func (n Node) dropForeignIdentity(ca []byte) error {
	old, err := n.ReadFile(caFile)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && bytes.Equal(old, ca)) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range []string{kubeletKubeconfig, KubeletCertDir} {
		if err := n.RemoveAll(name); err != nil {
			return err
		}
	}
	return nil
}
