package clitest

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/cluster/health"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/spec"
)

// SeenAt is when the pictures of tests were made.
func SeenAt() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// Seen returns a cluster of one Linux node of which all works, unless change says otherwise.
func Seen(c spec.Cluster, change func(*health.Observed)) health.Observed {
	c.Nodes = []spec.Node{{Name: "linux-1", OS: spec.Linux}}
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue}
	o := health.Observed{
		At:   SeenAt(),
		Spec: c,
		Supervisor: &supervisor.Status{PID: 10, Phase: supervisor.PhaseReady, Units: []supervisor.UnitStatus{
			{ID: component.Sole("kube-apiserver"), State: component.Ready, PID: 11, Probed: true},
			{ID: component.OfNode("host", "linux-1"), State: component.Ready},
			{ID: component.OfNode("kubelet", "linux-1"), State: component.Ready, PID: 12, Probed: true},
		}},
		Nodes: []corev1.Node{{
			ObjectMeta: metav1.ObjectMeta{Name: "linux-1"},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{ready}},
		}},
	}

	if change != nil {
		change(&o)
	}

	return o
}

// Observing has the machine seen as change says.
func (m *Machine) Observing(change func(*health.Observed)) {
	m.Sources.Observe = func(_ context.Context, _ layout.Paths, c spec.Cluster) health.Observed {
		return Seen(c, change)
	}
}
