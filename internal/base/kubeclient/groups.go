package kubeclient

import (
	"context"

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
	"k8s.io/client-go/rest"
)

// group is a group of the API.
type group struct {
	via     Backend
	version schema.GroupVersion
}

// RESTClient sends requests to the group's paths.
func (g group) RESTClient() rest.Interface { return g.via.REST(g.version) }

// in returns the resource of a group; namespace is "" for a kind without one.
func in[T Object, L runtime.Object](g group, resource, namespace string) Resource[T, L] {
	return Resource[T, L]{
		via:       g.via,
		resource:  g.version.WithResource(resource),
		namespace: namespace,
	}
}

// Admissionregistration is the group admissionregistration.k8s.io.
type Admissionregistration struct{ group }

// AdmissionregistrationV1 implements Interface.
func (c *Client) AdmissionregistrationV1() Admissionregistration {
	return Admissionregistration{group{c.via, admissionregistrationv1.SchemeGroupVersion}}
}

// MutatingWebhookConfigurations are of no namespace.
func (g Admissionregistration) MutatingWebhookConfigurations() Resource[
	*admissionregistrationv1.MutatingWebhookConfiguration, *admissionregistrationv1.MutatingWebhookConfigurationList] {
	return in[*admissionregistrationv1.MutatingWebhookConfiguration,
		*admissionregistrationv1.MutatingWebhookConfigurationList](g.group, "mutatingwebhookconfigurations", "")
}

// ValidatingWebhookConfigurations are of no namespace.
func (g Admissionregistration) ValidatingWebhookConfigurations() Resource[
	*admissionregistrationv1.ValidatingWebhookConfiguration,
	*admissionregistrationv1.ValidatingWebhookConfigurationList,
] {
	return in[*admissionregistrationv1.ValidatingWebhookConfiguration,
		*admissionregistrationv1.ValidatingWebhookConfigurationList](g.group, "validatingwebhookconfigurations", "")
}

// ValidatingAdmissionPolicies are of no namespace.
func (g Admissionregistration) ValidatingAdmissionPolicies() Resource[
	*admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.ValidatingAdmissionPolicyList] {
	return in[*admissionregistrationv1.ValidatingAdmissionPolicy,
		*admissionregistrationv1.ValidatingAdmissionPolicyList](g.group, "validatingadmissionpolicies", "")
}

// ValidatingAdmissionPolicyBindings are of no namespace.
func (g Admissionregistration) ValidatingAdmissionPolicyBindings() Resource[
	*admissionregistrationv1.ValidatingAdmissionPolicyBinding,
	*admissionregistrationv1.ValidatingAdmissionPolicyBindingList] {
	return in[*admissionregistrationv1.ValidatingAdmissionPolicyBinding,
		*admissionregistrationv1.ValidatingAdmissionPolicyBindingList](g.group, "validatingadmissionpolicybindings", "")
}

// Apps is the group apps.
type Apps struct{ group }

// AppsV1 implements Interface.
func (c *Client) AppsV1() Apps { return Apps{group{c.via, appsv1.SchemeGroupVersion}} }

// DaemonSets returns the requests for those of a namespace, or of all.
func (g Apps) DaemonSets(namespace string) Resource[*appsv1.DaemonSet, *appsv1.DaemonSetList] {
	return in[*appsv1.DaemonSet, *appsv1.DaemonSetList](g.group, "daemonsets", namespace)
}

// Deployments returns the requests for those of a namespace, or of all.
func (g Apps) Deployments(namespace string) Resource[*appsv1.Deployment, *appsv1.DeploymentList] {
	return in[*appsv1.Deployment, *appsv1.DeploymentList](g.group, "deployments", namespace)
}

// StatefulSets returns the requests for those of a namespace, or of all.
func (g Apps) StatefulSets(namespace string) Resource[*appsv1.StatefulSet, *appsv1.StatefulSetList] {
	return in[*appsv1.StatefulSet, *appsv1.StatefulSetList](g.group, "statefulsets", namespace)
}

// Authorization is the group authorization.k8s.io, whose objects are questions.
type Authorization struct{ group }

// AuthorizationV1 implements Interface.
func (c *Client) AuthorizationV1() Authorization {
	return Authorization{group{c.via, authorizationv1.SchemeGroupVersion}}
}

// Reviews are questions, which are asked by creating one.
type Reviews[T Object] struct{ of Resource[T, T] }

// Create asks.
func (r Reviews[T]) Create(ctx context.Context, review T, o metav1.CreateOptions) (T, error) {
	return r.of.Create(ctx, review, o)
}

