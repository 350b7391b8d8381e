//go:build cluster

package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	certv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// servingCertificates makes the cluster's kubelets ask for their serving certificates, as kubeadm's serverTLSBootstrap
// does. A machine that joins by a kubeconfig with a bootstrap token reports that its node's certificate waits for
// approval, until an administrator approves it. A join by an administrator's kubeconfig approves the certificate
// itself.
func (p *kubeadmPlane) servingCertificates(t *testing.T, other cluster) {
	t.Helper()
	configs := p.client.CoreV1().ConfigMaps("kube-system")
	config, err := configs.Get(t.Context(), "kubelet-config", metav1.GetOptions{})
	p.must(t, "read kubelet-config", err)
	config.Data["kubelet"] += "serverTLSBootstrap: true\n"
	_, err = configs.Update(t.Context(), config, metav1.UpdateOptions{})
	p.must(t, "write kubelet-config", err)

	out := other.must(t, "join", "--kubeconfig", p.bootstrapKubeconfig(t), "--node-address", "198.51.100.52", "--name",
		"winc")
	t.Log(out)
	for _, says := range []string{"--user=system:node:winc", "kubectl certificate approve csr-"} {
		if !strings.Contains(out, says) {
			t.Errorf("a join by a bootstrap token does not say %q", says)
		}
	}

	node := p.node(t, "winc", "198.51.100.52")
	p.sleeps(t, other, node.Name)
	logs := func(ctx context.Context) error {
		_, err := p.client.CoreV1().Pods("default").GetLogs("sleeps", &corev1.PodLogOptions{}).DoRaw(ctx)
		return err
	}
	if err := logs(t.Context()); err == nil {
		t.Error("a kubelet without a serving certificate gives a log")
	}

	said, err := other.mullion(t.Context(), t, "status")
	request := regexp.MustCompile(`kubectl certificate approve (csr-\w+)`).FindStringSubmatch(said)
	if err == nil || request == nil {
		t.Fatalf("without a serving certificate status says, with %v:\n%s", err, said)
	}

	p.approve(t, request[1])
	poll(t, settle, logs)
	poll(t, settle, func(ctx context.Context) error {
		// the node's rights are still missing
		if said, _ := other.mullion(ctx, t, "status"); strings.Contains(said, "serving certificate") {
			return errors.New(said)
		}
		return nil
	})
	other.must(t, "leave", "--kubeconfig", p.kubeconfig)
	p.gone(t, other, "winc")

	out = other.must(t, "join", "--kubeconfig", p.kubeconfig, "--node-address", "198.51.100.53", "--name", "wind")
	if strings.Contains(out, "certificate approve") {
		t.Errorf("an administrator's join leaves the serving certificate to others:\n%s", out)
	}
	p.sleeps(t, other, "wind")
	poll(t, settle, logs)
	other.must(t, "status")
	other.must(t, "leave")
	p.gone(t, other, "wind")
}

// bootstrapKubeconfig returns a file with the token, as kubeadm writes bootstrap-kubelet.conf.
func (p *kubeadmPlane) bootstrapKubeconfig(t *testing.T) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(p.kubeconfig)
	p.must(t, "read kubeconfig", err)
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: kubeadmToken}
	}
	for _, c := range config.Clusters {
		c.Server = "https://198.51.100.1:6443"
	}
	file := filepath.Join(t.TempDir(), "bootstrap.conf")
	p.must(t, "write kubeconfig", clientcmd.WriteToFile(*config, file))
	return file
}

// sleeps runs a pod on a node, in the place of an earlier one.
func (p *kubeadmPlane) sleeps(t *testing.T, other cluster, node string) {
	t.Helper()
	other.must(t, "image", "load", filepath.Join(other.bin, "webserver.tar"))
	pods, now := p.client.CoreV1().Pods("default"), int64(0)
	_ = pods.Delete(t.Context(), "sleeps", metav1.DeleteOptions{GracePeriodSeconds: &now})
	_, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "sleeps"},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
			Name:            "sleeps",
			Image:           "mullion.local/webserver:v1",
			ImagePullPolicy: corev1.PullNever,
		}}},
	}, metav1.CreateOptions{})
	p.must(t, "make pod", err)
	poll(t, settle, func(ctx context.Context) error {
		pod, err := pods.Get(ctx, "sleeps", metav1.GetOptions{})
		if err == nil && pod.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("the pod is %s: %+v", pod.Status.Phase, pod.Status.ContainerStatuses)
		}
		return err
	})
}

// approve does what kubectl certificate approve does.
func (p *kubeadmPlane) approve(t *testing.T, name string) {
	t.Helper()
	requests := p.client.CertificatesV1().CertificateSigningRequests()
	r, err := requests.Get(t.Context(), name, metav1.GetOptions{})
	p.must(t, "read request", err)
	r.Status.Conditions = append(r.Status.Conditions, certv1.CertificateSigningRequestCondition{
		Type:    certv1.CertificateApproved,
		Status:  corev1.ConditionTrue,
		Reason:  "KubectlApprove",
		Message: "This CSR was approved by kubectl certificate approve.",
	})
	_, err = requests.UpdateApproval(t.Context(), name, r, metav1.UpdateOptions{})
	p.must(t, "approve request", err)
}
