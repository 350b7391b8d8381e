package diagnose_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/diagnose"
)

// seenAt is when the pictures of these tests were made.
var seenAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// healthy returns a cluster with a Linux node and the Windows nodes win-1 and win-2, on which pod web serves, without
// troubles.
func healthy() *diagnose.Picture {
	yes := true
	p := &diagnose.Picture{
		At:      seenAt,
		Version: "v1.37.1",
		Nodes: []corev1.Node{
			node("linux-1", "linux", "10.0.0.1", "10.244.0.0/24"),
			node("win-1", "windows", "10.0.0.2", "10.244.1.0/24"),
			node("win-2", "windows", "10.0.0.3", "10.244.2.0/24"),
		},
		Pods: []corev1.Pod{pod("web", "win-1", func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		})},
		Services: []corev1.Service{
			service("default", "kubernetes", "10.96.0.1", nil, intstr.FromInt(6443)),
			service("kube-system", "kube-dns", "10.96.0.10", nil, intstr.FromInt(53)),
			service("default", "web", "10.96.0.20", map[string]string{"app": "web"}, intstr.FromString("http")),
		},
		Kubelets: map[string]diagnose.Kubelet{"win-1": {ClusterDNS: []string{"10.96.0.10"}}},
		Facts:    map[string]diagnose.NodeFacts{},
		Missing:  map[diagnose.Need]diagnose.Lack{},
	}

	for _, name := range []string{"default/web", "kube-system/kube-dns"} {
		namespace, service, _ := strings.Cut(name, "/")
		p.EndpointSlices = append(p.EndpointSlices, discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace,
				Labels:    map[string]string{discoveryv1.LabelServiceName: service},
			},
			Endpoints: []discoveryv1.Endpoint{{Conditions: discoveryv1.EndpointConditions{Ready: &yes}}},
		})
	}

	return p
}

func node(name, system, address, cidr string) corev1.Node {
	n := corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      map[string]string{corev1.LabelOSStable: system, corev1.LabelHostname: name},
			Annotations: map[string]string{},
		},
		Spec: corev1.NodeSpec{PodCIDR: cidr},
		Status: corev1.NodeStatus{
			NodeInfo: corev1.NodeSystemInfo{
				OperatingSystem:         system,
				KubeletVersion:          "v1.37.1",
				ContainerRuntimeVersion: "containerd://2.1.0",
			},
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: address}, {Type: corev1.NodeHostName, Address: name},
			},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}

	if system == "windows" {
		n.Labels[corev1.LabelWindowsBuild] = "10.0.20348"
		n.Status.NodeInfo.KernelVersion, n.Status.NodeInfo.OSImage = "10.0.20348.2762", "Windows Server 2022 Datacenter"
	}
	return n
}

// pod returns a pod for Windows that is not Ready.
func pod(name, on string, change func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default",
			Name:      name,
			UID:       "uid-of-" + "pod",
			Labels:    map[string]string{"app": name},
		},
		Spec: corev1.PodSpec{
			NodeName:     on,
			NodeSelector: map[string]string{corev1.LabelOSStable: "windows"},
			Containers: []corev1.Container{{
				Name: "c", Image: "example.com/app:v1", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 80}},
			}},
		},
	}

	if change != nil {
		change(&p)
	}
	return p
}

func service(namespace, name, address string, selector map[string]string, target intstr.IntOrString) corev1.Service {
	return corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.ServiceSpec{
			ClusterIP: address,
			Selector:  selector,
			Ports:     []corev1.ServicePort{{Port: 80, TargetPort: target}},
		},
	}
}

// event returns an event about pod default/name.
func event(name, reason, message string) corev1.Event {
	return corev1.Event{
		InvolvedObject: corev1.ObjectReference{
			Kind:      "Pod",
			Namespace: "default",
			Name:      name,
		},
		Reason:  reason,
		Message: message,
		Count:   3,
	}
}

// broken returns a pod that is not Ready on win-1, with an event.
func broken(reason, message string) func(*diagnose.Picture) {
	return func(p *diagnose.Picture) {
		p.Pods = append(p.Pods, pod("bad", "win-1", nil))
		p.Events = append(p.Events, event("bad", reason, message))
	}
}

