package health_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/golden"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/cluster/health"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/spec"
)

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// dual makes the cluster one of both families.
func dual(o *health.Observed) {
	o.Spec.Networking.PodSubnet += ",fd00:10:244::/56"
	for i := range o.Nodes {
		six := corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "fd00:10:213::b"}
		o.Nodes[i].Status.Addresses = append(o.Nodes[i].Status.Addresses, six)
	}
}

// well returns a cluster in which all works.
func well() health.Observed {
	o := health.Observed{
		At:         at,
		Spec:       spec.Default([]string{"ltsc2022"}, false, ""),
		Data:       "/var/lib/mullion",
		HNS:        map[string]health.HNS{"win-1": {}},
		Disks:      []health.Disk{{Path: "/var/lib/mullion", Free: 20 << 30, Size: 100 << 30}},
		Supervisor: &supervisor.Status{PID: 100, Phase: supervisor.PhaseReady},
	}

	add := func(pid int, names ...string) {
		for _, n := range names {
			u := supervisor.UnitStatus{
				ID:      id(n),
				State:   component.Ready,
				Seconds: 1,
			}
			if pid != 0 {
				pid++
				u.PID, u.Probed = pid, true
			}

			o.Supervisor.Units = append(o.Supervisor.Units, u)
		}
	}
	add(0, "fabric", "certificates")
	add(100, "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "coredns", "containerd")
	add(0, "load-balancer", "network/win-1", "prefix/win-1")
	add(200, "host/win-1", "agent/win-1", "kubelet/win-1", "kube-proxy/win-1")
	add(0, "node/win-1", "network/linux-1", "host/linux-1")
	add(300, "containerd/linux-1", "kubelet/linux-1", "kube-proxy/linux-1")
	add(0, "node/linux-1")
	for name, after := range map[string][]string{
		"kube-apiserver":   {"etcd"},
		"coredns":          {"kube-apiserver"},
		"agent/win-1":      {"host/win-1"},
		"kubelet/win-1":    {"agent/win-1"},
		"kube-proxy/win-1": {"kubelet/win-1"},
	} {
		unit(&o, name).After = ids(after...)
	}

	o.Nodes = []corev1.Node{
		node("linux-1", corev1.NodeSystemInfo{
			OperatingSystem: "linux",
			OSImage:         "Debian GNU/Linux 12 (bookworm)",
			KernelVersion:   "6.12.1",
			KubeletVersion:  "v1.36.3",
		}, "10.213.0.11"),
		node("win-1", corev1.NodeSystemInfo{
			OperatingSystem: "windows",
			OSImage:         "Windows Server 2022 Datacenter",
			KernelVersion:   "10.0.20348.2762",
			KubeletVersion:  "v1.36.3",
		}, "10.213.0.12"),
	}

	o.Pods = []corev1.Pod{pod("web-1", "win-1"), pod("job-1", "linux-1")}
	o.Pods[1].Status.Phase = corev1.PodSucceeded
	return o
}

func node(name string, info corev1.NodeSystemInfo, address string) corev1.Node {
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{
			NodeInfo:  info,
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}},
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse},
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Message: "kubelet is posting ready status"},
			},
		},
	}
}

// pod returns a pod that is Ready, made an hour ago.
func pod(name, node string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         "default",
			Name:              name,
			CreationTimestamp: metav1.NewTime(at.Add(-time.Hour)),
		},
		Spec: corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
}

// id returns the ID of a text, which a test has written.
func id(text string) component.ID {
	read, err := component.ParseID(text)
	if err != nil {
		panic(err)
	}

	return read
}

func ids(texts ...string) []component.ID {
	var all []component.ID
	for _, text := range texts {
		all = append(all, id(text))
	}

	return all
}

// waits makes a pod wait for its container.
func waits(p corev1.Pod, reason, message string) corev1.Pod {
	p.Status.Phase = corev1.PodPending
	p.Status.Conditions = nil
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name:  "c",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	}}
	return p
}

func unit(o *health.Observed, name string) *supervisor.UnitStatus {
	for i := range o.Supervisor.Units {
		if o.Supervisor.Units[i].ID == id(name) {
			return &o.Supervisor.Units[i]
		}
	}
	panic(name)
}

// setReady changes the Ready condition of the node.
func setReady(o *health.Observed, i int, s corev1.ConditionStatus, message string) {
	c := &o.Nodes[i].Status.Conditions[1]
	c.Status, c.Message = s, message
}

// bare makes the Windows node a bare host.
func bare(o *health.Observed) {
	o.Spec.Nodes[1].Bare = true
	for _, part := range []string{"kubelet", "kube-proxy", "node"} {
		o.Supervisor.Units = slices.DeleteFunc(o.Supervisor.Units,
			func(u supervisor.UnitStatus) bool { return u.ID.String() == part+"/win-1" })
	}
}

