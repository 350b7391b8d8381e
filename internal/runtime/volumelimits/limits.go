// Package volumelimits holds the emptyDirs of pods on Windows nodes to their limits by what Linux counts of them:
// blocks, names, depth. It owns when a pod is ended for it, and what is said of that; counting is package emptydirs'.
package volumelimits

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/runtime/emptydirs"
)

// Unit is the name of the component that holds volumes to their limits.
const Unit = "volume-limits"

// Reason is that of the events and of the conditions of the pods that it ends: the kubelet's own for the same.
const Reason = "Evicted"

const (
	// measureEvery is how often volumes are measured, at most; pause is how many times as long as that took nothing is
	// measured.
	measureEvery = 30 * time.Second
	pause        = 10
	// DefaultPatience is how long a pod may be over a limit that the kubelet knows of: it measures once a minute, and
	// evicts the pod itself if it can count its volumes.
	DefaultPatience = 2 * time.Minute
)

// Node is a Windows node of the machine.
type Node struct {
	Name string
	// Drive is the folder that is its C:.
	Drive string
	// Client returns a client for the cluster's API, as soon as there is one.
	Client func() (kubeclient.Interface, error)
}

// Limits is the component that ends pods whose emptyDirs take more than they may, by what Linux counts. The kubelet
// counts them too, by the sizes that Windows shows; it sees neither blocks behind a file's end nor what is too deep.
type Limits struct {
	Nodes []Node
	Bound emptydirs.Bound
	// Patience is how long the kubelet has to evict a pod itself, after it was seen over a limit.
	Patience time.Duration
	Log      *slog.Logger

	over   map[string]map[types.UID]time.Time // by node, since when a pod is seen over a limit
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// Start begins to measure.
func (l *Limits) Start(ctx context.Context) error {
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.cancel = cancel
	l.done.Go(func() { l.follow(run) })
	return nil
}

// Stop ends it.
func (l *Limits) Stop(context.Context) error {
	if l.cancel != nil {
		l.cancel()
		l.done.Wait()
	}
	return nil
}

func (l *Limits) follow(ctx context.Context) {
	emptydirs.GiveWay()
	for {
		begun := time.Now()
		for _, n := range l.Nodes {
			if err := l.Look(ctx, n); err != nil && ctx.Err() == nil {
				l.Log.Warn("the emptyDirs of a node's pods are not held to their limits", "node", n.Name, "error", err)
			}
		}

		wait := time.NewTimer(max(measureEvery, pause*time.Since(begun)))
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		}
	}
}

// Look measures the volumes of a node's pods once, and ends the pods that are over a limit.
func (l *Limits) Look(ctx context.Context, n Node) error {
	root, err := emptydirs.Open(n.Drive)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	client, err := n.Client()
	if err != nil {
		return err
	}

	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{
		FieldSelector: "spec.nodeName=" + n.Name, ResourceVersion: "0",
	})
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}

	over := map[types.UID]time.Time{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if ends(pod) {
			continue
		}

		usage, measureErr := l.measure(ctx, root, pod)
		err = errors.Join(err, measureErr)
		why, beyond := WhyOver(pod, usage)
		if why == "" {
			continue
		}

		since, known := l.over[n.Name][pod.UID]
		if !known {
			since = time.Now()
		}
		over[pod.UID] = since
		if beyond || time.Since(since) >= l.Patience {
			l.Log.Info("a pod's emptyDirs are over a limit", "pod", pod.Namespace+"/"+pod.Name, "why", why)
			err = errors.Join(err, evict(ctx, client, pod, why))
		}
	}

	if l.over == nil {
		l.over = map[string]map[types.UID]time.Time{}
	}
	l.over[n.Name] = over
	return err
}

// ends reports whether a pod has ended, or is about to.
func ends(pod *corev1.Pod) bool {
	told := pod.Spec.ActiveDeadlineSeconds != nil && *pod.Spec.ActiveDeadlineSeconds == deadline
	phase := pod.Status.Phase
	return told || pod.DeletionTimestamp != nil || phase == corev1.PodSucceeded || phase == corev1.PodFailed
}

// measure measures the emptyDirs of a pod, by volume.
func (l *Limits) measure(ctx context.Context, root *os.Root, pod *corev1.Pod) (map[string]emptydirs.Usage, error) {
	usage := map[string]emptydirs.Usage{}
	var errs []error
	for _, v := range pod.Spec.Volumes {
		if v.EmptyDir == nil {
			continue
		}
		u, err := emptydirs.Measure(ctx, root, emptydirs.Folder(string(pod.UID), v.Name), l.Bound)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("measure volume %q of pod %s/%s: %w", v.Name, pod.Namespace, pod.Name, err))
		}
		usage[v.Name] = u
	}
	return usage, errors.Join(errs...)
}