// waiting returns a pod on win-1 whose container waits.
func waiting(reason, message string) func(*diagnose.Picture) {
	return withPod(func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name:  "c",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}
	})
}

// withPod adds pod bad on win-1.
func withPod(change func(*corev1.Pod)) func(*diagnose.Picture) {
	return func(p *diagnose.Picture) { p.Pods = append(p.Pods, pod("bad", "win-1", change)) }
}

func withNode(name string, change func(*corev1.Node)) func(*diagnose.Picture) {
	return func(p *diagnose.Picture) {
		for i := range p.Nodes {
			if p.Nodes[i].Name == name {
				change(&p.Nodes[i])
			}
		}
	}
}

func withLog(text string) func(*diagnose.Picture) {
	return func(p *diagnose.Picture) {
		p.Logs = append(p.Logs, diagnose.Log{
			Node:      "win-1",
			Pod:       "kube-system/kube-proxy-windows-x",
			Container: "kube-proxy",
			Text:      text,
		})
	}
}

func withFacts(facts diagnose.NodeFacts) func(*diagnose.Picture) {
	return func(p *diagnose.Picture) { p.Facts["win-1"] = facts }
}

func notReady(message string, status corev1.ConditionStatus) func(*diagnose.Picture) {
	return withNode("win-1", func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: status, Reason: "KubeletNotReady", Message: message,
			LastHeartbeatTime: metav1.NewTime(seenAt.Add(-2 * time.Minute)),
		}}
	})
}

func hostProcess(env ...corev1.EnvVar) func(*corev1.Pod) {
	yes := true
	return func(p *corev1.Pod) {
		p.Spec.HostNetwork = true
		p.Spec.SecurityContext = &corev1.PodSecurityContext{
			WindowsOptions: &corev1.WindowsSecurityContextOptions{HostProcess: &yes},
		}
		p.Spec.Containers[0].Env = env
	}
}

func both(all ...func(*diagnose.Picture)) func(*diagnose.Picture) {
	return func(p *diagnose.Picture) {
		for _, one := range all {
			one(p)
		}
	}
}

func policy(p *diagnose.Picture) {
	deny := networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "deny"}}
	p.NetworkPolicies = []networkingv1.NetworkPolicy{deny}
}

func flannel(name, kind, data, ip string) func(*diagnose.Picture) {
	return withNode(name, func(n *corev1.Node) {
		n.Annotations["flannel.alpha.coreos.com/backend-type"] = kind
		n.Annotations["flannel.alpha.coreos.com/backend-data"] = data
		n.Annotations["flannel.alpha.coreos.com/public-ip"] = ip
	})
}

func cni(text string) func(*diagnose.Picture) {
	return func(p *diagnose.Picture) {
		p.ConfigMaps = []corev1.ConfigMap{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-flannel", Name: "kube-flannel-windows-cfg"},
			Data:       map[string]string{"cni-conf.json": text},
		}}
	}
}

// silent are two pods of win-1 that do not answer their probes.
func silent(p *diagnose.Picture) {
	p.Pods = nil
	for _, name := range []string{"a", "b"} {
		p.Pods = append(p.Pods, pod(name, "win-1", func(p *corev1.Pod) {
			p.Status.PodIP = "10.244.1.7"
			p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{
				ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{}},
			}
		}))
		p.Events = append(p.Events, event(name, "Unhealthy", "Readiness probe failed: dial tcp 10.244.1.7:80: i/o timeout"))
	}
}

func gmsa(spec string) func(*corev1.Pod) {
	name := "webapp"
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{
			WindowsOptions: &corev1.WindowsSecurityContextOptions{
				GMSACredentialSpecName: &name,
				GMSACredentialSpec:     &spec,
			},
		}
	}
}

func ended(code int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", LastTerminationState: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code},
		}}}
	}
}

func unschedulable(change func(*corev1.Pod)) func(*diagnose.Picture) {
	return func(p *diagnose.Picture) {
		p.Pods = append(p.Pods, pod("bad", "", func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{
				Type:    corev1.PodScheduled,
				Status:  corev1.ConditionFalse,
				Reason:  "Unschedulable",
				Message: "0/3 nodes are available",
			}}
			change(p)
		}))
	}
}

