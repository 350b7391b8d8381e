package winserver

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"mullion.dev/mullion/internal/network/podnet"
	"mullion.dev/mullion/internal/node/nodeconfig"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/winserver/journal"
)

// file is a file by which the program of a service is told; "" is none that reads it at each start.
type file struct {
	path    string
	data    []byte
	private bool
	of      string
}

// configure writes the files by which the programs are told. It reports of which services they have changed.
func (c change) configure(o Join, k cluster, address netip.Addr) (map[string]bool, error) {
	for _, f := range []struct {
		path   string
		access Access
	}{
		{kubernetesDir, Private},
		{path.Dir(nodeconfig.CAFile), Private},
		{nodeconfig.KubeletDir, Private},
		{nodeconfig.KubeletCertDir, Private},
		{nodeconfig.KubeletDir + "/pods", Volumes},
		{logDir + "/pods", Readable},
		{logDir + "/containers", Readable},
		{cniStateDir, Readable},
	} {
		if err := c.folder(f.path, f.access); err != nil {
			return nil, err
		}
	}

	told, err := nodeconfig.Merge(c.kubeletConfiguration(o, k, address), o.Kubelet)
	if err != nil {
		return nil, fmt.Errorf("the kubelet's configuration: %w", err)
	}
	config, err := yaml.Marshal(told)
	if err != nil {
		return nil, err
	}

	bootstrap, err := bootstrapKubeconfig(o, k)
	if err != nil {
		return nil, err
	}

	changed := map[string]bool{}
	files := []file{
		{nodeconfig.CAFile, k.CA, false, kubelet},
		{nodeconfig.KubeletConfig, config, false, kubelet},
		{nodeconfig.BootstrapKubeconfig, bootstrap, true, ""},
	}

	if c.journal.Runtime {
		files = append(files, file{runtimeConfig, []byte(containerdConfig), false, containerd})
		// containerd protects its state only where it makes the folder itself (pkg/sys/filesys_windows.go).
		err := errors.Join(c.folder(logDir+"/containerd", Readable), c.folder("/ProgramData/containerd", Private))
		if err != nil {
			return nil, err
		}
	}

	for _, f := range files {
		wrote, err := c.write(f.path, f.data, f.private)
		if err != nil {
			return nil, err
		}
		if wrote {
			c.say("wrote %s", windows(f.path))
		}
		changed[f.of] = changed[f.of] || wrote
	}

	return changed, nil
}

// kubelet returns what the node's kubelet is told.
func (o Join) kubelet(k cluster, address netip.Addr) nodeconfig.Kubelet {
	return nodeconfig.Kubelet{
		Name: o.Node, OS: spec.Windows, Address: address, ClusterDNS: k.dns, ClusterDomain: k.domain,
		SelfSigned: k.selfSigned,
	}
}

func (c change) kubeletConfiguration(o Join, k cluster, address netip.Addr) *kubeletv1beta1.KubeletConfiguration {
	config := o.kubelet(k, address).Configuration()
	// upstream's defaults, which the entry for memory replaces
	config.EvictionHard = map[string]string{"nodefs.available": "10%", "imagefs.available": "15%"}
	nodeconfig.Windows(config, c.journal.Endpoint, "") // a flag says Host: here that would be a file's name
	return config
}

func bootstrapKubeconfig(o Join, k cluster) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters["cluster"] = &clientcmdapi.Cluster{Server: k.Server, CertificateAuthorityData: k.CA}
	config.AuthInfos["token"] = &clientcmdapi.AuthInfo{Token: o.Discovery.Token.String()}
	config.Contexts["bootstrap"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "token"}
	config.CurrentContext = "bootstrap"
	return clientcmd.Write(*config)
}

// firewallRule lets the API server reach the kubelet: logs, exec, metrics.
const (
	firewallRule = "mullion-agent-kubelet"
	kubeletPort  = 10250
)

func (c change) allow(ctx context.Context) error {
	if c.journal.Joined {
		return nil
	}
	if err := c.journal.Add(journal.Entry{Kind: journal.Firewall, Name: firewallRule}); err != nil {
		return err
	}
	if err := c.Firewall.Allow(ctx, firewallRule, kubeletPort); err != nil {
		return fmt.Errorf("let connections to the kubelet in: %w", err)
	}
	c.say("the firewall lets TCP port %d in (rule %s)", kubeletPort, firewallRule)
	return nil
}

func (c change) kubeletService(o Join, address netip.Addr) service {
	s := service{name: kubelet, about: "Kubernetes' node agent, installed by mullion-agent"}
	if c.journal.Runtime {
		s.needs = []string{containerd}
	}
	s.command = append([]string{windows(programsDir + "/kubelet.exe"), "--windows-service"},
		o.kubelet(cluster{}, address).Args()...)
	// The name servers of this server (pkg/kubelet/network/dns/dns_windows.go of k8s.io/kubernetes).
	if _, told := o.Kubelet["resolvConf"]; !told {
		s.command = append(s.command, "--resolv-conf=Host")
	}
	return s
}

func (c change) proxyService(o Join, k cluster) service {
	network := c.journal.Network
	if network == "" {
		network = podnet.NetworkName(spec.ModeL2Bridge)
	}
	args := append([]string{windows(programsDir + "/kube-proxy.exe"), "--windows-service"},
		nodeconfig.ProxyArgs("kernelspace", windows(nodeconfig.KubeletKubeconfig), o.Node)...)
	return service{
		name: kubeProxy, about: "Kubernetes' Services on this node, installed by mullion-agent",
		needs: []string{kubelet}, command: append(args, nodeconfig.WindowsProxyArgs(network, k.pods.String())...),
	}
}

// containerdConfig is containerd's configuration file
// (https://github.com/containerd/containerd/blob/v2.4.2/docs/cri/config.md).
const containerdConfig = `version = 3

[plugins.'io.containerd.cri.v1.runtime']
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ['C:\opt\cni\bin']
    conf_dir = 'C:\etc\cni\net.d'
`

func containerdService() service {
	return service{
		name: containerd, about: "Container runtime, installed by mullion-agent",
		command: []string{
			windows(runtimeDir + "/containerd.exe"), "--run-service", "--config", windows(runtimeConfig),
			"--log-file", windows(logDir + "/containerd/containerd.log"),
		},
	}
}
