package diagnose_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"mullion.dev/mullion/internal/diagnose"
)

// trouble is a case: what makes it, and what is found.
type trouble struct {
	name   string
	make   func(*diagnose.Picture)
	object string
	// says are parts of the evidence, the cause or the remedies.
	says string
}

// troubles are by probe. Each probe has at least one.
func troubles() map[string][]trouble {
	const sandbox = "Failed to create pod sandbox: rpc error: code = Unknown desc = "
	return map[string][]trouble{
		"node-cni-missing": {{
			"containerd's words",
			notReady("container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized", corev1.ConditionFalse),
			"node win-1", "cni plugin not initialized",
		}},
		"node-not-ready": {
			{"the kubelet says so", notReady("PLEG is not healthy", corev1.ConditionFalse), "node win-1", "PLEG is not healthy"},
			{"the kubelet says nothing", notReady("Kubelet stopped posting node status.", corev1.ConditionUnknown), "node win-1", "last report 2m0s ago"},
			{"it never said anything", withNode("win-1", func(n *corev1.Node) { n.Status.Conditions = nil }), "node win-1", "has not reported since"},
		},
		"node-service-stopped": {
			{"a service is stopped", withFacts(diagnose.NodeFacts{Services: map[string]string{"kubelet": "Running", "kube-proxy": "Stopped"}}), "node win-1", "service kube-proxy is Stopped"},
			{"no service", withFacts(diagnose.NodeFacts{Processes: []string{`"C:\k\kubelet.exe" --v=2`}}), "node win-1", "no service of that name"},
		},
		"node-version-skew": {
			{"newer", withNode("win-1", func(n *corev1.Node) { n.Status.NodeInfo.KubeletVersion = "v1.38.0" }), "node win-1", "v1.38.0"},
			{"too old", withNode("win-1", func(n *corev1.Node) { n.Status.NodeInfo.KubeletVersion = "v1.33.2" }), "node win-1", "v1.33.2"},
		},
		"node-runtime-old": {
			{"dockershim", withNode("win-1", func(n *corev1.Node) {
				info := &n.Status.NodeInfo
				info.ContainerRuntimeVersion, info.KubeletVersion = "docker://19.3.5", "v1.20.0"
			}), "node win-1", "docker://19.3.5"},
			{"HostProcess on containerd 1.5", both(withPod(hostProcess()), withNode("win-1", func(n *corev1.Node) {
				n.Status.NodeInfo.ContainerRuntimeVersion = "containerd://1.5.8"
			})), "node win-1", "pod default/bad is a HostProcess pod"},
		},
		"node-windows-old": {{"1803", withNode("win-1", func(n *corev1.Node) {
			n.Status.NodeInfo.KernelVersion = "10.0.17134.1130"
		}), "node win-1", "10.0.17134.1130"}},

		"kube-proxy-node-name": {
			{"its event names the hostname", func(p *diagnose.Picture) {
				withNode("win-1", func(n *corev1.Node) { n.Status.Addresses[1].Address = "WIN-ABC" })(p)
				p.Events = append(p.Events, corev1.Event{
					InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "win-abc"}, Reason: "Starting", ReportingController: "kube-proxy",
				})
			}, "node win-1", `about node "win-abc"`},
			{"of a host that nobody knows", func(p *diagnose.Picture) {
				p.Events = append(p.Events, corev1.Event{
					InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "win-xyz"}, Reason: "Starting", ReportingController: "kube-proxy",
				})
			}, "kube-proxy on host win-xyz", `about node "win-xyz"`},
			{"its pod has no name for it", both(withNode("win-1", func(n *corev1.Node) { n.Labels[corev1.LabelHostname] = "win-abc" }),
				withPod(func(p *corev1.Pod) { p.Name = "kube-proxy-windows-x" })), "node win-1", `hostname is "win-abc"`},
			{"its process", withFacts(diagnose.NodeFacts{
				Hostname: "WIN-ABC", Processes: []string{`C:\k\kube-proxy.exe --v=4`},
			}), "node win-1", "--v=4"},
		},
		"kube-proxy-feature-gate": {
			{"a gate", withLog("I0101 ok\nE0101 \"command failed\" err=\"unrecognized feature gate: WinDSR\"\n"), "node win-1", "WinDSR"},
			{"a flag", withLog("Error: unknown flag: --enable-dsr"), "node win-1", "--enable-dsr"},
		},
		"hns-network-missing": {
			{"a sandbox", broken("FailedCreatePodSandBox", sandbox+`plugin type="win-bridge" failed (add): Network name "cbr0" not found`), "node win-1", `"cbr0" not found`},
			{"kube-proxy", withLog("F0518 proxier.go:477] Unable to find Hns Network specified by cbr0. Please check environment variable KUBE_NETWORK"), "node win-1", "cbr0"},
			{"none at all", withFacts(diagnose.NodeFacts{NetworksKnown: true}), "node win-1", "HNS has no network"},
			{"another", withFacts(diagnose.NodeFacts{
				Networks: []diagnose.HNSNetwork{{Name: "nat"}}, NetworksKnown: true, Variables: map[string]string{"KUBE_NETWORK": "cbr0"},
			}), "node win-1", `KUBE_NETWORK is "cbr0"`},
		},
		"network-changed-by-others": {
			{"a table is gone", func(p *diagnose.Picture) {
				p.Events = append(p.Events, corev1.Event{
					InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "win-1"},
					Reason:         "NetworkMended",
					Message:        "somebody has changed the network of this node's machine: nftables table ip x was gone",
				})
			}, "node win-1", "nftables table ip x was gone"},
		},
		"hns-network-stale": {
			{"a sandbox", broken("FailedCreatePodSandBox", sandbox+"hnsCall failed in Win32: The object already exists. (0x1392)"), "pod default/bad", "0x1392"},
			{"no element", broken("FailedCreatePodSandBox", sandbox+"Failed to create endpoint: HNS failed with error : Element not found."), "pod default/bad", "Element not found"},
		},
		"pod-network": {{"two pods", silent, "node win-1", "i/o timeout"}},
		"outbound-exceptions": {
			{"the pods' subnet is not there", cni(`{"delegate":{"policies":[{"Value":{"Settings":{"Exceptions":["10.96.0.0/12"]}}}]}}`), "configmap kube-flannel/kube-flannel-windows-cfg", "lacks the pods' subnet, such as 10.244.0.0"},
			{"everything is", cni(`{"ExceptionList":["0.0.0.0/0"]}`), "configmap kube-flannel/kube-flannel-windows-cfg", "0.0.0.0/0 takes everything"},
			{"nonsense is", cni(`{"ExceptionList":["", "10.244.0.0/16", "10.96.0.0/12"]}`), "configmap kube-flannel/kube-flannel-windows-cfg", `"" is no subnet`},
			{"on the node", withFacts(diagnose.NodeFacts{
				Files: map[string]string{`C:\k\cni\config\cni.conf`: `{"ExceptionList":["10.244.0.0/16"]}`},
			}), "node win-1", "lacks the Services' subnet"},
		},
		"pod-pings": {
			{"a command", withPod(func(p *corev1.Pod) { p.Spec.Containers[0].Command = []string{"cmd", "/c", "ping -t example.com"} }), "pod default/bad", "ping -t example.com"},
			{"a probe", withPod(func(p *corev1.Pod) {
				exec := &corev1.ExecAction{Command: []string{"ping.exe", "8.8.8.8"}}
				p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: exec}}
			}), "pod default/bad", "ping.exe 8.8.8.8"},
			{"a hook, after a pause", withPod(func(p *corev1.Pod) {
				exec := &corev1.ExecAction{Command: []string{"cmd", "/c", "ping -n 2 127.0.0.1 & ping 8.8.8.8"}}
				p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: exec}}
			}), "pod default/bad", "ping 8.8.8.8"},
		},
		"host-uses-node-port": {{"its own address", both(func(p *diagnose.Picture) { p.Services[2].Spec.Ports[0].NodePort = 30080 },
			withPod(hostProcess(corev1.EnvVar{Name: "URL", Value: "http://10.0.0.2:30080/"}))), "pod default/bad", `"10.0.0.2:30080", the NodePort of service default/web`}},
		"host-uses-service": {
			{"an address", withPod(hostProcess(corev1.EnvVar{Name: "URL", Value: "https://10.96.0.1:443"})), "pod default/bad", "10.96.0.1"},
			{"a name", withPod(hostProcess(corev1.EnvVar{Name: "URL", Value: "http://web.default.svc.cluster.local"})), "pod default/bad", "web.default.svc"},
		},

		"flannel-subnet-env": {
			{"today's words", broken("FailedCreatePodSandBox", sandbox+`plugin type="flannel" failed (add): loadFlannelSubnetEnv failed: open /run/flannel/subnet.env: The system cannot find the path specified.`), "pod default/bad", "(3 times)"},
			{"Windows' slashes", broken("FailedCreatePodSandBox", sandbox+`open C:\run\flannel\subnet.env: The system cannot find the file specified.`), "pod default/bad", "flanneld has not come up"},
		},
		"flannel-waits": {{"start.ps1", withLog("Setup\nWaiting for the Network to be created\n"), "node win-1", "Waiting for the Network"}},
		"flannel-annotations": {
			{"another backend", both(flannel("linux-1", "vxlan", "null", "10.0.0.1"), flannel("win-2", "vxlan", "null", "10.0.0.3"), flannel("win-1", "host-gw", "null", "10.0.0.2")), "node win-1", "its backend is host-gw"},
			{"another address", flannel("win-1", "host-gw", "null", "192.168.1.9"), "node win-1", "192.168.1.9 for its address, which is none"},
			{"a low number", flannel("win-1", "vxlan", `{"VNI":1,"VtepMAC":"aa:01"}`, "10.0.0.2"), "node win-1", "the number 1, and Windows takes 4096"},
			{"another number", both(flannel("linux-1", "vxlan", `{"VNI":5000}`, "10.0.0.1"), flannel("win-1", "vxlan", `{"VNI":4096}`, "10.0.0.2")), "node win-1", "that of node linux-1 5000"},
			{"the same MAC", both(flannel("linux-1", "vxlan", `{"VNI":4096,"VtepMAC":"AA:01"}`, "10.0.0.1"), flannel("win-1", "vxlan", `{"VNI":4096,"VtepMAC":"aa:01"}`, "10.0.0.2")), "node win-1", "the same MAC address"},
			{"no JSON", flannel("win-1", "vxlan", "{", "10.0.0.2"), "node win-1", "is not JSON"},
			{"none", flannel("linux-1", "vxlan", "null", "10.0.0.1"), "node win-1", "flanneld has not run on it"},
			{"no subnet", both(flannel("win-1", "host-gw", "null", "10.0.0.2"), withNode("win-1", func(n *corev1.Node) { n.Spec.PodCIDR = "" })), "node win-1", "no spec.podCIDR"},
		},
		"flannel-source-vip": {
			{"SourceVip.json", withFacts(diagnose.NodeFacts{
				Files: map[string]string{`C:\k\SourceVip.json`: `{"cniVersion":"0.2.0","ip4":{"ip":"10.244.7.2/24","gateway":"10.244.7.1"}}`},
			}), "node win-1", "10.244.7.2"},
			{"subnet.env", withFacts(diagnose.NodeFacts{
				Files: map[string]string{`C:\run\flannel\subnet.env`: "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.9.1/24\n"},
			}), "node win-1", "10.244.9.1/24, and the node's pod subnet is 10.244.1.0/24"},
		},

		"pause-image": {
			{"hcsshim", broken("FailedCreatePodSandBox", sandbox+"failed to create containerd task: hcs::CreateComputeSystem 1a: The container operating system does not match the host operating system.: unknown"), "node win-1", "does not match"},
			{"it is not there", broken("FailedCreatePodSandBox", sandbox+`failed to get sandbox image "registry.k8s.io/pause:3.1": failed to pull image: not found`), "node win-1", "failed to get sandbox image"},
		},
		"pause-image-old": {{"Docker", withNode("win-1", func(n *corev1.Node) {
			n.Status.NodeInfo.ContainerRuntimeVersion = "docker://20.10.9"
			n.Status.Images = []corev1.ContainerImage{{Names: []string{"mcr.microsoft.com/k8s/core/pause:1.0.0"}}}
		}), "node win-1", "core/pause:1.0.0"}},
		"image-platform": {
			{"containerd", waiting("ErrImagePull", "no match for platform in manifest sha256:1: not found"), "pod default/bad", "the node is Windows Server 2022 Datacenter, 10.0.20348.2762"},
			{"hcsshim", waiting("CreateContainerError", "hcs::CreateComputeSystem 1a: The container operating system does not match the host operating system."), "pod default/bad", "does not match"},
		},
		"node-behind-proxy": {{"a name", waiting("ErrImagePull", `failed to resolve reference "nosuch.example/x:1": dial tcp: lookup nosuch.example: no such host`), "node win-1", "the image's name is wrong"}, {"a registry", both(waiting("ErrImagePull", `failed to pull and unpack image "mcr.microsoft.com/x:1": failed to resolve reference: dial tcp 1.2.3.4:443: connectex: A connection attempt failed`),
			withFacts(diagnose.NodeFacts{})), "node win-1", "HTTPS_PROXY is not set"}},

		"pod-not-placed": {
			{"a build that no node has", unschedulable(func(p *corev1.Pod) { p.Spec.NodeSelector[corev1.LabelWindowsBuild] = "10.0.26100" }), "pod default/bad", "no node has it: win-1 10.0.20348, win-2 10.0.20348"},
			{"a label", unschedulable(func(p *corev1.Pod) { p.Spec.NodeSelector["disk"] = "fast" }), "pod default/bad", "disk=fast, which no Windows node has"},
			{"a taint", both(unschedulable(func(*corev1.Pod) {}), taint("win-1"), taint("win-2")), "pod default/bad", `{key: "os", value: "windows", effect: "NoSchedule"}`},
			{"cordoned", both(unschedulable(func(*corev1.Pod) {}), cordoned("win-1"), cordoned("win-2")), "pod default/bad", "cordoned"},
			{"no Windows node", both(unschedulable(func(*corev1.Pod) {}), func(p *diagnose.Picture) { p.Nodes, p.Kubelets = p.Nodes[:1], nil }), "pod default/bad", "no Windows node"},
			{"room", unschedulable(func(*corev1.Pod) {}), "pod default/bad", "labels, taints and room"},
		},
		"pod-wrong-system": {
			{"a kubelet refused it", func(p *diagnose.Picture) {
				p.Pods = append(p.Pods, pod("bad", "linux-1", func(p *corev1.Pod) {
					s := &p.Status
					s.Phase = corev1.PodFailed
					s.Reason = "PodOSNotSupported"
					s.Message = "Failed to admit pod"
				}))
			}, "pod default/bad", "on linux-1: PodOSNotSupported"},
			{"it said nothing", func(p *diagnose.Picture) {
				waiting("ErrImagePull", "no match for platform in manifest")(p)
				p.Pods[1].Spec.NodeSelector = nil
			}, "pod default/bad", "says nothing of its system"},
		},
		"daemonset-not-for-windows": {
			{"without a selector", withPod(daemonSet(nil)), "daemonset default/agent", "on win-1: it is not Ready"},
			{"with os.name alone", withPod(daemonSet(func(p *corev1.Pod) {
				p.Spec.OS = &corev1.PodOS{Name: corev1.Linux}
				s := &p.Status
				s.Phase = corev1.PodFailed
				s.Reason = "PodOSNotSupported"
				s.Message = "Failed to admit pod"
			})), "daemonset default/agent", "PodOSNotSupported"},
		},
		"runtime-class": {{"kata", broken("FailedCreatePodSandBox", sandbox+`failed to get sandbox runtime: no runtime for "kata" is configured`), "pod default/bad", `"kata"`}},

		"run-as-user-name":  {{"hcsshim", waiting("RunContainerError", `hcs::System::CreateProcess: The user name or password is incorrect. (0x52e)`), "pod default/bad", "0x52e"}},
		"host-process-user": {{"no account", waiting("RunContainerError", "failed to logon user: The user name or password is incorrect. (0x52e): the host has no account nobody"), "pod default/bad", "no account nobody"}},
		"run-as-non-root":   {{"the kubelet", waiting("CreateContainerConfigError", "container's runAsUserName (ContainerAdministrator) which will be regarded as root identity and will break non-root policy"), "pod default/bad", "non-root policy"}},
		"host-process":      {{"a runtime", waiting("CreateContainerError", "host process containers are not supported by this runtime"), "pod default/bad", "not supported"}},
		"gmsa-spec-missing": {
			{"no such kind", both(withPod(gmsa("")), func(p *diagnose.Picture) { p.NoGMSA = true }), "pod default/bad", "no GMSACredentialSpecs"},
			{"no such spec", withPod(gmsa("")), "pod default/bad", "which is not there"},
			{"no webhook", both(withPod(gmsa("")), func(p *diagnose.Picture) { p.GMSASpecs = []string{"webapp"} }), "pod default/bad", "the webhook did not see it"},
		},

		"dns-service": {
			{"no such Service", func(p *diagnose.Picture) {
				p.Kubelets["win-1"] = diagnose.Kubelet{ClusterDNS: []string{"10.96.0.11"}}
			}, "node win-1", "10.96.0.11, which no Service has"},
			{"no endpoints", func(p *diagnose.Picture) { p.EndpointSlices = p.EndpointSlices[:1] }, "node win-1", "kube-system/kube-dns, which has no endpoint"},
			{"none", func(p *diagnose.Picture) { p.Kubelets["win-1"] = diagnose.Kubelet{} }, "node win-1", "no clusterDNS"},
		},
		"dns-policy": {{"with the host's", withPod(func(p *corev1.Pod) { p.Spec.DNSPolicy = corev1.DNSClusterFirstWithHostNet }), "pod default/bad", "ClusterFirstWithHostNet"}},
		"service-without-endpoints": {{"not Ready", func(p *diagnose.Picture) {
			p.EndpointSlices = p.EndpointSlices[1:]
			p.Pods[0].Status.Conditions = nil
		}, "service default/web", "pod default/web is not Ready"}},
		"service-target-port": {{"another name", func(p *diagnose.Picture) {
			p.Services[2].Spec.Ports[0].TargetPort = intstr.FromString("https")
		}, "service default/web", `"https", which pod default/web`}},
		"network-policy-not-enforced": {{"flannel", both(policy, flannel("win-1", "host-gw", "null", "10.0.0.2"), flannel("win-2", "host-gw", "null", "10.0.0.3")), "networkpolicy default/deny", "flannel's"}},

		"volume-not-mounted": {
			{"no driver", broken("FailedMount", `MountVolume.SetUp failed for volume "v" : kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: driver name smb.csi.k8s.io not found in the list of registered CSI drivers`), "pod default/bad", "smb.csi.k8s.io"},
		},
		"program-not-found": {{"Linux' shell", waiting("RunContainerError", `failed to create containerd task: hcs::System::CreateProcess: /bin/sh: The system cannot find the file specified. (0x2)`), "pod default/bad", "/bin/sh"}},
		"program-status": {
			{"a DLL", withPod(ended(-1073741515)), "pod default/bad", "0xC0000135 STATUS_DLL_NOT_FOUND"},
			{"memory", withPod(ended(-1073741801)), "pod default/bad", "does not overcommit"},
			{"a crash", withPod(ended(-1073741819)), "pod default/bad", "kubectl logs"},
		},
		"pod-terminating": {
			{"its volumes", withPod(deleted(2*time.Minute, nil)), "pod default/bad", "UnmountVolume.TearDown failed"},
			{"a container that runs", withPod(deleted(time.Hour, func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
			})), "pod default/bad", "container app still runs"},
			{"a finalizer", withPod(deleted(time.Hour, func(p *corev1.Pod) { p.Finalizers = []string{"example.com/keep"} })), "pod default/bad", "example.com/keep"},
			{"its node is away", both(withPod(deleted(time.Hour, nil)), notReady("Kubelet stopped posting node status.", corev1.ConditionUnknown)), "pod default/bad", "nobody ends the pod"},
		},
		"pod-folder-left": {{"of no pod", withFacts(diagnose.NodeFacts{PodFolders: []string{"7f3a-gone"}}), "node win-1", `pods\7f3a-gone is of no pod`}},
	}
}

