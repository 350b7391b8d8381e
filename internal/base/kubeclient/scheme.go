package kubeclient

import (
	"errors"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// known is the scheme with what is made of it.
type known struct {
	scheme     *runtime.Scheme
	codecs     serializer.CodecFactory
	parameters runtime.ParameterCodec
	err        error
}

// once makes the scheme when it is first asked for: a command that asks no API does not wait for it.
var once = sync.OnceValue(func() known { //nolint:gochecknoglobals // It is made once, and is the same for all.
	k := known{scheme: runtime.NewScheme()}
	metav1.AddToGroupVersion(k.scheme, schema.GroupVersion{Version: "v1"})
	for _, add := range []func(*runtime.Scheme) error{
		admissionregistrationv1.AddToScheme,
		appsv1.AddToScheme,
		authorizationv1.AddToScheme,
		certificatesv1.AddToScheme,
		corev1.AddToScheme,
		discoveryv1.AddToScheme,
		networkingv1.AddToScheme,
		nodev1.AddToScheme,
		rbacv1.AddToScheme,
		storagev1.AddToScheme,
	} {
		k.err = errors.Join(k.err, add(k.scheme))
	}

	k.codecs = serializer.NewCodecFactory(k.scheme)
	k.parameters = runtime.NewParameterCodec(k.scheme)
	return k
})

// Scheme has the kinds of the groups that this package knows.
func Scheme() *runtime.Scheme { return once().scheme }

// Codecs read and write those kinds.
func Codecs() serializer.CodecFactory { return once().codecs }

// ParameterCodec writes options as the parameters of a URL.
func ParameterCodec() runtime.ParameterCodec { return once().parameters }
