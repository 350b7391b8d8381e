package kubeclient

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// Interface is the API of a cluster.
//
//nolint:interfacebloat // a method a group, as the field's clientset has it
type Interface interface {
	AdmissionregistrationV1() Admissionregistration
	AppsV1() Apps
	AuthorizationV1() Authorization
	CertificatesV1() Certificates
	CoreV1() Core
	DiscoveryV1() Discovery
	NetworkingV1() Networking
	NodeV1() Node
	RbacV1() Rbac
	StorageV1() Storage

	// RESTClient sends requests to any path.
	RESTClient() rest.Interface
	// ServerVersion asks the API server for its version.
	ServerVersion(ctx context.Context) (*version.Info, error)
}

// Backend carries requests out: that of New sends them to an API server.
type Backend interface {
	// Do carries out a request and returns the answer: into itself, or another object of its type.
	Do(ctx context.Context, r Request, into runtime.Object) (runtime.Object, error)
	Watch(ctx context.Context, r Request) (watch.Interface, error)
	// REST sends plain requests to a group, or to any path.
	REST(group schema.GroupVersion) rest.Interface
	Version(ctx context.Context) (*version.Info, error)
}

// Verb is what a request asks for, in the words of RBAC.
type Verb string

// The verbs.
const (
	Get              Verb = "get"
	List             Verb = "list"
	Create           Verb = "create"
	Update           Verb = "update"
	Patch            Verb = "patch"
	Delete           Verb = "delete"
	DeleteCollection Verb = "deletecollection"
	Watch            Verb = "watch"
)

// Request is a request to a kind of objects.
type Request struct {
	Verb     Verb
	Resource schema.GroupVersionResource
	// Namespace is "" for kinds without one, and for those of all namespaces.
	Namespace string
	// Name is the object's, for requests to one that is there.
	Name string
	// Subresources lead to a part of the object.
	Subresources []string

	// Options are the parameters: *metav1.GetOptions, ListOptions, CreateOptions, UpdateOptions or PatchOptions.
	Options runtime.Object
	// Timeout is how long the server may take; 0: as long as it wants.
	Timeout time.Duration
	// Body is sent: an object, or *metav1.DeleteOptions.
	Body runtime.Object
	// Patch is sent in its place.
	Patch     []byte
	PatchType types.PatchType
}

// Client implements Interface upon a backend.
type Client struct{ via Backend }

var _ Interface = (*Client)(nil)

// New returns the client of a backend.
func New(via Backend) *Client { return &Client{via: via} }

// RESTClient implements Interface.
func (c *Client) RESTClient() rest.Interface { return c.via.REST(schema.GroupVersion{Version: "v1"}) }

// ServerVersion implements Interface.
func (c *Client) ServerVersion(ctx context.Context) (*version.Info, error) { return c.via.Version(ctx) }