func TestPictures(t *testing.T) {
	const win, linux = 1, 0
	for _, tt := range []struct {
		name   string
		want   health.State
		damage func(*health.Observed)
	}{
		{"healthy", health.Healthy, func(*health.Observed) {}},
		{"own-programs", health.Healthy, func(o *health.Observed) {
			o.Own = map[string][]string{"win-1": {"kubelet"}, "linux-1": {"kubelet", "kube-proxy"}}
		}},
		{"down", health.Down, func(o *health.Observed) {
			o.Supervisor = nil
			o.SupervisorError = "dial unix supervisor.sock: connection refused"
			o.APIError = "list nodes: connection refused"
			o.Nodes = nil
			o.Pods = nil
			o.HNS = map[string]health.HNS{"win-1": {Error: "no such file"}}
		}},
		{"hung-supervisor", health.Unhealthy, func(o *health.Observed) {
			o.Supervisor = nil
			o.SupervisorError = "context deadline exceeded"
			o.Locked = true
		}},
		{"starting", health.Starting, func(o *health.Observed) {
			o.Supervisor.Phase, o.APIError = supervisor.PhaseStarting, "list nodes: connection refused"
			o.Nodes, o.Pods = nil, nil
			for _, n := range []string{"kubelet/win-1", "kube-proxy/win-1", "node/win-1"} {
				unit(o, n).State = component.Waiting
			}
			unit(o, "coredns").State = component.Starting
		}},
		{"failed", health.Unhealthy, func(o *health.Observed) {
			o.Supervisor.Phase = supervisor.PhaseFailed
			o.Supervisor.Error = "start containerd: it ended"
			o.APIError = "list nodes: connection refused"
			u := unit(o, "containerd")
			u.State = component.Failed
			u.PID = 0
			u.Error = "process \"containerd\": it ended by itself: exit status 1; its last lines:\n  reading\n  containerd: no space left on device"
		}},
		{"etcd-dead", health.Unhealthy, func(o *health.Observed) {
			u := unit(o, "etcd")
			u.State = supervisor.Restarting
			u.PID = 0
			u.Restarts = 3
			u.Error = "process \"etcd\" (etcd): it ended by itself: signal: killed"
			unit(o, "kube-apiserver").Problem = "probe https://10.213.0.1:6443/readyz: 500: etcd failed"
			unit(o, "coredns").Problem = "not ready"
			o.APIError = "list nodes: context deadline exceeded"
			o.Nodes = nil
			o.Pods = nil
		}},
		{"agent-dead", health.Unhealthy, func(o *health.Observed) {
			unit(o, "agent/win-1").Problem = "it has not answered within 8s"
			unit(o, "kubelet/win-1").Problem = "Get \"http://127.0.0.1:10248/healthz\": context deadline exceeded"
			o.HNS["win-1"] = health.HNS{Error: "ask the node's agent: context deadline exceeded"}
			setReady(o, win, corev1.ConditionFalse, "container runtime is down")
		}},
		{"no-cni", health.Unhealthy, func(o *health.Observed) {
			o.Spec.Networking.DisableDefaultCNI = true
			agent := unit(o, "agent/win-1")
			agent.Reason = component.NoCNI
			agent.Problem = "the container runtime says that NetworkReady is false: NetworkPluginNotReady Network plugin " +
				"returns error: cni plugin not initialized"
			setReady(o, win, corev1.ConditionFalse,
				"container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized")
		}},
		{"halted", health.Unhealthy, func(o *health.Observed) {
			kubelet := unit(o, "kubelet/win-1")
			kubelet.Reason = component.Halted
			kubelet.Problem = "it was stopped by hand: the service kubelet of host win-1 does not run"
		}},
		{"policies", health.Healthy, func(o *health.Observed) {
			no := false
			o.Spec.Networking.NetworkPolicy, o.Policies = &no, 2
		}},
		{"policies-external", health.Healthy, func(o *health.Observed) {
			o.Spec.Networking.WindowsNetworkPolicy = spec.PolicyExternal
		}},
		{"ipv6", health.Healthy, func(o *health.Observed) {
			dual(o)
			o.WayOut6 = true
		}},
		{"ipv6-no-way-out", health.Healthy, dual},
		{"ipv6-unknown", health.Healthy, func(o *health.Observed) {
			dual(o)
			o.WayOut6Error = "list the machine's IPv6 routes: operation not permitted"
		}},
		{"cut-off", health.Unhealthy, func(o *health.Observed) {
			unit(
				o, "network/win-1").Problem = "the node does not reach the API server: dial tcp 10.213.0.1:6443: i/o timeout"
			setReady(o, win, corev1.ConditionUnknown, "Kubelet stopped posting node status.")
		}},
		{"lost-touch", health.Unhealthy, func(o *health.Observed) {
			setReady(o, linux, corev1.ConditionUnknown, "Kubelet stopped posting node status.")
		}},
		{"bare", health.Healthy, func(o *health.Observed) {
			bare(o)
			o.Nodes, o.Pods = o.Nodes[:1], o.Pods[1:]
			o.Supervisor.Units = append(o.Supervisor.Units, supervisor.UnitStatus{
				ID: id("control-plane-endpoint"), State: component.Ready, Note: "10.213.0.10:6443 leads to linux-2 (1)",
			})
		}},
		{"bare-stopped", health.Unhealthy, func(o *health.Observed) {
			bare(o)
			setReady(o, win, corev1.ConditionUnknown, "Kubelet stopped posting node status.")
		}},
		{"unregistered", health.Unhealthy, func(o *health.Observed) { o.Nodes = o.Nodes[:1]; o.Pods = o.Pods[1:] }},
		{"forwarder", health.Unhealthy, func(o *health.Observed) {
			o.APIError = "list nodes: connection refused"
			o.Nodes = nil
			o.Pods = nil
		}},
		{"other-machine", health.Healthy, func(o *health.Observed) {
			o.Nodes = append(o.Nodes, node("far", corev1.NodeSystemInfo{
				OperatingSystem: "windows",
				OSImage:         "Windows Server 2025 Datacenter",
				KernelVersion:   "10.0.26100.1",
			}, "192.0.2.7"))
		}},
		{"hns-differs", health.Healthy, func(
			o *health.Observed,
		) {
			o.HNS["win-1"] = health.HNS{Differences: []string{"bridge br0 is missing"}}
		}},
		{"disk-full", health.Unhealthy, func(o *health.Observed) {
			o.Disks[0].Free = 3 << 20
			o.Nodes[win].Status.Conditions[0].Status = corev1.ConditionTrue
			o.Nodes[win].Status.Conditions[0].Message = "kubelet has disk pressure"
			o.Nodes[linux].Spec.Unschedulable = true
		}},
		{"pods", health.Healthy, func(o *health.Observed) {
			yes := true
			for i := range 3 {
				p := waits(pod(fmt.Sprintf("front-abc-%d", i), "win-1"), "ImagePullBackOff",
					`Back-off pulling image "example.com/front:v9": not found`)
				p.Labels = map[string]string{"pod-template-hash": "abc"}
				p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "front-abc", Controller: &yes}}
				o.Pods = append(o.Pods, p)
			}

			crash := waits(pod("crash", "win-1"), "CrashLoopBackOff", "back-off 5m0s restarting failed container")
			code := uint32(0xC0000135)
			crash.Status.ContainerStatuses[0].RestartCount = 7
			crash.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
				ExitCode: int32(code),
				Reason:   "Error",
			}

			crash.Namespace = "shop"
			placed := pod("nowhere", "")
			placed.Status.Phase = corev1.PodPending
			placed.Status.Conditions = []corev1.PodCondition{{
				Type:    corev1.PodScheduled,
				Status:  corev1.ConditionFalse,
				Reason:  "Unschedulable",
				Message: "0/2 nodes are available",
			}}

			wrong := pod("wrong-os", "linux-1")
			wrong.Status = corev1.PodStatus{
				Phase:   corev1.PodFailed,
				Reason:  "PodOSNotSupported",
				Message: "Pod was rejected: Failed to admit pod as the OS field doesn't match node OS",
			}

			young := waits(pod("young", "win-1"), "ContainerCreating", "")
			young.CreationTimestamp = metav1.NewTime(at.Add(-10 * time.Second))
			late := waits(pod("late", "win-1"), "ContainerCreating", "")
			unready := pod("unready", "win-1")
			unready.Status.Conditions[0].Status = corev1.ConditionFalse
			unready.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name:  "c",
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
			}}

			o.Pods = append(o.Pods, crash, placed, wrong, young, late, unready)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := well()
			tt.damage(&o)
			p := health.Judge(o)
			if p.State != tt.want {
				t.Errorf("state = %s, want %s", p.State, tt.want)
			}

			var text strings.Builder
			if err := p.Text(&text); err != nil {
				t.Fatal(err)
			}
			golden.Assert(t, text.String(), tt.name+".txt")
		})
	}
}

func TestJSON(t *testing.T) {
	o := well()
	unit(&o, "kube-proxy/win-1").Problem = "connection refused"
	text, err := json.MarshalIndent(health.Judge(o), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Assert(t, string(text)+"\n", "picture.json")
}
