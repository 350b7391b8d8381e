package winnode

import (
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"mullion.dev/mullion/internal/node/nodeconfig"
)

// The folders of upstream's programs, where SIG Windows' tools have them, and of a person's own.
const (
	programsFolder = "/k/"
	ownFolder      = "/k/own/"
)

// resolvConf is the file that pods' name servers are taken from.
const resolvConf = "/etc/kubernetes/resolv.conf"

// tweakKubelet adds to the kubelet's configuration what Windows asks for.
func (c Config) tweakKubelet(k *kubeletv1beta1.KubeletConfiguration) {
	// Not the pipe of Mullion's runtime: each call goes through Wine's server several times then, and an idle node took
	// twice the processor time (measured with Wine 8.0).
	endpoint := "tcp://" + loopback(CRIPort).String()
	if c.Containerd != "" {
		endpoint = CRIEndpoint
	}
	nodeconfig.Windows(k, endpoint, c.node().Path(resolvConf))
}