// deleted returns a pod whose grace period ended so long ago.
func deleted(ago time.Duration, more func(*corev1.Pod)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.DeletionTimestamp = &metav1.Time{Time: seenAt.Add(-ago)}
		if more != nil {
			more(p)
		}
	}
}

// TestEnds: pods that are about to go, and folders of pods that are there, are no trouble.
func TestEnds(t *testing.T) {
	results := run(t, both(withPod(deleted(50*time.Second, func(p *corev1.Pod) {
		p.UID, p.Annotations = "7f3a-1", map[string]string{"kubernetes.io/config.hash": "7f3a-2"}
	})), func(p *diagnose.Picture) {
		p.Facts = map[string]diagnose.NodeFacts{"win-1": {PodFolders: []string{"7f3a-1", "7f3a-2", "7f3a-3"}}}
		p.Later = []string{"7f3a-3"}
	}))
	for _, id := range []string{"pod-terminating", "pod-folder-left"} {
		if r := results[id]; r.Verdict != diagnose.OK {
			t.Errorf("%s: %s, %+v", id, r.Verdict, r.Findings)
		}
	}
}

func taint(name string) func(*diagnose.Picture) {
	return withNode(name, func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule}}
	})
}

func cordoned(name string) func(*diagnose.Picture) {
	return withNode(name, func(n *corev1.Node) {
		n.Spec.Unschedulable = true
		n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}
	})
}

