// Package pki owns the certificates, keys and kubeconfig files of a cluster's control plane: it makes them, keeps them
// while they are valid, and renews them before they end or when their content must change. It gives the
// nodes of its own machine their first client certificate, as kubeadm does for a control plane's own node; the
// controller-manager signs the requests of other machines' nodes, and those for all later certificates. It does not
// touch the user's kubeconfig (package kubeconfig).
//
// Every file is written under another name, synced and renamed, with mode 0600, the key before its certificate: after a
// crash there is a complete pair or none. The folder carries the version of its layout.
//
//	pki/version
//	pki/ca.{crt,key}                     signs everything about Kubernetes, nodes' certificates included
//	pki/front-proxy-ca.{crt,key}         signs front-proxy-client, by which aggregated API servers know the API server
//	pki/apiserver.{crt,key}              what the API server shows
//	pki/apiserver-kubelet-client…        what it shows to kubelets
//	pki/controller-manager-serving… scheduler-serving… metrics-server-serving… gmsa-webhook-serving…
//	pki/sa.{key,pub}                     signs service-account tokens
//	pki/clients/<user>.{crt,key}         what kubeconfig files hold
package pki

import (
	"crypto/x509"
	"time"
)

// layoutVersion is the version of the folder's layout; a folder with another version is refused.
const layoutVersion = "1"

// Life of certificates. An authority outlives any cluster of this kind; a leaf is renewed at the first start within
// renewBefore of its end, as kubeadm's are at each upgrade.
const (
	authorityLife = 10 * 365 * 24 * time.Hour
	leafLife      = 365 * 24 * time.Hour
	renewBefore   = 60 * 24 * time.Hour
	// backdate makes new certificates valid on nodes whose clock is behind.
	backdate = 5 * time.Minute
)

// Names of pairs; Bundle.Cert and Bundle.Key return their files.
const (
	CA                       = "ca"
	FrontProxyCA             = "front-proxy-ca"
	FrontProxyClient         = "front-proxy-client"
	APIServer                = "apiserver"
	APIServerKubeletClient   = "apiserver-kubelet-client"
	ControllerManagerServing = "controller-manager-serving"
	SchedulerServing         = "scheduler-serving"
	MetricsServerServing     = "metrics-server-serving"
	GMSAWebhookServing       = "gmsa-webhook-serving"
)

// User is a user of the API server with a client certificate.
type User struct {
	// File is the base name of the pair in pki/clients.
	File string
	// Name and Groups are the user's name and groups for RBAC.
	Name   string
	Groups []string
}

// AdminGroup is the group that the bring-up binds to the role cluster-admin; kubeadm's name for it, which tools know:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/cmd/kubeadm/app/constants/constants.go
// ClusterAdminsGroupAndClusterRoleBinding.
const AdminGroup = "kubeadm:cluster-admins"

// Admin returns the identity of the person who uses the cluster.
func Admin() User {
	return User{
		File:   "admin",
		Name:   "kubernetes-admin",
		Groups: []string{AdminGroup},
	}
}

// SuperAdmin does not depend on RBAC objects: it is for the bring-up, which makes them, and for repairs.
func SuperAdmin() User {
	return User{
		File:   "super-admin",
		Name:   "kubernetes-super-admin",
		Groups: []string{"system:masters"},
	}
}

// ControllerManager returns the kube-controller-manager, whose rights are in the API server's default policy.
func ControllerManager() User {
	return User{File: "controller-manager", Name: "system:kube-controller-manager"}
}

// Scheduler returns the kube-scheduler, whose rights are in the API server's default policy.
func Scheduler() User { return User{File: "scheduler", Name: "system:kube-scheduler"} }

// ServingApprover approves kubelets' requests for serving certificates; package bootstrap gives it no other right.
func ServingApprover() User {
	return User{File: "serving-approver", Name: "mullion:kubelet-serving-approver"}
}

// KubeProxy returns the kube-proxy of every node, whose rights (the role system:node-proxier) are in the API server's
// default policy.
func KubeProxy() User { return User{File: "kube-proxy", Name: "system:kube-proxy"} }

// CoreDNS returns the cluster's DNS server; package bootstrap gives it the right to read the objects that it answers
// from.
func CoreDNS() User { return User{File: "coredns", Name: "system:coredns"} }

// MetricsServer is metrics-server; package bootstrap gives it the right to read nodes, pods and kubelets' figures.
func MetricsServer() User { return User{File: "metrics-server", Name: "system:metrics-server"} }

// Kubelet returns the kubelet of a node, as the Node authorizer knows it:
// https://kubernetes.io/docs/reference/access-authn-authz/node/
func Kubelet(node string) User {
	return User{Name: "system:node:" + node, Groups: []string{"system:nodes"}}
}

// ViewerGroup is the group of those who read the cluster without root; package bootstrap gives it the right to read,
// and not secrets.
const ViewerGroup = "mullion:viewers"

// Viewer returns who reads the cluster without root. Nothing of it is kept: each reader gets a certificate of its own
// (Bundle.ShortLived).
func Viewer() User { return User{Name: "mullion:viewer", Groups: []string{ViewerGroup}} }

// users returns all users that have a pair in the folder.
func users() []User {
	return []User{
		Admin(), SuperAdmin(), ControllerManager(), Scheduler(), ServingApprover(), KubeProxy(), CoreDNS(),
		MetricsServer(),
	}
}

// leaf describes the content of a certificate.
type leaf struct {
	path   string // below the folder, without extension
	signer string
	name   string
	groups []string
	usage  x509.ExtKeyUsage
	sans   SANs
}

// leaves returns all certificates that are signed by an authority of the folder.
func leaves(apiServer SANs) []leaf {
	loopback := SANs{DNS: []string{"localhost"}, IPs: []string{"127.0.0.1"}}

	all := []leaf{
		{path: APIServer, signer: CA, name: "kube-apiserver", usage: x509.ExtKeyUsageServerAuth, sans: apiServer},
		{
			path:   ControllerManagerServing,
			signer: CA,
			name:   "kube-controller-manager",
			usage:  x509.ExtKeyUsageServerAuth,
			sans:   loopback,
		},
		{path: SchedulerServing, signer: CA, name: "kube-scheduler", usage: x509.ExtKeyUsageServerAuth, sans: loopback},
		{
			path:   MetricsServerServing,
			signer: CA,
			name:   "metrics-server",
			usage:  x509.ExtKeyUsageServerAuth,
			sans:   SANs{DNS: []string{MetricsServerHost}},
		},
		{path: GMSAWebhookServing, signer: CA, name: "gmsa-webhook", usage: x509.ExtKeyUsageServerAuth, sans: loopback},
		// The name that package bootstrap binds to system:kubelet-api-admin.
		{path: APIServerKubeletClient, signer: CA, name: KubeletClientName, usage: x509.ExtKeyUsageClientAuth},
		{path: FrontProxyClient, signer: FrontProxyCA, name: FrontProxyClientName, usage: x509.ExtKeyUsageClientAuth},
	}

	for _, u := range users() {
		all = append(all, leaf{
			path:   "clients/" + u.File,
			signer: CA,
			name:   u.Name,
			groups: u.Groups,
			usage:  x509.ExtKeyUsageClientAuth,
		})
	}

	return all
}

// Names in certificates that other parts refer to.
const (
	KubeletClientName    = "kube-apiserver-kubelet-client"
	FrontProxyClientName = "front-proxy-client"
	// MetricsServerHost is the name by which the API server calls the Service of metrics-server.
	MetricsServerHost = "metrics-server.kube-system.svc"
)
