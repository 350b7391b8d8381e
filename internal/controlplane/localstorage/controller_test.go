package localstorage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/kubeclient/fake"
)

// world is a controller on a fake API, with one node, win-1.
type world struct {
	*testing.T
	client *fake.Clientset
	folder string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	p, folder := disk(t)
	class := func(name, provisioner string) *storagev1.StorageClass {
		return &storagev1.StorageClass{
			ObjectMeta:        metav1.ObjectMeta{Name: name},
			Provisioner:       provisioner,
			ReclaimPolicy:     new(corev1.PersistentVolumeReclaimDelete),
			VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
		}
	}

	w := &world{
		T:      t,
		client: fake.NewClientset(class(Class, Provisioner), class("other", "example.com/other")),
		folder: folder,
	}

	c := New(Config{Client: func() (kubeclient.Interface, error) { return w.client, nil }, Place: p.place})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Stop(context.WithoutCancel(t.Context())) })

	// A fake API does not tell a watcher of changes made before the watch.
	w.eventually("claims and volumes are watched", func() bool {
		seen := map[string]bool{}
		for _, a := range w.client.Actions() {
			seen[a.GetVerb()+" "+a.GetResource().Resource] = true
		}
		return seen["watch persistentvolumeclaims"] && seen["watch persistentvolumes"]
	})

	return w
}

