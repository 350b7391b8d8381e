package kubeclient

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Object is an object of the API, by pointer.
type Object interface {
	runtime.Object
	metav1.Object
}

// Resource is a kind of objects T, whose lists are L, in one namespace or in all.
type Resource[T Object, L runtime.Object] struct {
	via       Backend
	resource  schema.GroupVersionResource
	namespace string
}

// fresh returns an empty object; T is a pointer.
func fresh[T runtime.Object]() T {
	made, _ := reflect.TypeAssert[T](reflect.New(reflect.TypeFor[T]().Elem())) // it is of that type
	return made
}

// do carries a request out whose answer is a T.
func do[T runtime.Object](ctx context.Context, via Backend, r Request) (T, error) {
	into := fresh[T]()
	got, err := via.Do(ctx, r, into)
	if answer, ok := got.(T); ok {
		return answer, err
	}
	if err == nil {
		err = fmt.Errorf("%s %s: the answer is a %T", r.Verb, r.Resource.Resource, got)
	}
	return into, err
}

func (r Resource[T, L]) request(verb Verb, name string, options runtime.Object) Request {
	return Request{
		Verb:      verb,
		Resource:  r.resource,
		Namespace: r.namespace,
		Name:      name,
		Options:   options,
	}
}

// Get returns an object by its name.
func (r Resource[T, L]) Get(ctx context.Context, name string, o metav1.GetOptions) (T, error) {
	return do[T](ctx, r.via, r.request(Get, name, &o))
}

// List returns the objects that the options select.
func (r Resource[T, L]) List(ctx context.Context, o metav1.ListOptions) (L, error) {
	q := r.request(List, "", &o)
	q.Timeout = timeout(o)
	return do[L](ctx, r.via, q)
}

// Watch follows the objects that the options select.
func (r Resource[T, L]) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	q := r.request(Watch, "", &o)
	q.Timeout = timeout(o)
	return r.via.Watch(ctx, q)
}

// timeout returns how long the server is to take at most.
func timeout(o metav1.ListOptions) time.Duration {
	if o.TimeoutSeconds == nil {
		return 0
	}
	return time.Duration(*o.TimeoutSeconds) * time.Second
}

// Create makes an object.
func (r Resource[T, L]) Create(ctx context.Context, object T, o metav1.CreateOptions) (T, error) {
	q := r.request(Create, "", &o)
	q.Body = object
	return do[T](ctx, r.via, q)
}

// Update replaces an object.
func (r Resource[T, L]) Update(ctx context.Context, object T, o metav1.UpdateOptions) (T, error) {
	return r.update(ctx, object, o)
}

// UpdateStatus replaces the status of an object.
func (r Resource[T, L]) UpdateStatus(ctx context.Context, object T, o metav1.UpdateOptions) (T, error) {
	return r.update(ctx, object, o, "status")
}

func (r Resource[T, L]) update(ctx context.Context, object T, o metav1.UpdateOptions, part ...string) (T, error) {
	q := r.request(Update, object.GetName(), &o)
	q.Subresources, q.Body = part, object
	return do[T](ctx, r.via, q)
}

// Patch changes an object, or a part of it.
//
//nolint:revive // client-go's arguments
func (r Resource[T, L]) Patch(ctx context.Context, name string, kind types.PatchType, patch []byte,
	o metav1.PatchOptions, part ...string,
) (T, error) {
	q := r.request(Patch, name, &o)
	q.Subresources = part
	q.PatchType, q.Patch = kind, patch
	return do[T](ctx, r.via, q)
}

// Apply makes the object have the fields that are set in this one, by server-side apply. Its status is left alone.
func (r Resource[T, L]) Apply(ctx context.Context, object T, o metav1.ApplyOptions) (T, error) {
	body, err := applied(object)
	if err != nil {
		return object, fmt.Errorf("encode %s %q: %w", r.resource.Resource, object.GetName(), err)
	}
	return r.Patch(ctx, object.GetName(), types.ApplyYAMLPatchType, body, o.ToPatchOptions())
}

// applied returns the text of an object with the fields that are set.
func applied(object runtime.Object) ([]byte, error) {
	kinds, _, err := Scheme().ObjectKinds(object)
	if err != nil {
		return nil, err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}

	fields["apiVersion"], fields["kind"] = kinds[0].ToAPIVersionAndKind()
	delete(fields, "status")
	if spec, ok := fields["spec"].(map[string]any); ok && len(spec) == 0 {
		delete(fields, "spec")
	}
	if meta, ok := fields["metadata"].(map[string]any); ok && meta["creationTimestamp"] == nil {
		delete(meta, "creationTimestamp")
	}

	return json.Marshal(fields)
}

// Delete removes an object by its name.
func (r Resource[T, L]) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	q := r.request(Delete, name, nil)
	q.Body = &o
	_, err := r.via.Do(ctx, q, nil)
	return err
}

// DeleteCollection removes the objects that the options select.
func (r Resource[T, L]) DeleteCollection(ctx context.Context, o metav1.DeleteOptions, which metav1.ListOptions) error {
	q := r.request(DeleteCollection, "", &which)
	q.Body, q.Timeout = &o, timeout(which)
	_, err := r.via.Do(ctx, q, nil)
	return err
}
