package linuxnode

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"mullion.dev/mullion/internal/node/kubenode"
)

// KubeletConfiguration is the kubelet's configuration file, as
// https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/ has it.
func (c Config) KubeletConfiguration() *kubeletv1beta1.KubeletConfiguration {
	no, yes := false, true
	resolv := resolvConf
	k := &kubeletv1beta1.KubeletConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: "kubelet.config.k8s.io/v1beta1", Kind: "KubeletConfiguration"},
		Authentication: kubeletv1beta1.KubeletAuthentication{
			X509: kubeletv1beta1.KubeletX509Authentication{ClientCAFile: caFile},
			Webhook: kubeletv1beta1.KubeletWebhookAuthentication{
				Enabled:  &yes,
				CacheTTL: metav1.Duration{Duration: 2 * time.Minute},
			},
			Anonymous: kubeletv1beta1.KubeletAnonymousAuthentication{Enabled: &no},
		},
		Authorization: kubeletv1beta1.KubeletAuthorization{
			Mode: kubeletv1beta1.KubeletAuthorizationModeWebhook,
		},
		ContainerRuntimeEndpoint: "unix://" + containerdSocket,
		RotateCertificates:       true,
		ServerTLSBootstrap:       true,
		TLSMinVersion:            "VersionTLS12",
		ClusterDomain:            c.domain(),
		ResolverConfig:           &resolv,
		// The node's cgroup is the root of its cgroup namespace; there is no systemd on the node to ask for others.
		CgroupDriver: "cgroupfs",
		// cgroup v1, where the machine has that: else the kubelet refuses to start from 1.35 on.
		FailCgroupV1: &no,
		FailSwapOn:   &no,
	}
	kubenode.DiskThresholds(k, map[string]string{
		"memory.available": "100Mi", "nodefs.inodesFree": "1%",
		"imagefs.inodesFree": "1%",
	})
	k.SystemReserved, k.KubeReserved = c.SystemReserved, c.KubeReserved
	if c.ClusterDNS.IsValid() {
		k.ClusterDNS = []string{c.ClusterDNS.String()}
	}
	if c.Taint {
		k.RegisterWithTaints = []corev1.Taint{{Key: "os", Value: "linux", Effect: corev1.TaintEffectNoSchedule}}
	}
	return k
}

// KubeletYAML is the text of the configuration file.
func (c Config) KubeletYAML() ([]byte, error) {
	data, err := yaml.Marshal(c.KubeletConfiguration())
	if err != nil {
		return nil, fmt.Errorf("write configuration of kubelet %q: %w", c.Name, err)
	}
	return data, nil
}

// KubeletArgs are the kubelet's flags: what its configuration file has no place for.
func (c Config) KubeletArgs() []string {
	args := []string{
		"--config=" + kubeletConfig,
		"--bootstrap-kubeconfig=" + bootstrapKubeconfig,
		"--kubeconfig=" + kubeletKubeconfig,
		"--cert-dir=" + kubeletCertDir,
		"--hostname-override=" + c.Name,
		"--node-ip=" + kubenode.NodeIPs(c.Address, c.Address6),
		"--v=2",
	}
	if len(c.Labels) > 0 {
		var labels []string
		for _, k := range slices.Sorted(maps.Keys(c.Labels)) {
			labels = append(labels, k+"="+c.Labels[k])
		}
		args = append(args, "--node-labels="+strings.Join(labels, ","))
	}
	return args
}
