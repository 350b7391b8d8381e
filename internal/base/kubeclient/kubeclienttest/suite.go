// Package kubeclienttest owns what every API behind package kubeclient does: that of tests (package fake) and a real
// API server pass the same suite.
package kubeclienttest

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// namespace has the suite's objects.
const namespace = "default"

// Suite tries an API. Its objects are gone when it ends.
func Suite(t *testing.T, client kubeclient.Interface) {
	t.Helper()
	t.Run("objects", func(t *testing.T) { objects(t, client) })
	t.Run("apply", func(t *testing.T) { apply(t, client) })
	t.Run("watch", func(t *testing.T) { watches(t, client) })
	t.Run("events", func(t *testing.T) { events(t, client) })
	t.Run("version", func(t *testing.T) {
		if _, err := client.ServerVersion(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name:      name,
			Namespace: namespace,
			Labels:    map[string]string{"suite": name},
		},
		Data: map[string]string{"key": value},
	}
}

// objects makes, reads, changes and removes objects.
func objects(t *testing.T, client kubeclient.Interface) {
	t.Helper()
	ctx, maps := t.Context(), client.CoreV1().ConfigMaps(namespace)
	for _, name := range []string{"suite-a", "suite-b"} {
		if got, err := maps.Create(ctx, configMap(name, "1"), metav1.CreateOptions{}); err != nil || got.Name != name {
			t.Fatalf("create %s: %v, %v", name, got, err)
		}
	}

	if _, err := maps.Create(ctx, configMap("suite-a", "2"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("create one that is there: %v", err)
	}
	if _, err := maps.Get(ctx, "suite-none", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("read one that is not there: %v", err)
	}

	list, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "suite=suite-b"})
	if err != nil || len(list.Items) != 1 || list.Items[0].Name != "suite-b" {
		t.Errorf("list by a label: %+v, %v", list, err)
	}
	if list, err = client.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{LabelSelector: "suite"}); err != nil ||
		len(list.Items) != 2 {
		t.Errorf("list of all namespaces: %+v, %v", list, err)
	}

	changes(t, client)
	for _, name := range []string{"suite-a", "suite-b"} {
		if err := maps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}

	if err := maps.Delete(ctx, "suite-a", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("remove one that is gone: %v", err)
	}
}

// changes changes one of the objects in all ways.
func changes(t *testing.T, client kubeclient.Interface) {
	t.Helper()
	ctx, maps := t.Context(), client.CoreV1().ConfigMaps(namespace)
	value := func(want string) {
		t.Helper()
		if got, err := maps.Get(ctx, "suite-a", metav1.GetOptions{}); err != nil || got.Data["key"] != want {
			t.Errorf("key = %q, want %q: %v", got.Data["key"], want, err)
		}
	}

	value("1")
	if _, err := maps.Update(ctx, configMap("suite-a", "3"), metav1.UpdateOptions{}); err != nil {
		t.Error(err)
	}

	value("3")
	for i, kind := range []types.PatchType{types.MergePatchType, types.StrategicMergePatchType} {
		want := fmt.Sprint("patched ", i)
		patch := fmt.Appendf(nil, `{"data":{"key":%q}}`, want)
		if _, err := maps.Patch(ctx, "suite-a", kind, patch, metav1.PatchOptions{}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		value(want)
	}
}

// apply makes an object by server-side apply, and takes fields from it by not naming them any more.
func apply(t *testing.T, client kubeclient.Interface) {
	t.Helper()
	ctx, force := t.Context(), metav1.ApplyOptions{FieldManager: "suite", Force: true}
	slices := client.DiscoveryV1().EndpointSlices(namespace)
	t.Cleanup(func() { _ = slices.Delete(context.WithoutCancel(ctx), "suite", metav1.DeleteOptions{}) })
	slice := func(labels map[string]string, ready bool) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Name:      "suite",
				Namespace: namespace,
				Labels:    labels,
			},
			AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints: []discoveryv1.Endpoint{{
				Addresses:  []string{"192.0.2.1"},
				Conditions: discoveryv1.EndpointConditions{Ready: &ready},
			}},
		}
	}

	if _, err := slices.Apply(ctx, slice(map[string]string{"a": "1", "b": "1"}, false), force); err != nil {
		t.Fatal(err)
	}

	got, err := slices.Apply(ctx, slice(map[string]string{"a": "2"}, true), force)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a": "2"}, got.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}

	if e := got.Endpoints; len(e) != 1 || e[0].Conditions.Ready == nil || !*e[0].Conditions.Ready {
		t.Errorf("endpoints = %+v", e)
	}
	if err := slices.Delete(ctx, "suite", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// watches sees what happens to objects, itself and by an informer.
func watches(t *testing.T, client kubeclient.Interface) {
	t.Helper()
	ctx, maps := t.Context(), client.CoreV1().ConfigMaps(namespace)
	seen := make(chan string, 10)
	informer := maps.Informer(0)
	handled, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if c, ok := object.(*corev1.ConfigMap); ok && c.Name == "suite-w" {
				seen <- "added"
			}
		},
		DeleteFunc: func(any) { seen <- "deleted" },
	})
	if err != nil {
		t.Fatal(err)
	}

	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), handled.HasSynced) {
		t.Fatal("the list did not arrive")
	}
	follows, err := maps.Watch(ctx, metav1.ListOptions{LabelSelector: "suite"})
	if err != nil {
		t.Fatal(err)
	}
	defer follows.Stop()

	if _, err := maps.Create(ctx, configMap("suite-w", "1"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	event := <-follows.ResultChan()
	if c, ok := event.Object.(*corev1.ConfigMap); !ok || c.Name != "suite-w" || event.Type != "ADDED" {
		t.Errorf("the watch shows %+v", event)
	}

	if got := <-seen; got != "added" {
		t.Errorf("the informer has %s it", got)
	}
	stored := kubeclient.Stored[*corev1.ConfigMap](informer.GetStore())
	if len(stored) == 0 {
		t.Error("the informer's store is empty")
	}

	if err := maps.Delete(ctx, "suite-w", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := <-seen; got != "deleted" {
		t.Errorf("the informer has %s it", got)
	}
}

// events tells of something twice, and of something else once.
func events(t *testing.T, client kubeclient.Interface) {
	t.Helper()
	ctx, maps := t.Context(), client.CoreV1().ConfigMaps(namespace)
	about, err := maps.Create(ctx, configMap("suite-e", "1"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = maps.Delete(context.WithoutCancel(ctx), "suite-e", metav1.DeleteOptions{}) })
	for _, message := range []string{"one", "one", "two"} {
		err := kubeclient.Record(ctx, client, about, kubeclient.Event{
			Component: "suite",
			Type:      corev1.EventTypeWarning,
			Reason:    "Tried",
			Message:   message,
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	list, err := client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}

	got := map[string]int32{}
	for _, e := range list.Items {
		o := e.InvolvedObject
		if e.Reason != "Tried" || o.Name != "suite-e" {
			continue
		}
		got[e.Message] = e.Count
		if o.Kind != "ConfigMap" || o.APIVersion != "v1" || o.UID != about.UID || e.Source.Component != "suite" {
			t.Errorf("event %+v", e)
		}

		if err := client.CoreV1().Events(namespace).Delete(ctx, e.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}

	if diff := cmp.Diff(map[string]int32{"one": 2, "two": 1}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