// together returns the probes that may find something where another is meant: a consequence, or another side of it.
func together() map[string][]string {
	return map[string][]string{
		"pod-wrong-system":          {"image-platform"},
		"daemonset-not-for-windows": {"pod-wrong-system"},
		"node-runtime-old":          {"node-version-skew"},
		"pod-terminating":           {"node-not-ready"},
	}
}

func TestEachTroubleIsFound(t *testing.T) {
	all := troubles()
	for _, p := range diagnose.Probes() {
		if len(all[p.ID]) == 0 {
			t.Errorf("probe %s has no case", p.ID)
		}

		for _, tt := range all[p.ID] {
			t.Run(p.ID+"/"+tt.name, func(t *testing.T) {
				results := run(t, tt.make)
				r := results[p.ID]
				if r.Verdict != diagnose.Found {
					t.Fatalf("it is %s", r.Verdict)
				}
				i := slices.IndexFunc(r.Findings, func(f diagnose.Finding) bool { return f.Object == tt.object })
				if i < 0 {
					t.Fatalf("nothing about %s: %+v", tt.object, r.Findings)
				}

				f := r.Findings[i]
				text := strings.Join(slices.Concat(f.Evidence, []string{f.Cause}, f.Remedies), "\n")
				if !strings.Contains(text, tt.says) || f.Cause == "" || len(f.Evidence) == 0 || len(f.Remedies) == 0 {
					t.Errorf("it does not say %q:\n%s", tt.says, text)
				}

				for _, id := range found(results) {
					if id != p.ID && !slices.Contains(together()[p.ID], id) {
						t.Errorf("%s is found too: %+v", id, results[id].Findings)
					}
				}
			})
		}
	}

	for id := range all {
		if !slices.ContainsFunc(diagnose.Probes(), func(p diagnose.Probe) bool { return p.ID == id }) {
			t.Errorf("the cases of %s are of no probe", id)
		}
	}
}

