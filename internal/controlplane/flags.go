package controlplane

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/spec"
)

// nodeMask is the length of the prefix each node gets out of the pod subnet.
const nodeMask = 24

// The flags below follow what kubeadm sets:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/cmd/kubeadm/app/phases/controlplane/manifests.go
// where they differ, a comment says why.

// Flags returns the arguments of the program that a unit runs, nil for a unit that is not a program.
func (c Config) Flags(unit string) []string {
	switch unit {
	case Etcd:
		return c.etcdFlags()
	case APIServer:
		return c.apiServerFlags()
	case ControllerManager:
		return c.controllerManagerFlags()
	case Scheduler:
		return c.schedulerFlags()
	}
	return nil
}

// minor returns the version of the programs.
func (c Config) minor() version.Minor { return version.MinorOf(c.Version) }

// etcdHas reports whether the etcd is that of the minor version or a later one. One that does not lie with the other
// programs is that of the version that Mullion comes with.
func (c Config) etcdHas(since version.Minor) bool {
	own := c.Etcd == "" || filepath.Dir(c.Etcd) == filepath.Clean(c.Programs)
	return !own || c.minor() >= since
}

// listenAt returns the URL by which etcd listens at one of its sockets.
func (c Config) listenAt(socket string) string {
	if !c.etcdHas(version.SocketPaths) {
		socket = filepath.Base(socket) // in its working folder
	}
	return "unix://" + socket
}

func (c Config) etcdFlags() []string {
	flags := []string{
		"--name=mullion",
		"--data-dir=" + c.etcdData(),
		"--listen-client-urls=" + c.listenAt(c.etcdSocket()),
	}
	if c.etcdHas(version.SplitHealth) {
		// Health apart from gRPC: with both on one socket gRPC is served by a slower library.
		flags = append(flags, "--listen-client-http-urls="+c.listenAt(c.etcdHTTPSocket()))
	}

	return append(flags,
		// etcd requires addresses for peers, although there are none, and accepts only host:port for advertised ones.
		// Nothing uses these addresses.
		"--listen-peer-urls="+c.listenAt(c.etcdPeerSocket()),
		"--advertise-client-urls=http://127.0.0.1:2379",
		"--initial-advertise-peer-urls=http://127.0.0.1:2380",
		// A member that is alone elects itself within this time, in milliseconds; it has nobody to wait for.
		"--election-timeout=500",
		"--log-level=warn",
	)
}

func (c Config) apiServerFlags() []string {
	certs := func(name string) string { return filepath.Join(c.PKIDir(), name) }

	return []string{
		"--advertise-address=" + c.Address.Addr().String(),
		"--bind-address=" + c.Address.Addr().String(),
		"--secure-port=" + strconv.Itoa(int(c.Address.Port())),
		"--etcd-servers=unix://" + c.etcdSocket(),
		"--allow-privileged=true",
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--enable-bootstrap-token-auth=true",
		"--client-ca-file=" + certs(pki.CA+".crt"),
		"--tls-cert-file=" + certs(pki.APIServer+".crt"),
		"--tls-private-key-file=" + certs(pki.APIServer+".key"),
		"--tls-min-version=VersionTLS12",
		"--kubelet-client-certificate=" + certs(pki.APIServerKubeletClient+".crt"),
		"--kubelet-client-key=" + certs(pki.APIServerKubeletClient+".key"),
		// kubeadm leaves kubelets' serving certificates unverified; here they are signed by the cluster's authority.
		"--kubelet-certificate-authority=" + certs(pki.CA+".crt"),
		"--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname",
		"--proxy-client-cert-file=" + certs(pki.FrontProxyClient+".crt"),
		"--proxy-client-key-file=" + certs(pki.FrontProxyClient+".key"),
		"--requestheader-client-ca-file=" + certs(pki.FrontProxyCA+".crt"),
		"--requestheader-allowed-names=" + pki.FrontProxyClientName,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		// No kube-proxy runs in the fabric's network namespace, so webhooks and aggregated servers are called at their
		// pods' addresses.
		"--enable-aggregator-routing=true",
		"--service-cluster-ip-range=" + spec.JoinSubnets(c.ServiceSubnet, c.ServiceSubnet6),
		"--service-account-issuer=https://kubernetes.default.svc." + c.domain(),
		"--service-account-key-file=" + certs("sa.pub"),
		"--service-account-signing-key-file=" + certs("sa.key"),
		"--profiling=false",
	}
}

func (c Config) controllerManagerFlags() []string {
	kubeconfig := c.Kubeconfig(pki.ControllerManager())
	certs := func(name string) string { return filepath.Join(c.PKIDir(), name) }

	// With two families, the flag without a family is refused.
	masks := []string{fmt.Sprintf("--node-cidr-mask-size=%d", nodeMask)}
	if c.PodSubnet6.IsValid() {
		masks = []string{
			fmt.Sprintf("--node-cidr-mask-size-ipv4=%d", nodeMask),
			fmt.Sprintf("--node-cidr-mask-size-ipv6=%d", spec.NodeBits6),
		}
	}

	return slices.Concat(c.loopbackFlags(kubeconfig, pki.ControllerManagerServing, controllerManagerPort), []string{
		"--controllers=*,bootstrapsigner,tokencleaner",
		"--use-service-account-credentials=true",
		"--service-account-private-key-file=" + certs("sa.key"),
		"--root-ca-file=" + certs(pki.CA+".crt"),
		"--cluster-signing-cert-file=" + certs(pki.CA+".crt"),
		"--cluster-signing-key-file=" + certs(pki.CA+".key"),
		"--allocate-node-cidrs=true",
		// It makes a service account for each controller before it starts one, by 140 requests. With the usual burst of
		// 30 that takes five seconds, in which no request of a kubelet for a certificate is answered.
		"--kube-api-burst=200",
		"--cluster-cidr=" + spec.JoinSubnets(c.PodSubnet, c.PodSubnet6),
	}, masks, []string{
		"--service-cluster-ip-range=" + spec.JoinSubnets(c.ServiceSubnet, c.ServiceSubnet6),
		"--cluster-name=" + c.Name,
		// It makes this folder, by default one of the machine's (/usr/libexec/kubernetes).
		"--flex-volume-plugin-dir=" + filepath.Join(c.Dir, "flexvolume"),
	})
}

func (c Config) schedulerFlags() []string {
	return c.loopbackFlags(c.Kubeconfig(pki.Scheduler()), pki.SchedulerServing, schedulerPort)
}

// loopbackFlags returns the flags of a client of the API server that serves health and metrics on the loopback.
func (c Config) loopbackFlags(kubeconfig, serving string, port int) []string {
	flags := []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--requestheader-client-ca-file=" + filepath.Join(c.PKIDir(), pki.FrontProxyCA+".crt"),
		"--client-ca-file=" + filepath.Join(c.PKIDir(), pki.CA+".crt"),
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + filepath.Join(c.PKIDir(), serving+".crt"),
		"--tls-private-key-file=" + filepath.Join(c.PKIDir(), serving+".key"),
		"--tls-min-version=VersionTLS12",
		// The supervisor runs exactly one of each. An election would only delay starts by the lease's length.
		"--leader-elect=false",
		"--profiling=false",
	}

	if c.minor() < version.SecureOnly {
		flags = append(flags, "--port=0")
	}
	return flags
}
