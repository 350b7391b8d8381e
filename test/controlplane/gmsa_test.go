//go:build kernel

package controlplane_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/controlplane/gmsa"
	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/process/proc"
)

const credentialSpec = `{"CmsPlugins":["ActiveDirectory"],"DomainJoinConfig":{"Sid":"S-1-5-21-1-2-3",
	"Guid":"244818ae-87ca-4fcd-92ec-e79e5252348a","DnsName":"contoso.com","MachineAccountName":"WebApp1",
	"DnsTreeName":"contoso.com","NetBiosName":"CONTOSO"},
	"ActiveDirectoryConfig":{"GroupManagedServiceAccounts":[{"Name":"WebApp1","Scope":"contoso.com"}]}}`

// testGMSA: the API server asks the webhook about pods with credential specs, and about no others.
func testGMSA(t *testing.T, p *plane, admin *kubeclient.Client) {
	t.Helper()
	file := func(name string) string { return filepath.Join(p.config.PKIDir(), name) }
	webhook := gmsa.New(gmsa.Config{
		Client: func() (kubeclient.Interface, error) { return admin, nil },
		Listen: func() (l net.Listener, err error) {
			err = proc.InNetns(p.config.Netns, func() (err error) {
				l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(gmsa.Port)))
				return err
			})
			return l, err
		},
		CertFile: file(pki.GMSAWebhookServing + ".crt"), KeyFile: file(pki.GMSAWebhookServing + ".key"),
		CAFile: file(pki.CA + ".crt"), Domains: []string{"contoso.com"}, Version: p.config.Version,
	})

	ctx := context.WithoutCancel(t.Context())
	if err := webhook.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop := func() {
		if err := webhook.Stop(ctx); err != nil {
			t.Error(err)
		}
	}

	defer stop()
	makeGMSAObjects(t, admin)

	allowed := gmsaPod("allowed", "web", new("webapp1"), nil)
	eventually(t, "the API server asks the webhook, which puts the credential spec in", func() error {
		pod, err := admin.CoreV1().Pods("shop").Create(t.Context(), allowed, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return err
		}

		o := pod.Spec.SecurityContext.WindowsOptions
		var got, want any
		if o.GMSACredentialSpec == nil || json.Unmarshal([]byte(*o.GMSACredentialSpec), &got) != nil ||
			json.Unmarshal([]byte(credentialSpec), &want) != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("the pod has %v", o.GMSACredentialSpec)
		}

		return nil
	})
	create1(t, admin, "shop", allowed)
	refused := func(pod *corev1.Pod, words string) {
		t.Helper()
		_, err := admin.CoreV1().Pods("shop").Create(t.Context(), pod, metav1.CreateOptions{})
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("pod %q: got %v, want %q", pod.Name, err, words)
		}
	}
	refused(gmsaPod("denied", "default", new("webapp1"), nil),
		"service account \"default\" is not authorized to `use` GMSA cred spec \"webapp1\"")
	refused(gmsaPod("missing", "web", new("webapp2"), nil), `cred spec "webapp2" does not exist`)
	refused(gmsaPod("unnamed", "web", nil, new(credentialSpec)),
		`the nodes have keys for its domain "contoso.com"`)
	other := strings.ReplaceAll(credentialSpec, "contoso.com", "fabrikam.com")
	refused(gmsaPod("changed", "web", new("webapp1"), &other), "does not match the contents")
	create1(t, admin, "shop", gmsaPod("other-domain", "default", nil, &other))
	create1(t, admin, "trusted", gmsaPod("passed-by", "default", nil, new(credentialSpec)))
	if p.config.Version == old { // it has no containers that are added, and asks for every pod
		stop()
		refused(gmsaPod("without", "default", nil, nil), "failed calling webhook")
		return
	}

	testAdded(t, admin)
	stop()
	create1(t, admin, "shop", gmsaPod("without", "default", nil, nil))
	refused(gmsaPod("nobody", "web", new("webapp1"), nil), "failed calling webhook")
}

