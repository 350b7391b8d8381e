package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

// linuxTaint returns the taint of control-plane nodes, which the Linux nodes of upstream's Windows jobs have. The tests
// ignore it (--non-blocking-taints,
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/test/e2e/framework/test_context.go).
func linuxTaint() corev1.Taint {
	return corev1.Taint{
		Key:    "node-role.kubernetes.io/control-plane",
		Effect: corev1.TaintEffectNoSchedule,
		Value:  "mullion-conformance",
	}
}

// taint adds the taint to nodes, or removes it. Its value distinguishes it from a taint that was there before.
func (c *cluster) taint(ctx context.Context, nodes []string, on bool) error {
	var errs []error
	for _, name := range nodes {
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			n, err := c.api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t == linuxTaint() })
			if on {
				n.Spec.Taints = append(n.Spec.Taints, linuxTaint())
			}
			_, err = c.api.CoreV1().Nodes().Update(ctx, n, metav1.UpdateOptions{})
			return err
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("change taints of node %q: %w", name, err))
		}
	}

	return errors.Join(errs...)
}

// testNamespaces returns the namespaces that tests have made.
func (c *cluster) testNamespaces(ctx context.Context) (map[string]bool, error) {
	list, err := c.api.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: "e2e-run"})
	if err != nil {
		return nil, fmt.Errorf("list namespaces of tests: %w", err)
	}
	names := map[string]bool{}
	for _, ns := range list.Items {
		names[ns.Name] = true
	}
	return names, nil
}

// tidyTime is how long namespaces may take to be removed.
const tidyTime = 3 * time.Minute

// removeNamespaces deletes the tests' namespaces that are not in before, and waits until they are gone.
func (c *cluster) removeNamespaces(ctx context.Context, before map[string]bool) error {
	ctx, cancel := context.WithTimeout(ctx, tidyTime)
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()

	deleted := map[string]bool{}
	for {
		now, err := c.testNamespaces(ctx)
		if err != nil {
			return err
		}

		var left []string
		for name := range now {
			if before[name] {
				continue
			}
			left = append(left, name)
			if deleted[name] {
				continue
			}

			deleted[name] = true
			if err := c.api.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{}); err != nil &&
				!apierrors.IsNotFound(err) {
				return fmt.Errorf("delete namespace %q: %w", name, err)
			}
		}
		if len(left) == 0 {
			return nil
		}

		select {
		case <-ctx.Done():
			slices.Sort(left)
			return fmt.Errorf("wait for %d namespaces of tests to go, the first %q: %w", len(left), left[0], ctx.Err())
		case <-tick.C:
		}
	}
}
