//go:build wine

package winnode_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/node/winnode"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/windows/wine"
)

// routePods tells the underlay which node the pods are behind, as a cluster does that follows its nodes.
func (r *rig) routePods(t *testing.T, node *corev1.Node) {
	t.Helper()
	cidr, err := netip.ParsePrefix(node.Spec.PodCIDR)
	if err != nil {
		t.Fatal(err)
	}

	for _, a := range node.Status.Addresses {
		if a.Type != corev1.NodeInternalIP {
			continue
		}
		if err := r.underlay.SetPodRoute(t.Context(), netip.MustParseAddr(a.Address), cidr); err != nil {
			t.Fatal(err)
		}
		return
	}

	t.Fatalf("node %s has no address: %v", node.Name, node.Status.Addresses)
}

// checkServices has a pod ask the API server at its ClusterIP, with the credentials that every pod has: the way there
// is kube-proxy's doing.
func (r *rig) checkServices(t *testing.T, api *kubeclient.Client) {
	t.Helper()
	grace := int64(1)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "asks", Namespace: "default"},
		Spec: corev1.PodSpec{
			NodeName:                      "win-1",
			TerminationGracePeriodSeconds: &grace,
			Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{
				Name:            "asks",
				Image:           agnhost,
				ImagePullPolicy: corev1.PullNever,
				Args:            []string{"inclusterclient", "--poll-interval=1"},
			}},
		},
	}

	begin := time.Now()
	pods := api.CoreV1().Pods("default")
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	var log string
	eventually(t, "the pod asks the API server", time.Minute, func() error {
		data, err := pods.GetLogs("asks", &corev1.PodLogOptions{}).DoRaw(t.Context())
		log = string(data)
		// A line that it asks, and no line that it failed before it asks again, is a success.
		if asked := strings.Count(log, "calling /healthz"); err != nil || asked < 2 {
			return fmt.Errorf("asked %d times: %v\n%s", asked, err, log)
		}
		return nil
	})

	if strings.Contains(log, "status=failed") || !strings.Contains(log, "authz_header=") ||
		strings.Contains(log, "authz_header=<empty>") {
		t.Errorf("the pod does not reach the API server as its service account:\n%s", log)
	}
	t.Logf("pod asked the API server twice, one second apart, %v after it was made",
		time.Since(begin).Round(time.Millisecond))
	if err := pods.Delete(t.Context(), "asks", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}

	eventually(t, "the pod is gone", 30*time.Second, func() error {
		if _, err := pods.Get(t.Context(), "asks", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
}

// checkAgain expects that a part of the host was started again and runs.
func (r *rig) checkAgain(t *testing.T, unit component.ID) {
	t.Helper()
	var part *kubenode.Process
	for _, u := range r.units {
		if u.ID() == unit {
			part = u.Component.(*kubenode.Process)
		}
	}

	eventually(t, unit.String()+" runs again", 2*time.Minute, func() error {
		if part == nil {
			return errors.New("there is no such part")
		}
		if s := part.State(); s.Phase != proc.Running || s.Restarts == 0 {
			return fmt.Errorf("%s is %+v", unit, s)
		}
		return nil
	})
}

// checkDeadService: a service of the host whose process is killed is stopped, and does not count as running for ever.
func (r *rig) checkDeadService(t *testing.T) {
	t.Helper()
	h, err := winhost.Load(winnode.HostFile(r.host.Dir))
	if err != nil {
		t.Fatal(err)
	}
	file, err := wine.UnixPath(wine.Drive(winnode.Prefix(r.host.Dir)), `C:\service.exe`)
	if err != nil {
		t.Fatal(err)
	}

	build := exec.Command("go", "build", "-o", file, "../cri/testdata/winprog")
	build.Env = append(os.Environ(), "GOOS=windows", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the service: %v\n%s", err, out)
	}

	run := func(args ...string) string {
		out, err := h.Output(t.Context(), nil, nil, args[0], args[1:]...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}

	state := func(want string) {
		eventually(t, "the service is "+want, 20*time.Second, func() error {
			if said := run("sc.exe", "query", "idle"); !strings.Contains(said, want) {
				return errors.New(said)
			}
			return nil
		})
	}
	run("sc.exe", "create", "idle", "binPath=", `C:\service.exe service idle`)
	time.Sleep(10 * time.Second) // the agent sees within five seconds that the host is a new one
	run("sc.exe", "start", "idle")
	state("RUNNING")
	run("taskkill", "/F", "/IM", "service.exe")
	state("STOPPED")
	run("sc.exe", "delete", "idle")
}
