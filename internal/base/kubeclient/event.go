package kubeclient

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// maxMessage is how long the API lets an event's message be, in bytes.
const maxMessage = 1024

// Event is what happened to an object, as `kubectl describe` shows it.
type Event struct {
	// Component says it.
	Component string
	// Type is corev1.EventTypeNormal or EventTypeWarning.
	Type, Reason, Message string
}

// Record tells of an event. One that was told before, word for word, is counted: an event that happens each few seconds
// is one object.
func Record(ctx context.Context, client Interface, about Object, e Event) error {
	kinds, _, err := Scheme().ObjectKinds(about)
	if err != nil {
		return fmt.Errorf("record event %s: %w", e.Reason, err)
	}
	namespace := about.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault // where kubectl looks for those of objects without one
	}

	if len(e.Message) > maxMessage {
		e.Message = e.Message[:maxMessage]
	}

	now, name := metav1.NewTime(time.Now()), nameOf(about, e)
	events := client.CoreV1().Events(namespace)
	version, kind := kinds[0].ToAPIVersionAndKind()
	_, err = events.Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		InvolvedObject: corev1.ObjectReference{
			APIVersion:      version,
			Kind:            kind,
			Namespace:       about.GetNamespace(),
			Name:            about.GetName(),
			UID:             about.GetUID(),
			ResourceVersion: about.GetResourceVersion(),
		},
		Type:                e.Type,
		Reason:              e.Reason,
		Message:             e.Message,
		Count:               1,
		FirstTimestamp:      now,
		LastTimestamp:       now,
		Source:              corev1.EventSource{Component: e.Component},
		ReportingController: e.Component,
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = again(ctx, events, name, now)
	}
	if err != nil {
		return fmt.Errorf("record event %s of %s %q: %w", e.Reason, kind, about.GetName(), err)
	}

	return nil
}

// nameOf returns an event's name: the same for the same words.
func nameOf(about Object, e Event) string {
	h := fnv.New64a()
	for _, part := range []string{string(about.GetUID()), e.Component, e.Type, e.Reason, e.Message} {
		fmt.Fprintf(h, "%q", part)
	}
	return fmt.Sprintf("%s.%016x", about.GetName(), h.Sum64())
}

// again counts an event once more.
func again(ctx context.Context, events Resource[*corev1.Event, *corev1.EventList], name string, now metav1.Time) error {
	old, err := events.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"count": old.Count + 1, "lastTimestamp": now})
	if err != nil {
		return err
	}
	_, err = events.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