// WhyOver says which limit a pod's emptyDirs are over, in the kubelet's words where it has some
// (https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/kubelet/eviction/eviction_manager.go), "" if none.
// beyond says that it is the bound of what is measured, which the kubelet does not know.
func WhyOver(pod *corev1.Pod, usage map[string]emptydirs.Usage) (why string, beyond bool) {
	var total emptydirs.Usage
	for _, v := range pod.Spec.Volumes {
		if v.EmptyDir == nil {
			continue
		}
		u := usage[v.Name]
		if u.Over != "" {
			return fmt.Sprintf("EmptyDir volume %q has %s, which is more than Mullion lets a volume have: neither the kubelet "+
				"nor a program of Windows can handle it", v.Name, u.Over), true
		}

		if limit := v.EmptyDir.SizeLimit; limit != nil && limit.Sign() > 0 {
			if takes := over(u, limit.Value()); takes > 0 {
				return fmt.Sprintf("Usage of EmptyDir volume %q exceeds the limit %q. It takes %s of the disk",
					v.Name, limit, human(takes)), false
			}
		}
		total.Bytes += u.Bytes
		total.Blocks += u.Blocks
	}

	if limit := ephemeralLimit(pod); !limit.IsZero() {
		if takes := over(total, limit.Value()); takes > 0 {
			return fmt.Sprintf("Pod ephemeral local storage usage exceeds the total limit of containers %s. "+
				"Its emptyDirs take %s of the disk",
				&limit, human(takes)), false
		}
	}

	return "", false
}

// small is what a pod may take above its limit in folders, links and ends of blocks, which no Windows counts: some ten
// thousand small files.
const small = 64 << 20

// over returns how much of the disk it is by which a usage is over a limit, 0 if it is not.
func over(u emptydirs.Usage, limit int64) int64 {
	switch {
	case u.Bytes > limit:
		return u.Bytes
	case u.Blocks-small > limit:
		return u.Blocks
	}
	return 0
}

func human(bytes int64) string { return resource.NewQuantity(bytes, resource.BinarySI).String() }

// ephemeralLimit returns how much of ephemeral storage a pod's containers may use together, 0: there is no limit.
func ephemeralLimit(pod *corev1.Pod) resource.Quantity {
	var sum resource.Quantity
	for _, c := range pod.Spec.Containers {
		if limit, ok := c.Resources.Limits[corev1.ResourceEphemeralStorage]; ok {
			sum.Add(limit)
		}
	}
	for _, c := range pod.Spec.InitContainers {
		if limit, ok := c.Resources.Limits[corev1.ResourceEphemeralStorage]; ok && !sum.IsZero() && limit.Cmp(sum) > 0 {
			sum = limit
		}
	}
	return sum
}

// deadline ends a pod at once: it is how long one may be active, in seconds.
const deadline int64 = 1

// evict has the kubelet end a pod and remove its volumes, as it does with one that it evicts: the pod stays, failed,
// and whoever has made it makes another. An event and a condition say why.
func evict(ctx context.Context, client kubeclient.Interface, pod *corev1.Pod, why string) error {
	about := fmt.Sprintf("evict pod %s/%s", pod.Namespace, pod.Name)
	err := kubeclient.Record(ctx, client, pod, kubeclient.Event{
		Component: "mullion",
		Type:      corev1.EventTypeWarning,
		Reason:    Reason,
		Message:   why,
	})
	if err != nil {
		return fmt.Errorf("%s: %w", about, err)
	}

	pods := client.CoreV1().Pods(pod.Namespace)
	text, err := json.Marshal(why)
	if err != nil {
		return err
	}
	condition := fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"conditions":[`+
		`{"type":%q,"status":"True","reason":%q,"message":%s,"lastTransitionTime":%q}]}}`, pod.UID, corev1.DisruptionTarget,
		Reason, text, time.Now().UTC().Format(time.RFC3339))

	_, err = pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, condition, metav1.PatchOptions{}, "status")
	if err != nil {
		return ignoreGone(about, err)
	}
	spec := fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"activeDeadlineSeconds":%d}}`, pod.UID, deadline)
	_, err = pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, spec, metav1.PatchOptions{})
	if apierrors.IsForbidden(err) { // a machine that joined has the rights of its nodes
		err = pods.Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	}

	return ignoreGone(about, err)
}

func ignoreGone(about string, err error) error {
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("%s: %w", about, err)
}
