// Package fake owns an API for tests: objects in memory, which answer package kubeclient's requests by way of
// client-go's fake (k8s.io/client-go/testing). A test may put reactors before them and look at what was asked. There
// is no server: nothing is validated, no default is set, no field selector is obeyed. Only tests import it.
package fake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/testing"
	"k8s.io/client-go/util/flowcontrol"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// Logs is the output of every container.
const Logs = "fake logs"

// Clientset is an API.
type Clientset struct {
	*kubeclient.Client
	*testing.Fake

	// Info is the version that it says.
	Info version.Info

	tracker testing.ObjectTracker
}

var _ kubeclient.Interface = (*Clientset)(nil)

// NewClientset returns an API with these objects.
func NewClientset(objects ...runtime.Object) *Clientset {
	tracker := testing.NewFieldManagedObjectTracker(kubeclient.Scheme(), kubeclient.Codecs().UniversalDecoder(),
		managedfields.NewDeducedTypeConverter())
	c := &Clientset{Fake: &testing.Fake{}, tracker: tracker}
	c.Client = kubeclient.New(backend{c})
	c.AddReactor("*", "*", testing.ObjectReaction(tracker))
	for _, object := range objects {
		if err := tracker.Add(object); err != nil {
			// The test finds it out by its first request.
			c.PrependReactor("*", "*", func(testing.Action) (bool, runtime.Object, error) { return true, nil, err })
		}
	}

	c.AddWatchReactor("*", func(action testing.Action) (bool, watch.Interface, error) {
		var o metav1.ListOptions
		if w, ok := action.(testing.WatchActionImpl); ok {
			o = w.ListOptions
		}
		seen, err := tracker.Watch(action.GetResource(), action.GetNamespace(), o)
		return err == nil, seen, err
	})

	return c
}

// Tracker has the objects.
func (c *Clientset) Tracker() testing.ObjectTracker { return c.tracker }

// backend carries requests out as actions.
type backend struct{ c *Clientset }

// IsWatchListSemanticsUnSupported tells informers to list first, and then to watch.
func (backend) IsWatchListSemanticsUnSupported() bool { return true }

// Do implements kubeclient.Backend.
func (b backend) Do(_ context.Context, r kubeclient.Request, into runtime.Object) (runtime.Object, error) {
	action, err := actionOf(r, into)
	if err != nil {
		return nil, err
	}

	got, err := b.c.Invokes(action, into)
	if got == nil {
		return into, err
	}
	if r.Verb == kubeclient.List && err == nil {
		return selected(r, got, into)
	}
	return got, err
}

// actionOf returns a request in the words of client-go's fake.
func actionOf(r kubeclient.Request, into runtime.Object) (testing.Action, error) {
	what := r.Resource
	in := r.Namespace
	part := strings.Join(r.Subresources, "/")
	switch o := r.Options.(type) {
	case *metav1.GetOptions:
		return testing.NewGetActionWithOptions(what, in, r.Name, *o), nil
	case *metav1.CreateOptions:
		return testing.NewCreateActionWithOptions(what, in, r.Body, *o), nil
	case *metav1.UpdateOptions:
		return testing.NewUpdateSubresourceActionWithOptions(what, part, in, r.Body, *o), nil
	case *metav1.PatchOptions:
		return testing.NewPatchSubresourceActionWithOptions(what, in, r.Name, r.PatchType, r.Patch, *o,
			r.Subresources...), nil

	case *metav1.ListOptions:
		if r.Verb == kubeclient.List {
			kinds, _, err := kubeclient.Scheme().ObjectKinds(into)
			if err != nil {
				return nil, err
			}
			kind := kinds[0].GroupVersion().WithKind(strings.TrimSuffix(kinds[0].Kind, "List"))
			return testing.NewListActionWithOptions(what, kind, in, *o), nil
		}

		if d, ok := r.Body.(*metav1.DeleteOptions); ok {
			return testing.NewDeleteCollectionActionWithOptions(what, in, *d, *o), nil
		}
	}

	if d, ok := r.Body.(*metav1.DeleteOptions); ok && r.Verb == kubeclient.Delete {
		return testing.NewDeleteActionWithOptions(what, in, r.Name, *d), nil
	}

	return nil, fmt.Errorf("carry out %s %s with options of type %T: no action is like it", r.Verb, what.Resource,
		r.Options)
}

// selected returns the objects of a list that the request's labels select.
func selected(r kubeclient.Request, list, into runtime.Object) (runtime.Object, error) {
	o, ok := r.Options.(*metav1.ListOptions)
	if !ok || o.LabelSelector == "" {
		return list, nil
	}
	selector, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return nil, err
	}

	all, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}

	var kept []runtime.Object
	for _, one := range all {
		if object, err := meta.Accessor(one); err == nil && selector.Matches(labels.Set(object.GetLabels())) {
			kept = append(kept, one)
		}
	}

	return into, meta.SetList(into, kept)
}

// Watch implements kubeclient.Backend.
func (b backend) Watch(_ context.Context, r kubeclient.Request) (watch.Interface, error) {
	o, ok := r.Options.(*metav1.ListOptions)
	if !ok {
		return nil, errors.New("a watch has options of a list")
	}
	return b.c.InvokesWatch(testing.NewWatchActionWithOptions(r.Resource, r.Namespace, *o))
}

// Version implements kubeclient.Backend.
func (b backend) Version(context.Context) (*version.Info, error) {
	_, err := b.c.Invokes(testing.ActionImpl{Verb: "get", Resource: schema.GroupVersionResource{Resource: "version"}},
		nil)
	info := b.c.Info
	return &info, err
}

// REST implements kubeclient.Backend: every answer is Logs.
func (backend) REST(group schema.GroupVersion) rest.Interface {
	client, err := rest.NewRESTClient(&url.URL{Scheme: "http", Host: "fake"}, "", rest.ClientContentConfig{
		GroupVersion: group,
	}, flowcontrol.NewFakeAlwaysRateLimiter(), &http.Client{Transport: transport{}})
	if err != nil {
		return nil
	}
	return client
}

// transport answers every request with Logs.
type transport struct{}

// RoundTrip implements http.RoundTripper.
func (transport) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewBufferString(Logs))}, nil
}
