// Package gather makes the picture of a cluster that package diagnose looks at, from what the cluster's API server
// answers. It only reads: it changes nothing in the cluster. What it may not read is named in the picture.
package gather

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/diagnose"
)

// pageSize is how many objects are asked for at once: it bounds the memory of an answer.
const pageSize = 500

// UnknownNodeError says that a node that was asked for is not there, or is no Windows node.
type UnknownNodeError struct {
	Node string
	// Linux says that it is there, and of the other system.
	Linux bool
}

func (e *UnknownNodeError) Error() string {
	if e.Linux {
		return fmt.Sprintf("node %q is not a Windows node", e.Node)
	}
	return fmt.Sprintf("the cluster has no node %q", e.Node)
}

// Picture asks the API server. chosen are the names of the Windows nodes to look at; none: all. An error says that
// nothing can be said of the cluster; what else could not be read is in the picture.
func Picture(ctx context.Context, client kubeclient.Interface, chosen []string) (*diagnose.Picture, error) {
	p := &diagnose.Picture{
		At:       time.Now(),
		Chosen:   chosen,
		Kubelets: map[string]diagnose.Kubelet{},
		Facts:    map[string]diagnose.NodeFacts{},
		Missing:  map[diagnose.Need]diagnose.Lack{},
	}

	version, err := client.ServerVersion(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the API server for its version: %w", err)
	}

	p.Version = version.GitVersion
	p.Nodes, err = list(ctx, func(ctx context.Context, o metav1.ListOptions) ([]corev1.Node, string, error) {
		l, err := client.CoreV1().Nodes().List(ctx, o)
		return l.Items, l.Continue, err
	})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}

	for _, name := range chosen {
		if err := known(p.Nodes, name); err != nil {
			return nil, err
		}
	}

	objects(ctx, client, p)
	networkConfigMaps(ctx, client, p)
	credentialSpecs(ctx, client, p)
	logs(ctx, client, p)
	kubelets(ctx, client, p)

	return p, ctx.Err()
}

// known returns an error if there is no Windows node of that name.
func known(nodes []corev1.Node, name string) error {
	for i := range nodes {
		if nodes[i].Name == name {
			if !diagnose.IsWindows(&nodes[i]) {
				return &UnknownNodeError{Node: name, Linux: true}
			}
			return nil
		}
	}
	return &UnknownNodeError{Node: name}
}

// list reads all pages of a list.
func list[T any](ctx context.Context,
	page func(context.Context, metav1.ListOptions) ([]T, string, error),
) ([]T, error) {
	var all []T
	for o := (metav1.ListOptions{Limit: pageSize}); ; {
		items, next, err := page(ctx, o)
		switch {
		case err != nil && o.Limit != 0 && o.Continue != "" && apierrors.IsResourceExpired(err): // anew, in one piece
			all, o = nil, metav1.ListOptions{}
			continue
		case err != nil:
			return nil, err
		}

		all = append(all, items...)
		if next == "" {
			return all, nil
		}
		o.Continue = next
	}
}

// objects reads the lists.
func objects(ctx context.Context, client kubeclient.Interface, p *diagnose.Picture) {
	var err error
	missing := func(n diagnose.Need) {
		if err != nil {
			miss(p, n, err)
		}
	}

	p.Pods, err = list(ctx, func(ctx context.Context, o metav1.ListOptions) ([]corev1.Pod, string, error) {
		l, err := client.CoreV1().Pods("").List(ctx, o)
		return l.Items, l.Continue, err
	})
	missing(diagnose.Pods)
	p.Events, err = list(ctx, func(ctx context.Context, o metav1.ListOptions) ([]corev1.Event, string, error) {
		l, err := client.CoreV1().Events("").List(ctx, o)
		return l.Items, l.Continue, err
	})
	missing(diagnose.Events)
	p.Services, err = list(ctx, func(ctx context.Context, o metav1.ListOptions) ([]corev1.Service, string, error) {
		l, err := client.CoreV1().Services("").List(ctx, o)
		return l.Items, l.Continue, err
	})
	missing(diagnose.Services)
	p.EndpointSlices, err = list(ctx,
		func(ctx context.Context, o metav1.ListOptions) ([]discoveryv1.EndpointSlice, string, error) {
			l, err := client.DiscoveryV1().EndpointSlices("").List(ctx, o)
			return l.Items, l.Continue, err
		})
	missing(diagnose.EndpointSlices)
	p.NetworkPolicies, err = list(ctx,
		func(ctx context.Context, o metav1.ListOptions) ([]networkingv1.NetworkPolicy, string, error) {
			l, err := client.NetworkingV1().NetworkPolicies("").List(ctx, o)
			return l.Items, l.Continue, err
		})
	missing(diagnose.NetworkPolicies)
}

// miss says why the picture lacks a part. What went wrong counts more than what may not be read.
func miss(p *diagnose.Picture, n diagnose.Need, wrong ...error) {
	if before, missing := p.Missing[n]; missing && !before.Forbidden {
		return
	}
	p.Missing[n] = lack(wrong...)
}

// lack returns why a part could not be had. It is forbidden where that is all that was wrong.
func lack(wrong ...error) diagnose.Lack {
	l := diagnose.Lack{Why: errors.Join(wrong...).Error(), Forbidden: true}
	for _, err := range wrong {
		l.Forbidden = l.Forbidden && apierrors.IsForbidden(err)
	}
	if l.Forbidden {
		l.Why = "not permitted: " + l.Why
	}

	return l
}

