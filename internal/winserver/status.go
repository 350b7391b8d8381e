package winserver

import (
	"context"
	"fmt"
	"os"

	"mullion.dev/mullion/internal/node/nodeconfig"
	"mullion.dev/mullion/internal/winserver/api"
	"mullion.dev/mullion/internal/winserver/journal"
)

// Status is how the node is.
type Status struct {
	Node     string          `json:"node"`
	Server   string          `json:"server"`
	Joined   bool            `json:"joined"` // it has been Ready once
	Services []ServiceStatus `json:"services"`
	// Ready says that the cluster calls the node Ready; Reason is why not, or why it cannot be asked.
	Ready   bool   `json:"ready"`
	Reason  string `json:"reason,omitempty"`
	Kubelet string `json:"kubeletVersion,omitempty"`
	// Network is the HNS network that the agent made, empty if it made none.
	Network string `json:"network,omitempty"`
}

// ServiceStatus is how a service is.
type ServiceStatus struct {
	Name  string `json:"name"`
	State string `json:"state"` // running, stopped or missing
}

// Status looks at the node. The error wraps journal.ErrNone if the server is none.
func (h Host) Status(ctx context.Context) (Status, error) {
	j, err := h.Journal()
	if err != nil {
		return Status{}, err
	}

	s := Status{
		Node:    j.Node,
		Server:  j.Server,
		Joined:  j.Joined,
		Network: j.Network,
	}

	for _, name := range []string{containerd, kubelet, kubeProxy} {
		if _, ok := j.Find(journal.Service, name); !ok {
			continue
		}
		there, runs, err := h.running(name)
		if err != nil {
			return s, fmt.Errorf("look at service %s: %w", name, err)
		}

		state := "missing"
		switch {
		case runs:
			state = "running"
		case there:
			state = "stopped"
		}

		s.Services = append(s.Services, ServiceStatus{name, state})
	}

	if err := h.asked(ctx, j, &s); err != nil {
		s.Reason = err.Error()
	}
	return s, nil
}

func (h Host) asked(ctx context.Context, j *journal.Journal, s *Status) error {
	ca, err := os.ReadFile(h.file(nodeconfig.CAFile))
	if err != nil {
		return err
	}
	client, err := api.ByCertificate(j.Server, ca, h.file(kubeletCertPEM))
	if err != nil {
		return err
	}

	n, err := client.Node(ctx, j.Node)
	if err != nil {
		return err
	}
	s.Kubelet = n.Status.NodeInfo.KubeletVersion
	if err := n.Ready(); err != nil {
		return err
	}
	s.Ready = true
	return nil
}

// Traces returns what is on the server of nodes: the node that the agent has made of it, or, if it has made none, what
// others have left.
func (h Host) Traces() (node string, left []string) {
	if j, err := h.Journal(); err == nil {
		return j.Node, nil
	}
	for _, file := range []string{nodeconfig.KubeletKubeconfig, kubeletCertPEM} {
		if _, err := os.Lstat(h.file(file)); err == nil {
			left = append(left, windows(file))
		}
	}

	for _, name := range []string{kubelet, kubeProxy} {
		if there, _, err := h.running(name); err == nil && there {
			left = append(left, "service "+name)
		}
	}

	return "", left
}
