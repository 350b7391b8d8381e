package nodepod_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"mullion.dev/mullion/internal/base/kubeclient/fake"
	"mullion.dev/mullion/internal/diagnose/nodepod"
)

// left returns the pods that are there.
func left(t *testing.T, c *fake.Clientset) []corev1.Pod {
	t.Helper()
	all, err := c.CoreV1().Pods("").List(context.WithoutCancel(t.Context()), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return all.Items
}

// reads has the pod be in a state when it is looked at.
func reads(c *fake.Clientset, status corev1.PodStatus, err error) {
	c.PrependReactor("get", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() != "" {
			return false, nil, nil
		}
		return true, &corev1.Pod{Status: status}, err
	})
}

// TestThePodIsAlwaysRemoved: whatever happens to it, and also if the person gives up.
func TestThePodIsAlwaysRemoved(t *testing.T) {
	given := func(reason, message string) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}}
	}

	for name, tt := range map[string]struct {
		status corev1.PodStatus
		err    error
		says   string
	}{
		"its image is not there":     {given("ImagePullBackOff", "not found"), nil, "it does not start: ImagePullBackOff: not found"},
		"its output is none of ours": {corev1.PodStatus{Phase: corev1.PodSucceeded}, nil, "did not run to its end"},
		"it cannot be looked at":     {corev1.PodStatus{}, errors.New("connection lost"), "connection lost"},
		"it never starts":            {given("ErrImagePull", "no such host"), nil, "ErrImagePull: no such host"},
	} {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientset()
			reads(c, tt.status, tt.err)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := nodepod.Ask(ctx, c, "win-1", nodepod.DefaultImage, []string{"x"})
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "win-1") {
				t.Errorf("%v", err)
			}

			if pods := left(t, c); len(pods) > 0 {
				t.Errorf("left behind: %s", pods[0].Name)
			}
		})
	}
}

func TestAPodThatMayNotBeMade(t *testing.T) {
	c := fake.NewClientset()
	c.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), "x", errors.New(`violates PodSecurity`))
	})
	if _, err := nodepod.Ask(t.Context(), c, "win-1", "i", []string{"x"}); err == nil || !strings.Contains(err.Error(), "violates PodSecurity") {
		t.Errorf("%v", err)
	}
	for _, a := range c.Actions() {
		if a.GetVerb() == "delete" {
			t.Error("it removes what was not made")
		}
	}
}

func TestAPodThatCannotBeRemoved(t *testing.T) {
	c := fake.NewClientset()
	reads(c, corev1.PodStatus{Phase: corev1.PodSucceeded}, nil)
	c.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("etcd is gone")
	})
	if _, err := nodepod.Ask(t.Context(), c, "win-1", "i", []string{"x"}); err == nil ||
		!strings.Contains(err.Error(), "remove pod kube-system/mullion-diagnose-") {
		t.Errorf("%v", err)
	}
}

// TestSweep: what a killed run left is removed, and nobody else's pods.
func TestSweep(t *testing.T) {
	c := fake.NewClientset()
	for name, tt := range map[string]struct {
		age   time.Duration
		label string
	}{
		"old": {time.Hour, "mullion-diagnose"}, "young": {time.Second, "mullion-diagnose"}, "others": {time.Hour, "web"},
	} {
		_, err := c.CoreV1().Pods(nodepod.Namespace).Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name:              name,
			Labels:            map[string]string{"app": tt.label},
			CreationTimestamp: metav1.NewTime(time.Now().Add(-tt.age)),
		}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}

	if err := nodepod.Sweep(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if pods := left(t, c); len(pods) != 2 || pods[0].Name == "old" || pods[1].Name == "old" {
		t.Errorf("left: %v", pods)
	}
}

// TestPod: it goes to that node alone, whatever its taints, ends by itself, and cannot use the API.
func TestPod(t *testing.T) {
	p := nodepod.Pod("x", "win-1", "i", []string{"x"})
	s := p.Spec
	if s.NodeName != "win-1" || !s.HostNetwork || !*s.SecurityContext.WindowsOptions.HostProcess ||
		*s.AutomountServiceAccountToken || s.RestartPolicy != corev1.RestartPolicyNever ||
		*s.ActiveDeadlineSeconds <= 0 ||
		s.Tolerations[0].Operator != corev1.TolerationOpExists || s.OS.Name != corev1.Windows {
		t.Errorf("%+v", s)
	}
}