func daemonSet(change func(*corev1.Pod)) func(*corev1.Pod) {
	yes := true
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "agent", Controller: &yes}}
		p.Spec.NodeSelector = nil
		if change != nil {
			change(p)
		}
	}
}

// run returns the findings of all probes by id.
func run(t *testing.T, change func(*diagnose.Picture)) map[string]diagnose.Result {
	t.Helper()
	p := healthy()
	if change != nil {
		change(p)
	}
	out := map[string]diagnose.Result{}
	for _, r := range diagnose.Run(diagnose.Probes(), p) {
		out[r.Probe.ID] = r
	}
	return out
}

// found returns the ids of the probes that found something.
func found(results map[string]diagnose.Result) []string {
	var ids []string
	for id, r := range results {
		if r.Verdict == diagnose.Found {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func TestProbesAreWhole(t *testing.T) {
	if err := diagnose.Validate(diagnose.Probes()); err != nil {
		t.Fatal(err)
	}

	const items = 16
	for item := 1; item <= items; item++ {
		has := func(p diagnose.Probe) bool { return slices.Contains(p.Items, item) }
		if !slices.ContainsFunc(diagnose.Probes(), has) {
			t.Errorf("no probe is of item %d of the documents", item)
		}
	}

	for name, p := range map[string]diagnose.Probe{
		"no id":     {},
		"an id":     {ID: "Not Kebab"},
		"no text":   {ID: "a-probe"},
		"no source": {ID: "a-probe", Title: "t", Looks: "l", Cause: "c", Remedies: []string{"r"}, Source: diagnose.Source{Heading: "h"}},
	} {
		if diagnose.Validate([]diagnose.Probe{p}) == nil {
			t.Errorf("%s: no error", name)
		}
	}

	if diagnose.Validate(append(diagnose.Probes(), diagnose.Probes()[0])) == nil {
		t.Error("two probes of one id: no error")
	}
}

func TestNothingIsFound(t *testing.T) {
	yes := true
	for name, change := range map[string]func(*diagnose.Picture){
		"in a healthy cluster": nil,
		"in an empty cluster":  func(p *diagnose.Picture) { *p = diagnose.Picture{} },
		"on Linux nodes": both(withNode("linux-1", func(n *corev1.Node) { n.Status.Conditions = nil }),
			func(p *diagnose.Picture) {
				p.Pods = append(p.Pods, pod("bad", "linux-1", ended(-1073741515)))
				p.Events = append(p.Events, event("bad", "FailedCreatePodSandBox", "open /run/flannel/subnet.env: no such file"))
			}),
		"of pods that are Ready": func(p *diagnose.Picture) {
			p.Events = append(p.Events, event("web", "FailedCreatePodSandBox", "open /run/flannel/subnet.env: no such file"))
		},
		"of pods that went before": func(p *diagnose.Picture) {
			e := event("bad", "FailedCreatePodSandBox", "open /run/flannel/subnet.env: no such file")
			e.InvolvedObject.UID = "another"
			p.Events = append(p.Events, e)
			p.Pods = append(p.Pods, pod("bad", "win-1", nil))
		},
		"of pods that are done": withPod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded; ended(-1073741515)(p) }),
		"where ping is a pause": withPod(func(p *corev1.Pod) {
			p.Spec.Containers[0].Command = []string{"cmd", "/c", "ping -n 30 127.0.0.1 >nul & ping.exe -n 5 localhost"}
		}),
		"where a word has ping in it": withPod(func(p *corev1.Pod) {
			p.Spec.Containers[0].Command = []string{"shipping.exe", "mapping file", "--ping 3"}
		}),
		"where one of two pods does not answer": both(silent, func(p *diagnose.Picture) { p.Events = p.Events[:1] }),
		"where an exception list is right": cni(
			`{"plugins":[{"policies":[{"Value":{"ExceptionList":["10.244.0.0/16","10.96.0.0/12","10.0.0.0/24"]}}]}]}`),
		"where a file is no JSON": cni(`{"ExceptionList": [`),
		"where an exit code is 1": withPod(ended(1)),
		"where GMSA's spec is there": both(withPod(gmsa("{}")),
			func(p *diagnose.Picture) { p.GMSASpecs = []string{"webapp"} }),
		"where kube-proxy waited, and goes on": withLog("Waiting for the Network to be created\nUsing Kernelspace Proxier.\n"),
		"where a log is empty":                 withLog(""),
		"where kube-proxy is given its name": both(withNode("win-1", func(n *corev1.Node) { n.Labels[corev1.LabelHostname] = "other" }),
			withPod(func(p *corev1.Pod) {
				p.Name = "kube-proxy-windows-x"
				p.Spec.Containers[0].Args = []string{"--hostname-override=$(NODE_NAME)"}
			})),
		"where flannel's annotations go together": both(flannel("linux-1", "vxlan", `{"VNI":4096,"VtepMAC":"aa:01"}`, "10.0.0.1"),
			flannel("win-1", "vxlan", `{"VNI":4096,"VtepMAC":"aa:02"}`, "10.0.0.2"),
			flannel("win-2", "vxlan", `{"VNI":4096,"VtepMAC":"aa:03"}`, "10.0.0.3")),
		"where a policy selects no pod on a node of flannel's": policy,
		"where a HostProcess pod asks elsewhere":               withPod(hostProcess(corev1.EnvVar{Name: "A", Value: "http://10.96.0.201/ web.default.svcx"})),
		"where a Service has no selector": func(p *diagnose.Picture) {
			p.Services = append(p.Services, service("default", "outside", "10.96.0.30", nil, intstr.FromString("x")))
		},
		"where a Service shows pods that are not Ready": func(p *diagnose.Picture) {
			p.EndpointSlices = p.EndpointSlices[1:]
			p.Services[2].Spec.PublishNotReadyAddresses = yes
		},
		"where clusterDNS is a cache on the node": func(p *diagnose.Picture) {
			p.Kubelets["win-1"] = diagnose.Kubelet{ClusterDNS: []string{"169.254.20.10"}}
		},
		"where a node that kube-proxy knew was deleted": func(p *diagnose.Picture) {
			for _, by := range []string{"kube-proxy", "kubelet"} {
				p.Events = append(p.Events, corev1.Event{
					InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "gone"}, ReportingController: by,
				})
			}
		},
		"where another node was asked for": both(notReady("cni plugin not initialized", corev1.ConditionFalse),
			func(p *diagnose.Picture) { p.Chosen = []string{"win-2"} }),
		"where a pod of a Linux DaemonSet is Ready": func(p *diagnose.Picture) {
			p.Pods = append(p.Pods, pod("agent-x", "win-1", daemonSet(func(p *corev1.Pod) {
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			})))
		},
	} {
		t.Run(name, func(t *testing.T) {
			results := run(t, change)
			if ids := found(results); len(ids) > 0 {
				t.Errorf("found %v: %+v", ids, results[ids[0]].Findings)
			}
		})
	}
}

