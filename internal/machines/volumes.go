package machines

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
)

// A volume on the disk of a machine that joined is made and removed by that machine alone. The control plane's machine writes what it wants where
// nodes may only read, the machine answers in its claim, which nodes may write: a node that lies can claim that something was done, no more.
//
//	mullion-system/volumes-N    NODE_VOLUME: make | remove
//	mullion-system/machine-N    done_NODE_VOLUME: make | remove | error: why
const (
	volumesPrefix = "volumes-"
	donePrefix    = "done_"
	errorPrefix   = "error: "

	volumePause = 300 * time.Millisecond
)

// Task is what is to be done with a volume.
type Task string

// The tasks.
const (
	Make   Task = "make"
	Remove Task = "remove"
)

// ErrNoMachine says that no machine has that node.
var ErrNoMachine = errors.New("no machine has the node")

// Volumes is the name of the ConfigMap with what the machine of a part is to do.
func Volumes(part int) string { return volumesPrefix + strconv.Itoa(part) }

func volumeKey(node, volume string) string { return node + "_" + volume }

// Volume has the machine of a node do that with a volume, and waits until it says that it has.
func Volume(ctx context.Context, client kubernetes.Interface, node, volume string, task Task) error {
	claim, err := claimOf(ctx, client, node)
	if err != nil {
		return err
	}
	key, name := volumeKey(node, volume), volumesPrefix+strings.TrimPrefix(claim.Name, claimPrefix)
	if err := want(ctx, client, name, claim, key, task); err != nil {
		return fmt.Errorf("have the machine of node %q %s volume %q: %w", node, task, volume, err)
	}
	for {
		claim, err := client.CoreV1().ConfigMaps(Namespace).Get(ctx, claim.Name, metav1.GetOptions{})
		said := ""
		if err == nil {
			said = claim.Data[donePrefix+key]
		}
		if why, failed := strings.CutPrefix(said, errorPrefix); failed {
			return errors.Join(fmt.Errorf("%s volume %q on the machine of node %q: %s", task, volume, node, why), want(ctx, client, name, claim, key, ""))
		}
		if said == string(task) {
			return want(ctx, client, name, claim, key, "")
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s volume %q: the machine of node %q does not answer; is it up?: %w", task, volume, node, errors.Join(ctx.Err(), err))
		case <-time.After(volumePause):
		}
	}
}

// claimOf is the claim of the machine that has a node.
func claimOf(ctx context.Context, client kubernetes.Interface, node string) (*corev1.ConfigMap, error) {
	all, err := client.CoreV1().ConfigMaps(Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("find the machine of node %q: %w", node, err)
	}
	for i := range all.Items {
		c := &all.Items[i]
		if _, ok := read(c); ok && slices.ContainsFunc(c.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "Node" && o.Name == node }) {
			return c, nil
		}
	}
	return nil, fmt.Errorf("find the machine of node %q: %w", node, ErrNoMachine)
}

// want writes a wish down, or takes it back where there is no task. The ConfigMap goes with the claim.
func want(ctx context.Context, client kubernetes.Interface, name string, claim *corev1.ConfigMap, key string, task Task) error {
	objects := client.CoreV1().ConfigMaps(Namespace)
	return retry.OnError(retry.DefaultBackoff, func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }, func() error {
		c, err := objects.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) && task == "":
			return nil
		case apierrors.IsNotFound(err):
			_, err = objects.Create(ctx, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace, OwnerReferences: []metav1.OwnerReference{
					{APIVersion: "v1", Kind: "ConfigMap", Name: claim.Name, UID: claim.UID},
				}},
				Data: map[string]string{key: string(task)},
			}, metav1.CreateOptions{})
			return err
		case err != nil:
			return err
		case c.Data[key] == string(task):
			return nil
		}
		if c.Data == nil {
			c.Data = map[string]string{}
		}
		c.Data[key] = string(task)
		if task == "" {
			delete(c.Data, key)
		}
		_, err = objects.Update(ctx, c, metav1.UpdateOptions{})
		return err
	})
}

// KeepVolumes does on the machine of a part what is wanted of its volumes, until run is over; it returns when it has begun. done is closed when
// the last call of do has ended.
func KeepVolumes(run context.Context, client kubernetes.Interface, part int, do func(node, volume string, task Task) error, failed func(error)) (done <-chan struct{}, err error) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, resync, informers.WithNamespace(Namespace), informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("metadata.name", Volumes(part)).String()
	}))
	informer, wake := factory.Core().V1().ConfigMaps().Informer(), make(chan map[string]string, 1)
	changed := func(object any) {
		c, ok := object.(*corev1.ConfigMap)
		if !ok || c.Name != Volumes(part) {
			return
		}
		select { // the newest counts
		case <-wake:
		default:
		}
		wake <- c.Data
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) }}); err != nil {
		return nil, err
	}
	factory.Start(run.Done())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer factory.Shutdown()
		for {
			select {
			case <-run.Done():
				return
			case wanted := <-wake:
				if err := answer(run, client, part, wanted, do); err != nil && run.Err() == nil {
					failed(err)
				}
			}
		}
	}()
	return ended, nil
}

// answer does what is wanted and was not done yet, and says so in the claim; what is not wanted any more it forgets.
func answer(ctx context.Context, client kubernetes.Interface, part int, wanted map[string]string, do func(node, volume string, task Task) error) error {
	claims := client.CoreV1().ConfigMaps(Namespace)
	claim, err := claims.Get(ctx, ClaimName(part), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read what was done with volumes: %w", err)
	}
	answers := map[string]string{}
	for key, task := range wanted {
		if claim.Data[donePrefix+key] == task {
			answers[donePrefix+key] = task
			continue
		}
		node, volume, _ := strings.Cut(key, "_")
		answers[donePrefix+key] = task
		if err := do(node, volume, Task(task)); err != nil {
			answers[donePrefix+key] = errorPrefix + err.Error()
		}
	}
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		claim, err := claims.Get(ctx, ClaimName(part), metav1.GetOptions{})
		if err != nil {
			return err
		}
		before := maps.Clone(claim.Data)
		maps.DeleteFunc(claim.Data, func(key, _ string) bool { return strings.HasPrefix(key, donePrefix) })
		maps.Copy(claim.Data, answers)
		if maps.Equal(before, claim.Data) {
			return nil
		}
		_, err = claims.Update(ctx, claim, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("say what was done with volumes: %w", err)
	}
	return nil
}
