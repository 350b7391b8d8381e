// Package nodepod asks Windows nodes about themselves by HostProcess pods: it makes one on each node, reads what it
// prints, and removes it. It is used only where a person allows it.
package nodepod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"

	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/diagnose/nodescript"
)

// DefaultImage is made for HostProcess containers: it has no files, and fits every version of Windows
// (https://github.com/microsoft/windows-host-process-containers-base-image).
const DefaultImage = "mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image:v1.0.0"

// Namespace is where the pods are made: every cluster has it, and it usually admits HostProcess pods.
const Namespace = metav1.NamespaceSystem

// app is the label of the pods.
const app = "mullion-diagnose"

const (
	// Patience is how long a node's pod may take, its image's pulling included.
	Patience = 90 * time.Second
	// lifetime is when Kubernetes ends a pod that this program left behind, because it was killed.
	lifetime = 2 * Patience
	// removal is how long the removal of a pod is tried.
	removal = 15 * time.Second
	// most is how much of what a pod prints is read.
	most = 16 << 20
	look = 500 * time.Millisecond
)

// Ask makes a pod on the node that runs a command of package nodescript, returns what that printed, and removes the
// pod, also when ctx has ended.
func Ask(ctx context.Context, client kubeclient.Interface, node, image string, command []string,
) (text string, err error) {
	defer interrupt.Finishing(ctx)()
	pods := client.CoreV1().Pods(Namespace)
	const letters = 8
	made := Pod(app+"-"+rand.String(letters), node, image, command)
	defer func() { // also where the API server's answer to Create was lost
		if !apierrors.IsForbidden(err) {
			err = errors.Join(err, remove(context.WithoutCancel(ctx), client, made.Name))
		}
	}()

	if _, err := pods.Create(ctx, made, metav1.CreateOptions{}); err != nil {
		return "", fmt.Errorf("make a HostProcess pod on node %s: %w", node, err)
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()

	state := "it was not started"
	err = wait.PollUntilContextCancel(ctx, look, true, func(ctx context.Context) (bool, error) {
		p, err := pods.Get(ctx, made.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			return true, nil
		}

		state = why(p, state)
		if i := strings.IndexAny(state, ": "); i > 0 && slices.Contains(hopeless(), state[:i]) {
			return false, errors.New("it does not start")
		}
		return false, nil
	})
	if err != nil {
		return "", fmt.Errorf("wait for pod %s/%s on node %s: %w: %s", Namespace, made.Name, node, err, state)
	}

	text, err = output(ctx, client, made.Name)
	if err != nil {
		return "", fmt.Errorf("read the log of pod %s/%s on node %s: %w", Namespace, made.Name, node, err)
	}
	if _, whole := nodescript.Split(text); !whole {
		return "", fmt.Errorf("node %s: pod %s/%s did not run to its end: %.200q", node, Namespace, made.Name, text)
	}
	return text, nil
}

// hopeless returns the reasons for which the kubelet waits ever longer.
func hopeless() []string {
	return []string{"ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerError", "RunContainerError"}
}

// why says why a pod's container waits; before is what was known.
func why(p *corev1.Pod, before string) string {
	for _, s := range p.Status.ContainerStatuses {
		if w := s.State.Waiting; w != nil && w.Reason != "" {
			return strings.TrimSuffix(w.Reason+": "+w.Message, ": ")
		}
	}
	if p.Status.Message != "" {
		return p.Status.Message
	}
	return before
}

func output(ctx context.Context, client kubeclient.Interface, name string) (string, error) {
	in, err := client.CoreV1().Pods(Namespace).GetLogs(name, &corev1.PodLogOptions{}).Stream(ctx)
	if err != nil {
		return "", err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, most))
	return string(text), err
}

// remove deletes a pod at once.
func remove(ctx context.Context, client kubeclient.Interface, name string) error {
	ctx, cancel := context.WithTimeout(ctx, removal)
	defer cancel()
	now := int64(0)
	err := client.CoreV1().Pods(Namespace).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove pod %s/%s, which has to be done by hand: %w", Namespace, name, err)
	}
	return nil
}

// Sweep removes pods that an earlier run was killed before it could remove.
func Sweep(ctx context.Context, client kubeclient.Interface) error {
	left, err := client.CoreV1().Pods(Namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		return fmt.Errorf("list pods of earlier runs: %w", err)
	}
	var wrong error
	for i := range left.Items {
		p := &left.Items[i]
		if time.Since(p.CreationTimestamp.Time) > lifetime { // a younger one may be of somebody who is asking now
			wrong = errors.Join(wrong, remove(ctx, client, p.Name))
		}
	}
	return wrong
}

// Pod returns the pod that asks a node. It is placed on the node whatever its taints, and has no token of the API.
func Pod(name, node, image string, command []string) *corev1.Pod {
	yes := true
	no := false
	user := `NT AUTHORITY\SYSTEM`
	seconds := int64(lifetime.Seconds())
	now := int64(0)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:      name,
			Namespace: Namespace,
			Labels:    map[string]string{"app": app},
		},
		Spec: corev1.PodSpec{
			NodeName:                      node,
			OS:                            &corev1.PodOS{Name: corev1.Windows},
			NodeSelector:                  map[string]string{corev1.LabelOSStable: string(corev1.Windows)},
			Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			HostNetwork:                   true,
			RestartPolicy:                 corev1.RestartPolicyNever,
			AutomountServiceAccountToken:  &no,
			EnableServiceLinks:            &no,
			ActiveDeadlineSeconds:         &seconds,
			TerminationGracePeriodSeconds: &now,
			SecurityContext: &corev1.PodSecurityContext{
				WindowsOptions: &corev1.WindowsSecurityContextOptions{HostProcess: &yes, RunAsUserName: &user},
			},
			Containers: []corev1.Container{{
				Name:    "asks",
				Image:   image,
				Command: command,
			}},
		},
	}
}
