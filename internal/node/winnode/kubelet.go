package winnode

import kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

// The folders of upstream's programs, where SIG Windows' tools have them, and of a person's own.
const (
	programsFolder = "/k/"
	ownFolder      = "/k/own/"
)

// resolvConf is the file that pods' name servers are taken from.
const resolvConf = "/etc/kubernetes/resolv.conf"

// tweakKubelet adds to the kubelet's configuration what Windows asks for.
func (c Config) tweakKubelet(k *kubeletv1beta1.KubeletConfiguration) {
	no, resolv := false, c.node().Path(resolvConf)
	// Not the pipe: each call goes through Wine's server several times then, and an idle node took twice the processor
	// time (measured with Wine 8.0).
	k.ContainerRuntimeEndpoint = "tcp://" + loopback(CRIPort).String()
	k.ResolverConfig = &resolv
	// These two have to be set: Windows has no cgroups, and with the defaults the kubelet warns of that.
	k.CgroupsPerQOS = &no
	k.EnforceNodeAllocatable = []string{"none"}
	k.EvictionHard["memory.available"] = "500Mi" // as Windows has it
}