// hostile is what an API server of others may say anywhere.
const hostile = "\x1b[31m\nred\xff\u202e" + `{"ExceptionList":[{"a":1}]}`

func TestHostilePictures(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	run(t, func(p *diagnose.Picture) {
		for i := range p.Nodes {
			n := &p.Nodes[i]
			n.Spec.PodCIDR = hostile
			n.Status.NodeInfo.KubeletVersion, n.Status.NodeInfo.KernelVersion = "v1.99999999999999999999", "10.0."
			n.Status.NodeInfo.ContainerRuntimeVersion = "containerd://v1."
			flannel(n.Name, "vxlan", hostile, hostile)(p)
		}

		p.Version = hostile
		p.Pods = append(p.Pods, pod(hostile, hostile, hostProcess()))
		p.Events = append(p.Events, event(hostile, hostile, strings.Repeat(hostile, 1000)), corev1.Event{})
		p.Kubelets["win-1"] = diagnose.Kubelet{ClusterDNS: []string{hostile, ""}}
		p.Facts["win-1"] = diagnose.NodeFacts{
			Processes: []string{"", hostile, `"`}, Files: map[string]string{"subnet.env": "FLANNEL_SUBNET=" + hostile},
		}
		p.Services = append(p.Services, service("default", "kubernetes", hostile, nil, intstr.FromString(hostile)))
		cni(hostile)(p)
	})
}
