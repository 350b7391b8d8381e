package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// Known reports whether there is a fault of that name.
func Known(id string) bool {
	return slices.ContainsFunc(All(), func(f Fault) bool { return f.ID == id })
}

// kind is a kind of object that faults are made of.
type kind struct {
	list   func(metav1.ListOptions) (runtime.Object, error)
	remove func(name string, o metav1.DeleteOptions) error
}

func kinds(ctx context.Context, c kubeclient.Interface) []kind {
	pods, services := c.CoreV1().Pods(Namespace), c.CoreV1().Services(Namespace)
	sets, maps := c.AppsV1().DaemonSets(Namespace), c.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	classes := c.NodeV1().RuntimeClasses()
	return []kind{
		{
			func(o metav1.ListOptions) (runtime.Object, error) { return sets.List(ctx, o) },
			func(name string, o metav1.DeleteOptions) error { return sets.Delete(ctx, name, o) },
		},
		{
			func(o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) },
			func(name string, o metav1.DeleteOptions) error { return pods.Delete(ctx, name, o) },
		},
		{
			func(o metav1.ListOptions) (runtime.Object, error) { return services.List(ctx, o) },
			func(name string, o metav1.DeleteOptions) error { return services.Delete(ctx, name, o) },
		},
		{
			func(o metav1.ListOptions) (runtime.Object, error) { return maps.List(ctx, o) },
			func(name string, o metav1.DeleteOptions) error { return maps.Delete(ctx, name, o) },
		},
		{
			func(o metav1.ListOptions) (runtime.Object, error) { return classes.List(ctx, o) },
			func(name string, o metav1.DeleteOptions) error { return classes.Delete(ctx, name, o) },
		},
	}
}

// each calls do with the fault of every object that carries the label, and how to remove the object.
func each(ctx context.Context, c kubeclient.Interface, do func(id string, remove func() error) error) error {
	for _, k := range kinds(ctx, c) {
		list, err := k.list(metav1.ListOptions{LabelSelector: Label})
		if err != nil {
			return err
		}

		err = apimeta.EachListItem(list, func(o runtime.Object) error {
			m, err := apimeta.Accessor(o)
			if err != nil {
				return err
			}
			return do(m.GetLabels()[Label], func() error {
				now := int64(0)
				return k.remove(m.GetName(), metav1.DeleteOptions{GracePeriodSeconds: &now})
			})
		})
		if err != nil {
			return err
		}
	}

	nodes, err := c.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}

	for i := range nodes.Items {
		n := &nodes.Items[i]
		if n.Annotations[Label] == "" {
			continue
		}
		if err := do(n.Annotations[Label], func() error { return unannotate(ctx, c, n.Name) }); err != nil {
			return err
		}
	}

	return nil
}

// Made returns the faults that a cluster has, by name.
func Made(ctx context.Context, c kubeclient.Interface) ([]string, error) {
	var made []string
	err := each(ctx, c, func(id string, _ func() error) error {
		made = append(made, id)
		return nil
	})
	slices.Sort(made)
	return slices.Compact(made), err
}

// Make makes faults. All are judged before the first is made: an unknown name is an error, and so is a fault that needs
// a node of a system that the cluster lacks.
func Make(ctx context.Context, c kubeclient.Interface, ids []string, v Values) error {
	for _, id := range ids {
		if !Known(id) {
			return &UnknownError{ID: id}
		}
		if v.WindowsNode == "" {
			return errors.New("the cluster has no Windows node")
		}
		if id == "pod-wrong-system" && v.LinuxNode == "" {
			return fmt.Errorf("fault %s needs a Linux node", id)
		}
	}

	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: Namespace,
		// the webhook of credential specs would refuse a pod that is to fail on its node
		Labels: map[string]string{Label: "all", "gmsa-webhook": "disabled"},
	}}
	_, err := c.CoreV1().Namespaces().Create(ctx, space, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}

	for _, id := range ids {
		if err := makeOne(ctx, c, id, v); err != nil {
			return fmt.Errorf("make fault %s: %w", id, err)
		}
	}

	return nil
}

func makeOne(ctx context.Context, c kubeclient.Interface, id string, v Values) error {
	if id == annotations {
		return annotate(ctx, c, v.WindowsNode)
	}
	all, err := objects(id, v)
	if err != nil {
		return err
	}
	for _, o := range all {
		if err := create(ctx, c, o); err != nil {
			return err
		}
	}
	return nil
}

// annotate puts flannel's annotations on a node that has none.
func annotate(ctx context.Context, c kubeclient.Interface, node string) error {
	n, err := c.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if n.Annotations[Label] != "" {
		return nil
	}

	set := map[string]any{Label: annotations}
	for name, value := range annotated() {
		if _, there := n.Annotations[name]; there {
			return &TakenError{Object: "annotation " + name + " of node " + node}
		}
		set[name] = value
	}

	return patch(ctx, c, node, set)
}

func patch(ctx context.Context, c kubeclient.Interface, node string, set map[string]any) error {
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": set}})
	if err != nil {
		return err
	}
	_, err = c.CoreV1().Nodes().Patch(ctx, node, types.StrategicMergePatchType, text, metav1.PatchOptions{})
	return err
}

// unannotate takes flannel's annotations from a node again.
func unannotate(ctx context.Context, c kubeclient.Interface, node string) error {
	unset := map[string]any{Label: nil}
	for name := range annotated() {
		unset[name] = nil
	}
	return patch(ctx, c, node, unset)
}

// Undo takes faults back: those of ids, or all. It returns which there were.
func Undo(ctx context.Context, c kubeclient.Interface, ids []string) (undone []string, err error) {
	for _, id := range ids {
		if !Known(id) {
			return nil, &UnknownError{ID: id}
		}
	}

	var errs []error
	err = each(ctx, c, func(id string, remove func() error) error {
		if len(ids) > 0 && !slices.Contains(ids, id) {
			return nil
		}
		if err := remove(); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("undo fault %s: %w", id, err))
			return nil
		}
		undone = append(undone, id)
		return nil
	})

	err = errors.Join(append(errs, err)...)
	if err == nil && len(ids) == 0 {
		err = c.CoreV1().Namespaces().Delete(ctx, Namespace, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			err = nil
		}
	}
	slices.Sort(undone)
	return slices.Compact(undone), err
}

// UnknownError says that there is no fault of that name.
type UnknownError struct{ ID string }

func (e *UnknownError) Error() string { return fmt.Sprintf("there is no fault %q", e.ID) }