// testAdded: a container that is added to a running pod brings no account.
func testAdded(t *testing.T, admin *kubeclient.Client) {
	t.Helper()
	pods := admin.CoreV1().Pods("shop")
	add := func(options *corev1.WindowsSecurityContextOptions) error {
		common := corev1.EphemeralContainerCommon{
			Name: "debug", Image: "x.example/x", TerminationMessagePolicy: corev1.TerminationMessageReadFile,
			SecurityContext: &corev1.SecurityContext{WindowsOptions: options},
		}

		patch, err := json.Marshal(map[string]any{"spec": map[string]any{
			"ephemeralContainers": []corev1.EphemeralContainer{{EphemeralContainerCommon: common}},
		}})
		if err != nil {
			return err
		}
		_, err = pods.Patch(t.Context(), "allowed", types.StrategicMergePatchType, patch, metav1.PatchOptions{},
			"ephemeralcontainers")

		return err
	}

	err := add(&corev1.WindowsSecurityContextOptions{GMSACredentialSpec: new(credentialSpec)})
	if err == nil || !strings.Contains(err.Error(), "has a GMSA cred spec of its own") {
		t.Errorf("an added container with an account: %v", err)
	}
	if err := add(nil); err != nil {
		t.Errorf("an added container without: %v", err)
	}
}

// makeGMSAObjects makes the namespaces shop and trusted, the credential spec webapp1, and the right of shop's service
// account web to use it.
func makeGMSAObjects(t *testing.T, admin *kubeclient.Client) {
	t.Helper()
	eventually(t, "a credential spec", func() error {
		err := admin.RESTClient().Post().AbsPath("/apis/windows.k8s.io/v1/gmsacredentialspecs").Body([]byte(
			`{"apiVersion": "windows.k8s.io/v1", "kind": "GMSACredentialSpec", "metadata": {"name": "webapp1"}, "credspec": ` +
				credentialSpec + `}`)).Do(t.Context()).Error()
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})

	for name, labels := range map[string]map[string]string{"shop": nil, "trusted": {"gmsa-webhook": "disabled"}} {
		_, err := admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}

		for _, account := range []string{"web", "default"} {
			_, err := admin.CoreV1().ServiceAccounts(name).Create(t.Context(), &corev1.ServiceAccount{
				ObjectMeta: metav1.ObjectMeta{Name: account},
			}, metav1.CreateOptions{})
			if err != nil && !apierrors.IsAlreadyExists(err) {
				t.Fatal(err)
			}
		}
	}

	_, err := admin.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "webapp1-role"},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"windows.k8s.io"}, Resources: []string{"gmsacredentialspecs"}, Verbs: []string{"use"},
			ResourceNames: []string{"webapp1"},
		}},
	}, metav1.CreateOptions{})
	if err == nil {
		_, err = admin.RbacV1().RoleBindings("shop").Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "allow-web-webapp1"},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: "web", Namespace: "shop"}},
			RoleRef: rbacv1.RoleRef{
				Kind:     "ClusterRole",
				Name:     "webapp1-role",
				APIGroup: rbacv1.GroupName,
			},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func create1(t *testing.T, admin *kubeclient.Client, namespace string, pod *corev1.Pod) {
	t.Helper()
	eventually(t, "pod "+pod.Name, func() error {
		_, err := admin.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
		return err
	})
}

func gmsaPod(name, account string, specName, spec *string) *corev1.Pod {
	options := &corev1.WindowsSecurityContextOptions{GMSACredentialSpecName: specName, GMSACredentialSpec: spec}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			ServiceAccountName: account,
			SecurityContext:    &corev1.PodSecurityContext{WindowsOptions: options},
			Containers:         []corev1.Container{{Name: "c", Image: "x.example/x"}},
		},
	}
}
