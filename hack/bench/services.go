package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cluster"
)

const (
	services = 5000
	backends = 4  // of each Service; each address is another pod's
	writers  = 16 // at once, to the API

	// betweenSyncs is how long kube-proxy rests after a synchronisation by default (--iptables-min-sync-period, which
	// kernelspace mode uses too). A change waits until then, so changes are made only after it.
	betweenSyncs = time.Second

	steeredPort = 31999

	// asksEvery is the precision of a change's time. More questions would take too much processor time: each costs a
	// program under Wine some milliseconds.
	asksEvery = 25 * time.Millisecond
)

// proxySpec has only one node: each kube-proxy of a cluster carries out every change, and here all of them would share
// the processors of one machine.
const proxySpec = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-bench-proxy
networking: {underlaySubnet: 10.215.0.0/24, podSubnet: 10.246.0.0/16, serviceSubnet: 10.98.0.0/16}
nodes: [{windowsVersion: ltsc2022}]
`

// steeredPods returns the pods that the endpoint changes between.
func steeredPods() []string { return []string{"steered-1", "steered-2"} }

// proxy takes the cluster down and measures kube-proxy.exe with many Services in a cluster of its own: the first
// synchronisation after a start, and how soon a change of one endpoint reaches packets. The latter includes the API's
// own time.
func (b *bench) proxy(ctx context.Context) ([]figure, error) {
	first := figure{
		what:  fmt.Sprintf("first sync of kube-proxy.exe, %d Services × %d endpoints", services, backends),
		asked: "≤ 60 s",
		unit:  "s",
	}

	if err := b.mullion(ctx, "", "down", "--kubeconfig", "none"); err != nil {
		return nil, err
	}
	if err := b.mullion(ctx, proxySpec, "up", "-f", "-", "--kubeconfig", "none"); err != nil {
		return nil, err
	}
	if err := b.image(ctx); err != nil {
		return nil, err
	}

	client, err := b.client()
	if err != nil {
		return nil, err
	}
	if err := b.steered(ctx, client); err != nil {
		return nil, err
	}

	alone, err := b.changes(ctx, client, "with no other Services")
	if err != nil {
		return alone, err
	}
	if err := fill(ctx, client); err != nil {
		return alone, err
	}

	for range min(b.runs, 2) { // each takes long
		s, err := b.firstSync(ctx)
		if err != nil {
			return alone, err
		}
		first.values = append(first.values, s)
	}

	crowded, err := b.changes(ctx, client,
		fmt.Sprintf("among %d Services with %d endpoints", services, services*backends))
	return append(append([]figure{first}, alone...), crowded...), err
}

// steered makes the two pods and a Service whose endpoints changes sets.
func (b *bench) steered(ctx context.Context, client kubeclient.Interface) error {
	var pods strings.Builder
	for _, name := range steeredPods() {
		pods.WriteString(fmt.Sprintf(podSpec, name) + "\n")
	}

	if err := b.mullion(ctx, pods.String(), "kubectl", "create", "-f", "-"); err != nil {
		return err
	}
	if err := b.mullion(ctx, "", "kubectl", "wait", "--for=condition=Ready", "pod/"+steeredPods()[0],
		"pod/"+steeredPods()[1], "--timeout=120s"); err != nil {
		return err
	}

	_, err := client.CoreV1().Services("default").Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "steered"},
		Spec: corev1.ServiceSpec{
			Type:  corev1.ServiceTypeNodePort,
			Ports: []corev1.ServicePort{{Port: 80, NodePort: steeredPort}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}

	_, err = client.DiscoveryV1().EndpointSlices("default").Create(ctx, slice("steered", nil), metav1.CreateOptions{})
	return err
}

func slice(service string, addresses []string) *discoveryv1.EndpointSlice {
	name := ""
	port := int32(80)
	tcp := corev1.ProtocolTCP
	ready := true
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name:   service + "-1",
			Labels: map[string]string{discoveryv1.LabelServiceName: service},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &tcp}},
	}

	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{a},
			Conditions: discoveryv1.EndpointConditions{Ready: &ready},
		})
	}

	return s
}

// changes sends the Service to the two pods in turn, and measures the time from the API's answer to the new pod's first
// answer. Beside it stand the time that kube-proxy.exe reports for it, and its processor time.
func (b *bench) changes(ctx context.Context, client kubeclient.Interface, among string) ([]figure, error) {
	all := figure{
		what:  "one endpoint changed until packets follow, " + among,
		asked: "≤ 1 s",
		unit:  "s",
	}

	sync := figure{what: "of which: kube-proxy.exe's synchronisation, by its own count", unit: "s"}
	cpu := figure{what: "processor time of kube-proxy.exe meanwhile", unit: "s"}
	node, err := client.CoreV1().Nodes().Get(ctx, "win-1", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}

	pid, err := b.proxyPID()
	if err != nil {
		return nil, err
	}

	address := net.JoinHostPort(node.Status.Addresses[0].Address, strconv.Itoa(steeredPort))
	for i := range b.runs*2 + 1 {
		if err := pause(ctx, betweenSyncs+200*time.Millisecond); err != nil {
			return nil, err
		}
		before, err := b.proxySyncs(ctx)
		if err != nil {
			return nil, err
		}

		used := processorTime(pid)
		started, err := b.steer(ctx, client, steeredPods()[i%2], address)
		if err != nil {
			return []figure{all, sync, cpu}, err
		}

		took := time.Since(started).Seconds()
		cost := processorTime(pid) - used
		after, err := b.proxySyncs(ctx)
		if err != nil {
			return nil, err
		}

		if i > 0 { // the first sees the Service made
			all.values, cpu.values = append(all.values, took), append(cpu.values, cost)
			if n := after.count - before.count; n > 0 {
				sync.values = append(sync.values, (after.sum-before.sum)/n)
			}
		}
	}

	return []figure{all, sync, cpu}, nil
}

// steer makes a pod the Service's only endpoint, waits until it answers, and returns the time at which the API had
// accepted the change.
func (b *bench) steer(ctx context.Context, client kubeclient.Interface, name, address string) (time.Time, error) {
	pod, err := client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return time.Time{}, err
	}
	to := slice("steered", []string{pod.Status.PodIP})
	to.Endpoints[0].NodeName = &pod.Spec.NodeName
	if _, err := client.DiscoveryV1().EndpointSlices("default").Update(ctx, to, metav1.UpdateOptions{}); err != nil {
		return time.Time{}, err
	}

	started := time.Now()
	if err := until(ctx, 2*time.Minute, asksEvery, func() bool { return answers(address, name) }); err != nil {
		return started, fmt.Errorf("wait for %s to answer at %s: %w", name, address, err)
	}

	return started, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// processorTime returns what a process took of the processors, in seconds; fields 14 and 15 of proc_pid_stat(5), 100 a
// second.
func processorTime(pid int) float64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}

	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var ticks float64
	for _, i := range []int{11, 12} {
		if i < len(fields) {
			n, _ := strconv.ParseFloat(fields[i], 64)
			ticks += n
		}
	}

	return ticks / 100
}

func (b *bench) proxySyncs(ctx context.Context) (synced, error) {
	metrics, err := cluster.ProxyEndpoint(ctx, b.paths(), "win-1", "/metrics")
	return syncs(metrics), err
}

func answers(address, name string) bool {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + address + "/")
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return err == nil && bytes.Contains(text, []byte(name))
}

func until(ctx context.Context, within, every time.Duration, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}

	return nil
}

// fill makes the Services, each with endpoints on other nodes.
func fill(ctx context.Context, client kubeclient.Interface) error {
	var wg sync.WaitGroup
	errs := make(chan error, services)
	work := make(chan int)
	for range writers {
		wg.Go(func() {
			for i := range work {
				errs <- makeService(ctx, client, i)
			}
		})
	}

	for i := range services {
		work <- i
	}

	close(work)
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}

	return nil
}

func makeService(ctx context.Context, client kubeclient.Interface, i int) error {
	name := fmt.Sprintf("crowd-%d", i)
	_, err := client.CoreV1().Services("default").Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(80)}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}

	var addresses []string
	for n := range backends {
		k := i*backends + n
		addresses = append(addresses, netip.AddrFrom4([4]byte{10, 246, byte(100 + k/250), byte(2 + k%250)}).String())
	}

	_, err = client.DiscoveryV1().EndpointSlices("default").Create(ctx, slice(name, addresses), metav1.CreateOptions{})
	return err
}

// firstSync kills kube-proxy.exe of a node, which its service starts again, and returns the seconds of its first
// synchronisation.
func (b *bench) firstSync(ctx context.Context) (float64, error) {
	pid, err := b.proxyPID()
	if err != nil {
		return 0, err
	}

	p, err := os.FindProcess(pid)
	if err != nil {
		return 0, err
	}
	if err := p.Kill(); err != nil {
		return 0, err
	}

	var seconds, count float64
	err = until(ctx, 20*time.Minute, time.Second/4, func() bool {
		now, err := b.proxyPID()
		if err != nil || now == pid {
			return false
		}
		metrics, err := cluster.ProxyEndpoint(ctx, b.paths(), "win-1", "/metrics")
		if err != nil {
			return false
		}

		done := syncs(metrics)
		seconds, count = done.sum, done.count
		return count > 0
	})
	if err == nil && count > 1 {
		err = fmt.Errorf("kube-proxy.exe was seen after %v synchronisations, and its first alone was to be measured", count)
	}

	return seconds, err
}

// proxyPID returns the process of kube-proxy.exe itself. What the cluster tells of the part is its service's process.
func (b *bench) proxyPID() (int, error) {
	s, err := b.status()
	if err != nil {
		return 0, err
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}

	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil {
			continue // it is gone
		}
		of, err := os.ReadFile(filepath.Join(dir, "cgroup"))
		if err != nil || !strings.Contains(string(of), s.CgroupParent+"@own/") {
			continue
		}
		if bytes.HasPrefix(line, []byte(`C:\k\kube-proxy.exe`)) {
			return strconv.Atoi(filepath.Base(dir))
		}
	}

	return 0, errors.New("no kube-proxy.exe of the cluster runs")
}

// synced are the seconds and the number of kube-proxy's synchronisations of IPv4.
type synced struct{ sum, count float64 }

func syncs(metrics []byte) (s synced) {
	lines := bufio.NewScanner(bytes.NewReader(metrics))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if !strings.Contains(name, `ip_family="IPv4"`) {
			continue
		}

		v, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil:
		case strings.HasPrefix(name, "kubeproxy_sync_proxy_rules_duration_seconds_sum"):
			s.sum = v
		case strings.HasPrefix(name, "kubeproxy_sync_proxy_rules_duration_seconds_count"):
			s.count = v
		}
	}

	return s
}