// SelfSubjectAccessReviews ask what the client may do.
func (g Authorization) SelfSubjectAccessReviews() Reviews[*authorizationv1.SelfSubjectAccessReview] {
	return Reviews[*authorizationv1.SelfSubjectAccessReview]{
		in[*authorizationv1.SelfSubjectAccessReview, *authorizationv1.SelfSubjectAccessReview](
			g.group, "selfsubjectaccessreviews", ""),
	}
}

// SubjectAccessReviews ask what somebody may do.
func (g Authorization) SubjectAccessReviews() Reviews[*authorizationv1.SubjectAccessReview] {
	return Reviews[*authorizationv1.SubjectAccessReview]{
		in[*authorizationv1.SubjectAccessReview, *authorizationv1.SubjectAccessReview](
			g.group, "subjectaccessreviews", ""),
	}
}

// Certificates is the group certificates.k8s.io.
type Certificates struct{ group }

// CertificatesV1 implements Interface.
func (c *Client) CertificatesV1() Certificates {
	return Certificates{group{c.via, certificatesv1.SchemeGroupVersion}}
}

// Requests are CertificateSigningRequests.
type Requests struct {
	Resource[*certificatesv1.CertificateSigningRequest, *certificatesv1.CertificateSigningRequestList]
}

// CertificateSigningRequests are of no namespace.
func (g Certificates) CertificateSigningRequests() Requests {
	return Requests{in[*certificatesv1.CertificateSigningRequest, *certificatesv1.CertificateSigningRequestList](
		g.group, "certificatesigningrequests", "")}
}

// UpdateApproval approves or denies a request by its conditions.
func (r Requests) UpdateApproval(ctx context.Context, name string, request *certificatesv1.CertificateSigningRequest,
	o metav1.UpdateOptions,
) (*certificatesv1.CertificateSigningRequest, error) {
	q := r.request(Update, name, &o)
	q.Subresources, q.Body = []string{"approval"}, request
	return do[*certificatesv1.CertificateSigningRequest](ctx, r.via, q)
}

// Core is the group without a name.
type Core struct{ group }

// CoreV1 implements Interface.
func (c *Client) CoreV1() Core { return Core{group{c.via, corev1.SchemeGroupVersion}} }

// ConfigMaps returns the requests for those of a namespace, or of all.
func (g Core) ConfigMaps(namespace string) Resource[*corev1.ConfigMap, *corev1.ConfigMapList] {
	return in[*corev1.ConfigMap, *corev1.ConfigMapList](g.group, "configmaps", namespace)
}

// Endpoints returns the requests for those of a namespace, or of all: what Services had before EndpointSlices.
//
//nolint:staticcheck // deprecated, and what an old API has
func (g Core) Endpoints(namespace string) Resource[*corev1.Endpoints, *corev1.EndpointsList] {
	return in[*corev1.Endpoints, *corev1.EndpointsList](g.group, "endpoints", namespace)
}

// Events returns the requests for those of a namespace, or of all.
func (g Core) Events(namespace string) Resource[*corev1.Event, *corev1.EventList] {
	return in[*corev1.Event, *corev1.EventList](g.group, "events", namespace)
}

// Namespaces are of no namespace.
func (g Core) Namespaces() Resource[*corev1.Namespace, *corev1.NamespaceList] {
	return in[*corev1.Namespace, *corev1.NamespaceList](g.group, "namespaces", "")
}

// Nodes are of no namespace.
func (g Core) Nodes() Resource[*corev1.Node, *corev1.NodeList] {
	return in[*corev1.Node, *corev1.NodeList](g.group, "nodes", "")
}

// PersistentVolumeClaims returns the requests for those of a namespace, or of all.
func (g Core) PersistentVolumeClaims(namespace string) Resource[
	*corev1.PersistentVolumeClaim, *corev1.PersistentVolumeClaimList] {
	return in[*corev1.PersistentVolumeClaim, *corev1.PersistentVolumeClaimList](
		g.group, "persistentvolumeclaims", namespace)
}

// PersistentVolumes are of no namespace.
func (g Core) PersistentVolumes() Resource[*corev1.PersistentVolume, *corev1.PersistentVolumeList] {
	return in[*corev1.PersistentVolume, *corev1.PersistentVolumeList](g.group, "persistentvolumes", "")
}

// Pods are Pods.
type Pods struct {
	Resource[*corev1.Pod, *corev1.PodList]
}

// Pods returns the requests for those of a namespace, or of all.
func (g Core) Pods(namespace string) Pods {
	return Pods{in[*corev1.Pod, *corev1.PodList](g.group, "pods", namespace)}
}

// GetLogs returns a request for the output of a pod's container.
func (p Pods) GetLogs(name string, o *corev1.PodLogOptions) *rest.Request {
	return p.via.REST(corev1.SchemeGroupVersion).Get().Namespace(p.namespace).Resource("pods").Name(name).
		SubResource("log").VersionedParams(o, ParameterCodec())
}

