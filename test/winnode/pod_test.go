//go:build wine

package winnode_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/client"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/filecopy"
	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/node/winnode"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// agnhost is the reference of upstream's agnhost.exe as an image.
const agnhost = "registry.test/agnhost:1"

// loadAgnhost puts upstream's agnhost.exe into the engine as a Windows image.
func (r *rig) loadAgnhost(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	// A copy: with a link /tmp would have to be on the checkout's file system.
	if _, err := filecopy.New(bin(t, "windows", "agnhost.exe"), filepath.Join(dir, "agnhost.exe"), 0o755); err != nil {
		t.Fatal(err)
	}

	img, err := imagebuild.Build(t.Context(), imagebuild.Options{Dir: dir, Spec: imagebuild.Spec{
		Tags:       []string{agnhost},
		OSVersions: []string{r.host.Build.Name},
		Entrypoint: []string{`C:\agnhost.exe`},
	}})
	if err != nil {
		t.Fatal(err)
	}

	var archive bytes.Buffer
	if err := img.WriteArchive(&archive); err != nil {
		t.Fatal(err)
	}
	conn, err := client.New(r.host.ContainerdSocket, client.WithDefaultNamespace(r.host.ContainerdNamespace))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	store, err := image.New(conn, r.host.ContainerdNamespace, image.Config{
		OSVersion: r.host.Build.Version.String(),
		Handlers:  image.DefaultHandlers(),
	})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := store.Load(t.Context(), &archive, image.LoadOptions{}); err != nil {
		t.Fatal(err)
	}
}

// checkPod runs a web server in a pod and asks it over the pod network.
func (r *rig) checkPod(t *testing.T, api *kubeclient.Client) {
	t.Helper()
	r.loadAgnhost(t)
	grace, no := int64(1), false
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: corev1.PodSpec{
			NodeName:                      "win-1",
			TerminationGracePeriodSeconds: &grace,
			AutomountServiceAccountToken:  &no,
			Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{
				Name:            "web",
				Image:           agnhost,
				ImagePullPolicy: corev1.PullNever,
				Args:            []string{"netexec", "--http-port=8080"},
			}},
		},
	}

	eventually(t, "the default service account is there", time.Minute, func() error {
		_, err := api.CoreV1().ServiceAccounts("default").Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	begin := time.Now()
	if _, err := api.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	eventually(t, "the pod runs", 30*time.Second, func() error {
		var err error
		if pod, err = api.CoreV1().Pods("default").Get(t.Context(), "web", metav1.GetOptions{}); err != nil {
			return err
		}
		if pod.Status.Phase != corev1.PodRunning || pod.Status.PodIP == "" || !pod.Status.ContainerStatuses[0].Ready {
			events, err := api.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
			if err != nil {
				return err
			}
			var said []string
			for _, e := range events.Items {
				said = append(said, e.Reason+": "+e.Message)
			}

			return fmt.Errorf("pod is %s: %v: %s", pod.Status.Phase, pod.Status.ContainerStatuses,
				strings.Join(said, "; "))
		}

		return nil
	})
	t.Logf("pod Ready %v after it was made", time.Since(begin).Round(time.Millisecond))
	web := &http.Client{Transport: &http.Transport{DialContext: proc.DialIn(r.host.Netns)}, Timeout: 5 * time.Second}
	eventually(t, "the pod answers", 20*time.Second, func() error {
		resp, err := web.Get("http://" + net.JoinHostPort(pod.Status.PodIP, "8080") + "/hostname")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || !strings.EqualFold(string(body), "web") {
			return fmt.Errorf("answer %q, %v", body, err)
		}

		return nil
	})
	t.Logf("pod answers %v after it was made", time.Since(begin).Round(time.Millisecond))
	if err := api.CoreV1().Pods("default").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}

	eventually(t, "the pod is gone", 30*time.Second, func() error {
		_, err := api.CoreV1().Pods("default").Get(t.Context(), "web", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %v", err)
		}
		return nil
	})
}

// checkCrash kills the host's first process, as a crash would, and expects that everything on the host comes back.
func (r *rig) checkCrash(t *testing.T) {
	t.Helper()
	h, err := winhost.Load(winnode.HostFile(r.host.Dir))
	if err != nil {
		t.Fatal(err)
	}
	first, err := h.PID()
	if err != nil {
		t.Fatal(err)
	}

	begin := time.Now()
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.checkAgain(t, r.host.KubeletUnit())
	t.Logf("kubelet is back %v after the host's death", time.Since(begin).Round(time.Millisecond))
	if pid, err := h.PID(); err != nil || pid == first {
		t.Errorf("first process is %d, was %d, %v", pid, first, err)
	}

	r.checkAgain(t, r.host.ProxyUnit())
	r.checkHost(t)
}