// TestCannotTell: a probe that lacks what it looks at says so, unless it finds something all the same.
func TestCannotTell(t *testing.T) {
	without := func(p *diagnose.Picture) {
		p.Missing[diagnose.Events] = diagnose.Lack{Why: "not permitted", Forbidden: true}
		p.Missing[diagnose.Services] = diagnose.Lack{Why: "not permitted", Forbidden: true}
		p.Services, p.EndpointSlices = nil, nil
	}
	results := run(t, without)
	if r := results["flannel-subnet-env"]; r.Verdict != diagnose.CannotTell || r.Why != "events: not permitted" {
		t.Errorf("without events: %s, %q", r.Verdict, r.Why)
	}

	if r := results["dns-service"]; r.Verdict != diagnose.CannotTell {
		t.Errorf("without Services: %s, %+v", r.Verdict, r.Findings)
	}
	if r := results["node-not-ready"]; r.Verdict != diagnose.OK {
		t.Errorf("nodes are there: %s", r.Verdict)
	}

	results = run(t, both(without, waiting("ErrImagePull", "no match for platform in manifest")))
	if r := results["image-platform"]; r.Verdict != diagnose.Found {
		t.Errorf("the pod's state says it: %s", r.Verdict)
	}
}

// TestManyPods: the evidence of one object stays short.
func TestManyPods(t *testing.T) {
	yes := true
	results := run(t, func(p *diagnose.Picture) {
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			p.Pods = append(p.Pods, pod("web-5d9c-"+name, "win-1", func(p *corev1.Pod) {
				p.Labels["pod-template-hash"] = "5d9c"
				p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-5d9c", Controller: &yes}}
			}))
			p.Events = append(p.Events, event("web-5d9c-"+name, "FailedCreatePodSandBox", strings.Repeat("x", 1000)+" no runtime for kata"))
		}
	})

	f := results["runtime-class"].Findings
	if len(f) != 1 || f[0].Object != "deployment default/web" || len(f[0].Evidence) != 4 || f[0].Evidence[3] != "and 2 more like it" {
		t.Fatalf("%+v", f)
	}
	if line := f[0].Evidence[0]; len(line) > 400 || !strings.HasSuffix(line, "no runtime for kata") {
		t.Errorf("%d bytes: %s", len(line), line)
	}
}