func (w *world) eventually(what string, is func() bool) {
	w.Helper()
	deadline := time.Now().Add(time.Minute)
	for !is() {
		if time.Now().After(deadline) {
			w.Fatalf("it does not come to this: %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// claims makes a claim that the scheduler has given a node.
func (w *world) claims(name string, change func(*corev1.PersistentVolumeClaim)) {
	w.Helper()
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "shop", UID: types.UID(name),
			Annotations: map[string]string{askedAnnotation: Provisioner, nodeAnnotation: "win-1"},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: new(Class),
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: resource.MustParse("1Gi"),
			}},
		},
	}

	if change != nil {
		change(claim)
	}
	if _, err := w.client.CoreV1().PersistentVolumeClaims("shop").Create(w.Context(), claim,
		metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// volume returns the volume of a claim; nil: there is none.
func (w *world) volume(claim string) *corev1.PersistentVolume {
	w.Helper()
	v, err := w.client.CoreV1().PersistentVolumes().Get(w.Context(), "pvc-"+claim, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return v
}

func (w *world) made(claim string) *corev1.PersistentVolume {
	w.Helper()
	w.eventually("the volume of "+claim+" is made", func() bool { return w.volume(claim) != nil })
	return w.volume(claim)
}

func (w *world) change(v *corev1.PersistentVolume) {
	w.Helper()
	if _, err := w.client.CoreV1().PersistentVolumes().Update(w.Context(), v, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// says reports whether there is an event about an object.
func (w *world) says(about, reason, message string) bool {
	w.Helper()
	events, err := w.client.CoreV1().Events("").List(w.Context(), metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
		return e.InvolvedObject.Name == about && e.Reason == reason && strings.Contains(e.Message, message)
	})
}

func (w *world) folders() []string {
	w.Helper()
	entries, err := os.ReadDir(w.folder)
	if err != nil {
		w.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A claim gets a volume that is its own, and the folder goes when the volume is released.
func TestControllerMakesAndRemoves(t *testing.T) {
	w := newWorld(t)
	w.claims("a", nil)
	v := w.made("a")
	ref := v.Spec.ClaimRef
	if v.Annotations[madeByAnnotation] != Provisioner || !slices.Equal(v.Finalizers, []string{finalizer}) ||
		v.Spec.StorageClassName != Class || ref == nil || ref.Namespace != "shop" || ref.Name != "a" || ref.UID != "a" {
		t.Errorf("the volume is %+v", v)
	}

	w.eventually("it is told", func() bool {
		return w.says("a", "Provisioning", `"shop/a"`) && w.says("a", "ProvisioningSucceeded", "pvc-a")
	})
	if got := w.folders(); !slices.Equal(got, []string{"pvc-a"}) {
		t.Errorf("folders %q", got)
	}

	// Somebody takes the finalizer away from a volume in use.
	v.Finalizers, v.Status.Phase = nil, corev1.VolumeBound
	w.change(v)
	w.eventually("the finalizer is back", func() bool { return slices.Contains(w.volume("a").Finalizers, finalizer) })

	v = w.volume("a")
	v.Status.Phase = corev1.VolumeReleased
	w.change(v)
	w.eventually("volume and folder are gone", func() bool { return w.volume("a") == nil && len(w.folders()) == 0 })
}

// A volume that is to be kept is left, and its object is deleted without Mullion.
func TestControllerRetains(t *testing.T) {
	w := newWorld(t)
	w.claims("a", nil)
	v := w.made("a")
	v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	v.Status.Phase = corev1.VolumeReleased
	w.change(v)
	w.eventually("the finalizer is gone", func() bool { return len(w.volume("a").Finalizers) == 0 })
	if got := w.folders(); !slices.Equal(got, []string{"pvc-a"}) {
		t.Errorf("folders %q", got)
	}
}

// Claims of others, claims without a node and claims with a volume are left alone; one that cannot be is told why.
func TestControllerLeavesAlone(t *testing.T) {
	w := newWorld(t)
	w.claims("others", func(c *corev1.PersistentVolumeClaim) { c.Annotations[askedAnnotation] = "example.com/other" })
	w.claims("class", func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = new("other") })
	w.claims("waits", func(c *corev1.PersistentVolumeClaim) { delete(c.Annotations, nodeAnnotation) })
	w.claims("bound", func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "mine" })
	w.claims("many", func(c *corev1.PersistentVolumeClaim) {
		c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	})

	w.claims("beta", func(c *corev1.PersistentVolumeClaim) {
		c.Annotations = map[string]string{
			askedBetaAnnotation: Provisioner, nodeAnnotation: "win-1", corev1.BetaStorageClassAnnotation: Class,
		}
		c.Spec.StorageClassName = nil
	})

	w.made("beta")
	w.eventually("the refusal is told", func() bool { return w.says("many", "ProvisioningFailed", "ReadWriteMany") })
	for _, name := range []string{"others", "class", "waits", "bound", "many"} {
		if v := w.volume(name); v != nil {
			t.Errorf("%s has volume %+v", name, v)
		}
	}

	waits, err := w.client.CoreV1().PersistentVolumeClaims("shop").Get(t.Context(), "waits", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}

	waits.Annotations[nodeAnnotation] = "win-1"
	if _, err := w.client.CoreV1().PersistentVolumeClaims("shop").Update(t.Context(), waits,
		metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.made("waits")
}

// A folder whose object the API did not take is not forgotten, even if its claim is gone by then.
func TestControllerSavesAgain(t *testing.T) {
	w := newWorld(t)
	var refused atomic.Int32
	w.client.PrependReactor("create", "persistentvolumes", func(clienttesting.Action) (bool, runtime.Object, error) {
		if refused.Add(1) > 2 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewServiceUnavailable("etcd has no leader")
	})

	w.claims("a", nil)
	w.eventually("it is refused", func() bool { return refused.Load() > 0 })
	if err := w.client.CoreV1().PersistentVolumeClaims("shop").Delete(t.Context(), "a",
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}

	w.made("a")
	if got := w.folders(); !slices.Equal(got, []string{"pvc-a"}) {
		t.Errorf("folders %q", got)
	}
}

// A folder that cannot be removed is told, and is tried again.
func TestControllerTriesAgain(t *testing.T) {
	w := newWorld(t)
	w.claims("a", nil)
	v := w.made("a")
	v.Spec.HostPath.Path = `C:\elsewhere`
	v.Status.Phase = corev1.VolumeReleased
	w.change(v)
	w.eventually("it is told", func() bool { return w.says("pvc-a", "VolumeFailedDelete", "not where this provisioner") })
	v = w.volume("a")
	v.Spec.HostPath.Path = `C:\var\volumes\pvc-a`
	w.change(v)
	w.eventually("volume and folder are gone", func() bool { return w.volume("a") == nil && len(w.folders()) == 0 })
	if _, err := os.Stat(filepath.Join(w.folder, "pvc-a")); !os.IsNotExist(err) {
		t.Error(fmt.Errorf("the folder is left: %w", err))
	}
}
