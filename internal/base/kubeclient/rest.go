package kubeclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// server sends requests to an API server, over the same connections for all groups.
type server struct {
	groups map[schema.GroupVersion]rest.Interface
}

// NewForConfig returns a client of an API server.
func NewForConfig(c *rest.Config) (*Client, error) {
	known := once()
	if known.err != nil {
		return nil, known.err
	}

	config := *c
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	client, err := rest.HTTPClientFor(&config)
	if err != nil {
		return nil, fmt.Errorf("make a client of %s: %w", config.Host, err)
	}

	if config.RateLimiter == nil && config.QPS > 0 {
		if config.Burst <= 0 {
			return nil, errors.New("a limit of requests a second needs one of requests at once")
		}
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
	}
	config.NegotiatedSerializer = rest.CodecFactoryForGeneratedClient(known.scheme, known.codecs).WithoutConversion()

	s := server{groups: map[schema.GroupVersion]rest.Interface{}}
	for _, group := range known.scheme.PrioritizedVersionsAllGroups() {
		of := config
		of.GroupVersion, of.APIPath = &group, "/apis"
		if group.Group == "" {
			of.APIPath = "/api"
		}
		if s.groups[group], err = rest.RESTClientForConfigAndClient(&of, client); err != nil {
			return nil, fmt.Errorf("make a client of %s for group %s: %w", config.Host, group, err)
		}
	}

	return New(s), nil
}

// REST implements Backend.
func (s server) REST(group schema.GroupVersion) rest.Interface { return s.groups[group] }

// Do implements Backend.
func (s server) Do(ctx context.Context, r Request, into runtime.Object) (runtime.Object, error) {
	result := s.request(r).Do(ctx)
	if into == nil {
		return nil, result.Error()
	}
	return into, result.Into(into)
}

// Watch implements Backend.
func (s server) Watch(ctx context.Context, r Request) (watch.Interface, error) {
	return s.request(r).Watch(ctx)
}

// request asks as client-go's typed clients do:
// https://github.com/kubernetes/client-go/blob/v0.37.1/gentype/type.go
func (s server) request(r Request) *rest.Request {
	client := s.groups[r.Resource.GroupVersion()]
	var q *rest.Request
	switch r.Verb {
	case Create:
		q = client.Post()
	case Update:
		q = client.Put()
	case Patch:
		q = client.Patch(r.PatchType)
	case Delete, DeleteCollection:
		q = client.Delete()
	case Get, List, Watch:
		q = client.Get()
	}

	q.UseProtobufAsDefaultIfPreferred(true).NamespaceIfScoped(r.Namespace, r.Namespace != "").
		Resource(r.Resource.Resource)
	switch r.Verb {
	case Get, Update, Patch, Delete:
		q.Name(r.Name) // it refuses a request without one
	case List, Create, DeleteCollection, Watch:
	}

	q.SubResource(r.Subresources...).Timeout(r.Timeout)
	if r.Options != nil {
		q.VersionedParams(r.Options, ParameterCodec())
	}

	switch {
	case r.Body != nil:
		q.Body(r.Body)
	case r.Patch != nil:
		q.Body(r.Patch)
	}

	return q
}

// Version implements Backend.
func (s server) Version(ctx context.Context) (*version.Info, error) {
	text, err := s.groups[schema.GroupVersion{Version: "v1"}].Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	var info version.Info
	if err := json.Unmarshal(text, &info); err != nil {
		return nil, fmt.Errorf("read the API server's version: %w", err)
	}
	return &info, nil
}
