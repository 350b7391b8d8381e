package localstorage

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/process/component"
)

// The first and the longest pause between tries after a failure.
const (
	retryFirst = 500 * time.Millisecond
	retryMost  = 30 * time.Second
)

// workers is how many claims, and how many volumes, are worked at at once: another machine may take long.
const workers = 4

// resync is how often every claim and volume is looked at again.
const resync = 15 * time.Minute

// Annotations by which the API server's controllers, the scheduler and provisioners know of each other, and the
// finalizer of provisioners, which keeps a volume's object until its folder is gone:
// https://github.com/kubernetes-sigs/sig-storage-lib-external-provisioner/blob/v13.0.0/controller/controller.go
const (
	askedAnnotation     = "volume.kubernetes.io/storage-provisioner"
	askedBetaAnnotation = "volume.beta.kubernetes.io/storage-provisioner"
	nodeAnnotation      = "volume.kubernetes.io/selected-node"
	madeByAnnotation    = "pv.kubernetes.io/provisioned-by"
	finalizer           = "external-provisioner.volume.kubernetes.io/finalizer"
)

// queue are names of objects that are to be looked at.
type queue = workqueue.TypedRateLimitingInterface[string]

// Controller is the component that provisions volumes and removes them.
type Controller struct {
	cfg    Config
	work   provisioner
	client kubeclient.Interface

	claims, volumes cache.Store
	claimQueue      queue
	volumeQueue     queue
	// unsaved are volumes whose folder is there and whose object is not yet, by their claims.
	unsaved sync.Map

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// New returns the component, not started.
func New(cfg Config) *Controller {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Controller{cfg: cfg, work: provisioner{cfg.Place, cfg.Elsewhere}}
}

// ID implements component.Component.
func (c *Controller) ID() component.ID { return component.Sole("local-storage") }

// Start begins to watch claims and volumes.
func (c *Controller) Start(ctx context.Context) error {
	var err error
	if c.client, err = c.cfg.Client(); err != nil {
		return err
	}

	newQueue := func() queue {
		return workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](retryFirst, retryMost))
	}
	c.claimQueue, c.volumeQueue = newQueue(), newQueue()
	claims := c.client.CoreV1().PersistentVolumeClaims("").Informer(resync)
	volumes := c.client.CoreV1().PersistentVolumes().Informer(resync)
	c.claims, c.volumes = claims.GetStore(), volumes.GetStore()

	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	for informer, to := range map[cache.SharedIndexInformer]queue{claims: c.claimQueue, volumes: c.volumeQueue} {
		add := func(object any) {
			if key, err := cache.MetaNamespaceKeyFunc(object); err == nil {
				to.Add(key)
			}
		}

		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    add,
			UpdateFunc: func(_, object any) { add(object) },
		}); err != nil {
			cancel()
			return err
		}
	}

	c.cancel = cancel
	c.done.Go(func() { claims.RunWithContext(run) })
	c.done.Go(func() { volumes.RunWithContext(run) })
	c.done.Go(func() {
		// A claim whose volume is there, but not seen yet, would get its folder anew.
		if !cache.WaitForCacheSync(run.Done(), claims.HasSynced, volumes.HasSynced) {
			return
		}
		for range workers {
			c.done.Go(func() { c.follow(run, c.claimQueue, "claim", c.syncClaim) })
			c.done.Go(func() { c.follow(run, c.volumeQueue, "volume", c.syncVolume) })
		}
	})

	return nil
}

// Stop ends the watch; volumes stay.
func (c *Controller) Stop(context.Context) error {
	if c.cancel != nil {
		c.cancel()
		c.done.Wait()
	}
	return nil
}

// follow looks at what a queue names until ctx is over, and tries again what failed.
func (c *Controller) follow(ctx context.Context, q queue, kind string, sync func(context.Context, string) error) {
	stop := context.AfterFunc(ctx, q.ShutDown)
	defer stop()

	for {
		key, shutdown := q.Get()
		if shutdown {
			return
		}

		err := sync(ctx, key)
		switch {
		case err == nil:
			q.Forget(key)
		case ctx.Err() == nil:
			c.cfg.Log.WarnContext(ctx, "provision local storage", kind, key, "error", err)
			q.AddRateLimited(key)
		}

		q.Done(key)
	}
}

