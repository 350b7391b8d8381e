package bootstrap

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/windows/winver"
)

// The runtime handlers of containerd on Windows:
// https://github.com/containerd/containerd/blob/v2.4.2/docs/cri/config.md. The second, Hyper-V isolation, has a
// RuntimeClass of its name.
const (
	processHandler  = "runhcs-wcow-process"
	HypervisorClass = "runhcs-wcow-hypervisor"
)

// versionLabel marks the RuntimeClasses of Windows versions, so that those of versions no longer in the cluster are
// found.
const versionLabel = "mullion.dev/windows-version"

// VersionClass returns the name of the RuntimeClass that places pods on nodes of a Windows version, for example
// "windows-ltsc2022".
func VersionClass(b winver.Build) string { return "windows-" + strings.ToLower(b.Name) }

// versionClass returns the RuntimeClass that Kubernetes' guide recommends for each version:
// https://kubernetes.io/docs/concepts/windows/user-guide/#handling-multiple-windows-versions-in-the-same-cluster
func versionClass(b winver.Build) *nodev1.RuntimeClass {
	class := windowsClass(VersionClass(b), processHandler)
	class.Labels = map[string]string{versionLabel: strings.ToLower(b.Name)}
	class.Scheduling.NodeSelector[corev1.LabelWindowsBuild] = fmt.Sprintf("%d.%d.%d", b.Version.Major, b.Version.Minor,
		b.Version.Build)
	class.Scheduling.Tolerations = []corev1.Toleration{{
		Key:      "os",
		Operator: corev1.TolerationOpEqual,
		Value:    "windows",
		Effect:   corev1.TaintEffectNoSchedule,
	}}
	return class
}

// windowsClass returns a RuntimeClass of all Windows nodes.
func windowsClass(name, handler string) *nodev1.RuntimeClass {
	return &nodev1.RuntimeClass{
		ObjectMeta: named(name, ""),
		Handler:    handler,
		Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{corev1.LabelOSStable: "windows"}},
	}
}

// applyClasses puts the RuntimeClasses in place and removes those of versions that the cluster no longer has.
func applyClasses(ctx context.Context, client kubeclient.Interface, windows []winver.Build) error {
	force := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	classes := []*nodev1.RuntimeClass{windowsClass(HypervisorClass, HypervisorClass)}
	for _, b := range windows {
		classes = append(classes, versionClass(b))
	}

	wanted := map[string]bool{}
	for _, class := range classes {
		wanted[class.Name] = true
		if _, err := client.NodeV1().RuntimeClasses().Apply(ctx, class, force); err != nil {
			return fmt.Errorf("apply runtime class %q: %w", class.Name, err)
		}
	}

	have, err := client.NodeV1().RuntimeClasses().List(ctx, metav1.ListOptions{LabelSelector: versionLabel})
	if err != nil {
		return fmt.Errorf("list runtime classes: %w", err)
	}

	for _, class := range have.Items {
		if wanted[class.Name] {
			continue
		}
		if err := client.NodeV1().RuntimeClasses().Delete(ctx, class.Name, metav1.DeleteOptions{}); err != nil &&
			!apierrors.IsNotFound(err) {
			return fmt.Errorf("remove runtime class %q: %w", class.Name, err)
		}
	}

	return nil
}