// Secrets returns the requests for those of a namespace, or of all.
func (g Core) Secrets(namespace string) Resource[*corev1.Secret, *corev1.SecretList] {
	return in[*corev1.Secret, *corev1.SecretList](g.group, "secrets", namespace)
}

// ServiceAccounts returns the requests for those of a namespace, or of all.
func (g Core) ServiceAccounts(namespace string) Resource[*corev1.ServiceAccount, *corev1.ServiceAccountList] {
	return in[*corev1.ServiceAccount, *corev1.ServiceAccountList](g.group, "serviceaccounts", namespace)
}

// Services returns the requests for those of a namespace, or of all.
func (g Core) Services(namespace string) Resource[*corev1.Service, *corev1.ServiceList] {
	return in[*corev1.Service, *corev1.ServiceList](g.group, "services", namespace)
}

// Discovery is the group discovery.k8s.io.
type Discovery struct{ group }

// DiscoveryV1 implements Interface.
func (c *Client) DiscoveryV1() Discovery {
	return Discovery{group{c.via, discoveryv1.SchemeGroupVersion}}
}

// EndpointSlices returns the requests for those of a namespace, or of all.
func (g Discovery) EndpointSlices(namespace string) Resource[
	*discoveryv1.EndpointSlice, *discoveryv1.EndpointSliceList] {
	return in[*discoveryv1.EndpointSlice, *discoveryv1.EndpointSliceList](g.group, "endpointslices", namespace)
}

// Networking is the group networking.k8s.io.
type Networking struct{ group }

// NetworkingV1 implements Interface.
func (c *Client) NetworkingV1() Networking {
	return Networking{group{c.via, networkingv1.SchemeGroupVersion}}
}

// NetworkPolicies returns the requests for those of a namespace, or of all.
func (g Networking) NetworkPolicies(namespace string) Resource[
	*networkingv1.NetworkPolicy, *networkingv1.NetworkPolicyList] {
	return in[*networkingv1.NetworkPolicy, *networkingv1.NetworkPolicyList](g.group, "networkpolicies", namespace)
}

// Node is the group node.k8s.io.
type Node struct{ group }

// NodeV1 implements Interface.
func (c *Client) NodeV1() Node { return Node{group{c.via, nodev1.SchemeGroupVersion}} }

// RuntimeClasses are of no namespace.
func (g Node) RuntimeClasses() Resource[*nodev1.RuntimeClass, *nodev1.RuntimeClassList] {
	return in[*nodev1.RuntimeClass, *nodev1.RuntimeClassList](g.group, "runtimeclasses", "")
}

// Rbac is the group rbac.authorization.k8s.io.
type Rbac struct{ group }

// RbacV1 implements Interface.
func (c *Client) RbacV1() Rbac { return Rbac{group{c.via, rbacv1.SchemeGroupVersion}} }

// ClusterRoles are of no namespace.
func (g Rbac) ClusterRoles() Resource[*rbacv1.ClusterRole, *rbacv1.ClusterRoleList] {
	return in[*rbacv1.ClusterRole, *rbacv1.ClusterRoleList](g.group, "clusterroles", "")
}

// ClusterRoleBindings are of no namespace.
func (g Rbac) ClusterRoleBindings() Resource[*rbacv1.ClusterRoleBinding, *rbacv1.ClusterRoleBindingList] {
	return in[*rbacv1.ClusterRoleBinding, *rbacv1.ClusterRoleBindingList](g.group, "clusterrolebindings", "")
}

// Roles returns the requests for those of a namespace, or of all.
func (g Rbac) Roles(namespace string) Resource[*rbacv1.Role, *rbacv1.RoleList] {
	return in[*rbacv1.Role, *rbacv1.RoleList](g.group, "roles", namespace)
}

// RoleBindings returns the requests for those of a namespace, or of all.
func (g Rbac) RoleBindings(namespace string) Resource[*rbacv1.RoleBinding, *rbacv1.RoleBindingList] {
	return in[*rbacv1.RoleBinding, *rbacv1.RoleBindingList](g.group, "rolebindings", namespace)
}

// Storage is the group storage.k8s.io.
type Storage struct{ group }

// StorageV1 implements Interface.
func (c *Client) StorageV1() Storage { return Storage{group{c.via, storagev1.SchemeGroupVersion}} }

// StorageClasses are of no namespace.
func (g Storage) StorageClasses() Resource[*storagev1.StorageClass, *storagev1.StorageClassList] {
	return in[*storagev1.StorageClass, *storagev1.StorageClassList](g.group, "storageclasses", "")
}