// syncClaim makes a claim's volume, if it is ours to make and not made yet.
func (c *Controller) syncClaim(ctx context.Context, key string) error {
	if err := c.saveAgain(ctx, key); err != nil {
		return err
	}

	object, exists, err := c.claims.GetByKey(key)
	claim, ok := object.(*corev1.PersistentVolumeClaim)
	if err != nil || !exists || !ok || !asked(claim) {
		return err
	}
	class, err := c.client.StorageV1().StorageClasses().Get(ctx, classOf(claim), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the class of claim %q: %w", key, err)
	}

	node := claim.Annotations[nodeAnnotation]
	waits := class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	name := "pvc-" + string(claim.UID)
	_, made, err := c.volumes.GetByKey(name)
	if class.Provisioner != Provisioner || (waits && node == "") || made || err != nil {
		return err
	}

	c.say(ctx, claim, corev1.EventTypeNormal, "Provisioning", fmt.Sprintf(
		"External provisioner is provisioning volume for claim %q", key))
	volume, err := c.work.Provision(ctx, request{
		StorageClass:     class,
		PVName:           name,
		PVC:              claim,
		SelectedNodeName: node,
	})
	if err != nil {
		c.say(ctx, claim, corev1.EventTypeWarning, "ProvisioningFailed", err.Error())
		return err
	}

	volume.Finalizers = []string{finalizer}
	volume.Annotations = map[string]string{madeByAnnotation: Provisioner}
	volume.Spec.StorageClassName = class.Name
	volume.Spec.ClaimRef = &corev1.ObjectReference{
		APIVersion:      "v1",
		Kind:            "PersistentVolumeClaim",
		Namespace:       claim.Namespace,
		Name:            claim.Name,
		UID:             claim.UID,
		ResourceVersion: claim.ResourceVersion,
	}

	c.unsaved.Store(key, volume)
	if err := c.saveAgain(ctx, key); err != nil {
		return err
	}
	c.say(ctx, claim, corev1.EventTypeNormal, "ProvisioningSucceeded", "Successfully provisioned volume "+name)
	return nil
}

// asked reports whether a claim has no volume and asks this provisioner for one.
func asked(claim *corev1.PersistentVolumeClaim) bool {
	by, ok := claim.Annotations[askedAnnotation]
	if !ok {
		by = claim.Annotations[askedBetaAnnotation]
	}
	return claim.Spec.VolumeName == "" && by == Provisioner
}

// classOf returns the name of a claim's class.
func classOf(claim *corev1.PersistentVolumeClaim) string {
	if class, ok := claim.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		return class
	}
	if claim.Spec.StorageClassName != nil {
		return *claim.Spec.StorageClassName
	}
	return ""
}

// saveAgain saves a volume whose folder is there. A claim that is gone by then has its volume all the same: the API
// server releases it, and the folder is removed as that of every released volume.
func (c *Controller) saveAgain(ctx context.Context, claim string) error {
	object, _ := c.unsaved.Load(claim)
	volume, ok := object.(*corev1.PersistentVolume)
	if !ok {
		return nil
	}
	_, err := c.client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("save volume %q: %w", volume.Name, err)
	}
	c.unsaved.Delete(claim)
	return nil
}

// syncVolume keeps the finalizer of a volume of ours, and removes one that is released.
func (c *Controller) syncVolume(ctx context.Context, name string) error {
	object, exists, err := c.volumes.GetByKey(name)
	volume, ok := object.(*corev1.PersistentVolume)
	if err != nil || !exists || !ok || volume.Annotations[madeByAnnotation] != Provisioner {
		return err
	}

	kept := slices.Contains(volume.Finalizers, finalizer)
	if volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		if kept {
			return c.patch(ctx, name, "$deleteFromPrimitiveList/finalizers")
		}
		return nil
	}

	switch {
	case volume.Status.Phase == corev1.VolumeBound && volume.DeletionTimestamp == nil && !kept:
		return c.patch(ctx, name, "finalizers")
	case volume.Status.Phase != corev1.VolumeReleased:
		return nil
	case volume.DeletionTimestamp != nil && !kept:
		return nil // its folder has been removed
	}

	return c.remove(ctx, volume, kept)
}

// remove removes a volume's folder and then its object, of which kept says that it has our finalizer.
func (c *Controller) remove(ctx context.Context, volume *corev1.PersistentVolume, kept bool) error {
	if err := c.work.Delete(ctx, volume); err != nil {
		c.say(ctx, volume, corev1.EventTypeWarning, "VolumeFailedDelete", err.Error())
		return err
	}

	err := c.client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{})
	if err == nil && kept {
		err = c.patch(ctx, volume.Name, "$deleteFromPrimitiveList/finalizers")
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove the object of volume %q: %w", volume.Name, err)
	}

	return nil
}

// patch adds our finalizer to those of a volume, or takes it from them.
func (c *Controller) patch(ctx context.Context, volume, how string) error {
	text := fmt.Appendf(nil, `{"metadata":{%q:[%q]}}`, how, finalizer)
	_, err := c.client.CoreV1().PersistentVolumes().Patch(ctx, volume, types.StrategicMergePatchType, text,
		metav1.PatchOptions{})
	return err
}

// say tells of an event; that it cannot be told keeps nobody from a volume.
func (c *Controller) say(ctx context.Context, about kubeclient.Object, kind, reason, message string) {
	event := kubeclient.Event{
		Component: Provisioner,
		Type:      kind,
		Reason:    reason,
		Message:   message,
	}
	if err := kubeclient.Record(ctx, c.client, about, event); err != nil && ctx.Err() == nil {
		c.cfg.Log.WarnContext(ctx, "tell of an event of local storage", "error", err)
	}
}
