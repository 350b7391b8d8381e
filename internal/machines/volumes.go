package machines

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// VolumesNamespace holds the tasks of machines with volumes.
const VolumesNamespace = "mullion-volumes"

// Only the machine on whose disk a volume is makes and removes it. The control plane's machine writes the task into a
// ConfigMap that nodes may only read, and holders of a token not even that. The machine answers in its claim, which
// nodes may write, so the worst that a node can do is to say that a task was done.
//
//	mullion-volumes/NODE        VOLUME: make | remove
//	mullion-system/machine-N    done_NODE_VOLUME: make | remove | error: why
const (
	donePrefix  = "done_"
	errorPrefix = "error: "

	volumePause = 300 * time.Millisecond
)

// Task is a task with a volume.
type Task string

// The tasks.
const (
	Make   Task = "make"
	Remove Task = "remove"
)

// ErrNoMachine says that no machine's claim names the node.
var ErrNoMachine = errors.New("no machine has the node")

func volumeKey(node, volume string) string { return node + "_" + volume }

// Volume gives the machine of a node a task with a volume, and waits until the machine says that it is done.
func Volume(ctx context.Context, client kubeclient.Interface, node, volume string, task Task) error {
	name, owner, err := claimOf(ctx, client, node)
	if err != nil {
		return err
	}
	if err := want(ctx, client, owner, volume, task); err != nil {
		return fmt.Errorf("have the machine of node %q %s volume %q: %w", node, task, volume, err)
	}

	for {
		claim, err := client.CoreV1().ConfigMaps(Namespace).Get(ctx, name, metav1.GetOptions{})
		said := ""
		if err == nil {
			said = claim.Data[donePrefix+volumeKey(node, volume)]
		}
		if why, failed := strings.CutPrefix(said, errorPrefix); failed {
			return errors.Join(fmt.Errorf("%s volume %q on the machine of node %q: %s", task, volume, node, why),
				want(ctx, client, owner, volume, ""))
		}

		if said == string(task) {
			return want(ctx, client, owner, volume, "")
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s volume %q: the machine of node %q does not answer; is it up?: %w", task, volume, node,
				errors.Join(ctx.Err(), err))
		case <-time.After(volumePause):
		}
	}
}

// claimOf returns the name of the claim of the machine that has a node, and the node as the claim's owner.
func claimOf(ctx context.Context, client kubeclient.Interface, node string) (string, metav1.OwnerReference, error) {
	all, err := client.CoreV1().ConfigMaps(Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", metav1.OwnerReference{}, fmt.Errorf("find the machine of node %q: %w", node, err)
	}

	for i := range all.Items {
		c := &all.Items[i]
		if _, ok := read(c); !ok {
			continue
		}
		for _, o := range c.OwnerReferences {
			if o.Kind == "Node" && o.Name == node {
				return c.Name, o, nil
			}
		}
	}

	return "", metav1.OwnerReference{}, fmt.Errorf("find the machine of node %q: %w", node, ErrNoMachine)
}

// want writes a task into the node's ConfigMap, or removes it if task is "". The ConfigMap is deleted with the node.
func want(ctx context.Context, client kubeclient.Interface, node metav1.OwnerReference, volume string,
	task Task,
) error {
	objects := client.CoreV1().ConfigMaps(VolumesNamespace)
	return retry.OnError(retry.DefaultBackoff,
		func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }, func() error {
			c, err := objects.Get(ctx, node.Name, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err) && task == "":
				return nil
			case apierrors.IsNotFound(err):
				_, err = objects.Create(ctx, &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{
						Name:            node.Name,
						Namespace:       VolumesNamespace,
						OwnerReferences: []metav1.OwnerReference{node},
					},
					Data: map[string]string{volume: string(task)},
				}, metav1.CreateOptions{})

				return err

			case err != nil:
				return err
			case c.Data[volume] == string(task):
				return nil
			}

			if c.Data == nil {
				c.Data = map[string]string{}
			}
			c.Data[volume] = string(task)
			if task == "" {
				delete(c.Data, volume)
			}
			_, err = objects.Update(ctx, c, metav1.UpdateOptions{})
			return err
		})
}

// VolumeKeeper carries out the tasks with volumes of one machine's nodes.
type VolumeKeeper struct {
	// Part is the machine's part of the underlay, Nodes are its nodes.
	Part  int
	Nodes []string
	// Do carries out a task; Failed is called with errors of the records in the API.
	Do     func(node, volume string, task Task) error
	Failed func(error)
}

// Keep carries out tasks in the background until run is over, and returns once it has begun. done is closed when the
// last call of Do has ended.
func (k VolumeKeeper) Keep(run context.Context, client kubeclient.Interface) (done <-chan struct{}, err error) {
	informer, wake := client.CoreV1().ConfigMaps(VolumesNamespace).Informer(resync), make(chan struct{}, 1)
	changed := func(object any) {
		if c, ok := object.(*corev1.ConfigMap); !ok || !slices.Contains(k.Nodes, c.Name) {
			return
		}
		select {
		case wake <- struct{}{}:
		default:
		}
	}

	wanted := func() map[string]string {
		all := map[string]string{}
		for _, c := range kubeclient.Stored[*corev1.ConfigMap](informer.GetStore()) {
			if slices.Contains(k.Nodes, c.Name) {
				for volume, task := range c.Data {
					all[volumeKey(c.Name, volume)] = task
				}
			}
		}

		return all
	}

	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    changed,
		UpdateFunc: func(_, object any) { changed(object) },
	}); err != nil {
		return nil, err
	}

	return atEach(run, wake, started(run, informer), func() {
		if err := k.answer(run, client, wanted()); err != nil && run.Err() == nil {
			k.Failed(err)
		}
	}), nil
}

// answer carries out the wanted tasks that are not done yet, and writes their results into the claim. It removes
// results of tasks that are no longer wanted.
func (k VolumeKeeper) answer(ctx context.Context, client kubeclient.Interface, wanted map[string]string) error {
	claims := client.CoreV1().ConfigMaps(Namespace)
	claim, err := claims.Get(ctx, ClaimName(k.Part), metav1.GetOptions{})
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
		if err := k.Do(node, volume, Task(task)); err != nil {
			answers[donePrefix+key] = errorPrefix + err.Error()
		}
	}

	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		claim, err := claims.Get(ctx, ClaimName(k.Part), metav1.GetOptions{})
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