// configMaps returns the ones that kube-proxy and flannel are configured by: kubeadm's, flannel's and SIG Windows'
// manifests (https://github.com/kubernetes-sigs/sig-windows-tools/tree/master/hostprocess) name them so.
func configMaps() []struct{ namespace, name string } {
	return []struct{ namespace, name string }{
		{"kube-system", "kube-proxy"},
		{"kube-system", "kube-proxy-windows"},
		{"kube-system", "windows-kubeproxy-ci"},
		{"kube-flannel", "kube-flannel-cfg"},
		{"kube-flannel", "kube-flannel-windows-cfg"},
		{"kube-system", "kube-flannel-cfg"},
		{"kube-system", "kube-flannel-windows-cfg"},
	}
}

func networkConfigMaps(ctx context.Context, client kubeclient.Interface, p *diagnose.Picture) {
	for _, m := range configMaps() {
		got, err := client.CoreV1().ConfigMaps(m.namespace).Get(ctx, m.name, metav1.GetOptions{})
		switch {
		case err == nil:
			p.ConfigMaps = append(p.ConfigMaps, *got)
		case !apierrors.IsNotFound(err):
			miss(p, diagnose.ConfigMaps, err)
		}
	}
}

// credentialSpecs reads the names of GMSACredentialSpecs
// (https://kubernetes.io/docs/tasks/configure-pod-container/configure-gmsa/).
func credentialSpecs(ctx context.Context, client kubeclient.Interface, p *diagnose.Picture) {
	text, err := client.RESTClient().Get().AbsPath("/apis/windows.k8s.io/v1/gmsacredentialspecs").DoRaw(ctx)
	if apierrors.IsNotFound(err) {
		p.NoGMSA = true
		return
	}

	var all metav1.PartialObjectMetadataList
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		miss(p, diagnose.GMSASpecs, err)
		return
	}

	for _, one := range all.Items {
		p.GMSASpecs = append(p.GMSASpecs, one.Name)
	}
}

// networkPods matches the names of pods whose logs are read.
var networkPods = lazyregexp.New(`kube-?proxy|flannel`)

// The most that is read of a log.
const (
	logLines = 200
	logBytes = 64 << 10
)

// logs reads the ends of the logs of network pods on Windows nodes, of a container that has ended too.
func logs(ctx context.Context, client kubeclient.Interface, p *diagnose.Picture) {
	for i := range p.Pods {
		pod := &p.Pods[i]
		if !networkPods.MatchString(pod.Name) || !p.Looked(pod.Spec.NodeName) {
			continue
		}

		for _, s := range pod.Status.ContainerStatuses {
			if s.ContainerID == "" && s.RestartCount == 0 {
				continue // it has not been started
			}
			text, err := logOf(ctx, client, pod, s.Name, s.State.Running == nil && s.RestartCount > 0)
			if err != nil {
				miss(p, diagnose.Logs, err)
				continue
			}

			p.Logs = append(p.Logs, diagnose.Log{
				Node:      pod.Spec.NodeName,
				Pod:       pod.Namespace + "/" + pod.Name,
				Container: s.Name,
				Text:      text,
			})
		}
	}
}

func logOf(ctx context.Context, client kubeclient.Interface, pod *corev1.Pod, container string,
	previous bool,
) (string, error) {
	lines, most := int64(logLines), int64(logBytes)
	in, err := client.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container:  container,
		Previous:   previous,
		TailLines:  &lines,
		LimitBytes: &most,
	}).Stream(ctx)
	if err != nil {
		return "", err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, logBytes))
	return strings.ToValidUTF8(string(text), "·"), err
}

// kubeletPatience is how long one node's kubelet is asked for its configuration.
const kubeletPatience = 5 * time.Second

// kubelets reads the configuration of the kubelets that are Ready, by way of the API server.
func kubelets(ctx context.Context, client kubeclient.Interface, p *diagnose.Picture) {
	var wrong []error
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if !p.Looked(n.Name) {
			continue
		}
		k, err := kubeletOf(ctx, client, n.Name)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("node %s: %w", n.Name, err))
			continue
		}

		p.Kubelets[n.Name] = k
	}
	if len(wrong) > 0 {
		miss(p, diagnose.Kubelets, wrong...)
	}
}

func kubeletOf(ctx context.Context, client kubeclient.Interface, node string) (diagnose.Kubelet, error) {
	ctx, cancel := context.WithTimeout(ctx, kubeletPatience)
	defer cancel()
	text, err := client.CoreV1().RESTClient().Get().Resource("nodes").Name(node).SubResource("proxy").
		Suffix("configz").DoRaw(ctx)
	if err != nil {
		return diagnose.Kubelet{}, err
	}

	var got struct {
		KubeletConfig *struct {
			ClusterDNS    []string `json:"clusterDNS"`
			ClusterDomain string   `json:"clusterDomain"`
		} `json:"kubeletconfig"`
	}
	if err := json.Unmarshal(text, &got); err != nil {
		return diagnose.Kubelet{}, err
	}

	if got.KubeletConfig == nil {
		return diagnose.Kubelet{}, errors.New("its answer has no configuration of a kubelet")
	}
	c := got.KubeletConfig
	return diagnose.Kubelet{ClusterDNS: c.ClusterDNS, ClusterDomain: c.ClusterDomain}, nil
}
