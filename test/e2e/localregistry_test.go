//go:build cluster

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"mullion.dev/mullion/internal/base/testrun"
)

const (
	// registryYAML is a small cluster that gets its registry later.
	registryYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-registry
networking: {underlaySubnet: 10.189.0.0/24, podSubnet: 10.189.128.0/17, serviceSubnet: 10.189.64.0/18}
registries:
  mirrors: {mirrored.example: {endpoint: [http://10.189.0.254:5018]}}
  configs: {10.189.0.254:5018: {auth: {username: me, password: s3cr3t}}}
nodes: [{os: linux}, {windowsVersion: ltsc2022}]
`
	// mirrorAddress is the machine's on the cluster's network.
	mirrorAddress = "10.189.0.254:5018"
	registryPort  = "5017"
	registryHost  = "localhost:" + registryPort
)

// TestFieldRegistry: a cluster that is up gets a registry; nodes of both systems pull from it what was pushed on the
// machine, by root and by a user without rights. It listens on loopback alone, comes back after kill -9 of each of its
// parts with all images, stays over a stop, and is gone after a down. What other registries answer is said.
func TestFieldRegistry(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	needs(t)

	c := newCluster(t)
	c.needsRegistry(t, registryPort)
	c.bringUp(t, registryYAML)
	c.image(t)

	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	taken := fmt.Sprintf("--registry=localhost:%d", busy.Addr().(*net.TCPAddr).Port)
	if out, err := c.mullion(t.Context(), t, "up", taken); exitCode(err) != 4 || !strings.Contains(out, "choose another port") {
		t.Errorf("a port that is taken: %v\n%s", err, out)
	}
	busy.Close()

	if out := c.must(t, "up", "--registry="+registryPort); !strings.Contains(out, registryHost) {
		t.Errorf("up does not say where the registry is:\n%s", out)
	}
	note := c.must(t, "kubectl", "-n", "kube-public", "get", "configmap", "local-registry-hosting", "-o", "yaml")
	if !strings.Contains(note, "localRegistryHosting.v1") || !strings.Contains(note, `host: "`+registryHost+`"`) {
		t.Errorf("tools are told\n%s", note)
	}

	windows, linux, _ := c.programs()
	c.must(t, "image", "build", windows, "-f", "tool/image.yaml", "-t", registryHost+"/win:v1", "--push")
	c.pushUnprivileged(t, linux, registryHost+"/linux:v1")
	c.pulled(t, registryHost+"/win:v1", "windows")
	c.pulled(t, registryHost+"/linux:v1", "linux")

	t.Run("mirror", c.registryMirror)
	t.Run("loopback", c.registryLoopback)
	t.Run("killed", c.registryKilled)
	t.Run("answers", c.registryAnswers)
}

// pushUnprivileged builds and pushes an image of a Linux program as a user without rights.
func (c cluster) pushUnprivileged(t *testing.T, program, ref string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "mullion-push") //nolint:usetesting // nobody else gets into that of a test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for from, to := range map[string]string{filepath.Join(c.bin, "mullion"): "mullion", program: "tool"} {
		if out, err := exec.Command("cp", from, filepath.Join(dir, to)).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if out, err := exec.Command("chown", "-R", "65534:65534", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "mullion"), "image", "build", "--os", "linux", "tool", "-t", ref, "--push")
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("push as nobody: %v\n%s", err, out)
	}
}

// pulled runs a pod of an image, whose registry is asked each time.
func (c cluster) pulled(t *testing.T, image, system string) {
	t.Helper()
	pod := fmt.Sprintf("pulled-%d", time.Now().UnixNano()) // events outlive their pods
	c.must(t, "kubectl", "run", pod, "--image", image, "--image-pull-policy=Always",
		"--overrides", `{"spec":{"nodeSelector":{"kubernetes.io/os":"`+system+`"},"terminationGracePeriodSeconds":1}}`,
		"--command", "--", map[string]string{"windows": "cmd", "linux": "/tool"}[system])
	poll(t, settle, func(ctx context.Context) error {
		out, err := c.mullion(ctx, t, "kubectl", "get", "events", "--field-selector", "involvedObject.name="+pod,
			"-o", "jsonpath={.items[*].message}")
		if err == nil && !strings.Contains(out, "Successfully pulled image") {
			err = fmt.Errorf("the events of %s: %s", pod, out)
		}
		return err
	})
	c.must(t, "kubectl", "delete", "pod", pod, "--now")
}

// registryLoopback: neither another address of this machine nor the cluster's network leads to the registry.
func (c cluster) registryLoopback(t *testing.T) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}

	all := []string{"10.189.0.1", "10.189.0.11", "10.189.0.12"}
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			all = append(all, ip.IP.String())
		}
	}

	for _, host := range all {
		for _, port := range []string{registryPort, "5000"} {
			conn, err := net.DialTimeout("tcp", net.JoinHostPort(host, port), 2*time.Second)
			if err == nil {
				conn.Close()
				t.Errorf("%s port %s takes connections", host, port)
			}
		}
	}
}

// tags returns what the registry says of a repository.
func tags(ctx context.Context, repository string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+registryHost+"/v2/"+repository+"/tags/list", nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<16))
	return string(body), err
}

// registryKilled kills the registry and the supervisor, and stops the cluster: each time all images are there again.
func (c cluster) registryKilled(t *testing.T) {
	again := func(after string) {
		t.Helper()
		poll(t, settle, func(ctx context.Context) error {
			out, err := tags(ctx, "win")
			if err == nil && !strings.Contains(out, `"v1"`) {
				err = fmt.Errorf("after %s: %s", after, out)
			}
			return err
		})
	}

	c.kill(t, `^registry serve `)
	again("its kill")
	c.kill(t, ` supervise `)
	c.must(t, "up")
	again("the supervisor's kill")
	c.must(t, "stop")
	if out, err := tags(t.Context(), "win"); err == nil {
		t.Errorf("after a stop it answers %s", out)
	}
	c.must(t, "up")
	again("a stop")
	c.must(t, "node", "restart", "win-1")
	c.pulled(t, registryHost+"/win:v1", "windows")
}

// registryMirror: nodes of both systems ask a mirror in the place of a registry that there is not, with the credentials
// of the cluster's description, and so does `mullion image pull`. What shows the description has no password.
func (c cluster) registryMirror(t *testing.T) {
	store := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)))
	l, err := net.Listen("tcp", mirrorAddress)
	if err != nil {
		t.Fatal(err)
	}

	var refused atomic.Int64
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); !ok || user != "me" || password != "s3cr3t" {
			refused.Add(1)
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		store.ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })

	auth := remote.WithAuth(&authn.Basic{Username: "me", Password: "s3cr3t"})
	for _, image := range []string{"win:v1", "linux:v1"} {
		from, err := name.ParseReference(registryHost + "/" + image)
		if err != nil {
			t.Fatal(err)
		}
		to, err := name.ParseReference(mirrorAddress+"/"+image, name.Insecure)
		if err != nil {
			t.Fatal(err)
		}

		got, err := remote.Get(from)
		if err != nil {
			t.Fatal(err)
		}
		if got.MediaType.IsIndex() {
			index, indexErr := got.ImageIndex()
			err = errors.Join(indexErr, remote.WriteIndex(to, index, auth))
		} else {
			img, imgErr := got.Image()
			err = errors.Join(imgErr, remote.Write(to, img, auth))
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	c.pulled(t, "mirrored.example/win:v1", "windows")
	c.pulled(t, "mirrored.example/linux:v1", "linux")
	c.must(t, "image", "pull", "mirrored.example/win:v1")
	c.must(t, "image", "pull", "mirrored.example/linux:v1")
	if refused.Load() == 0 {
		t.Error("nobody was asked for credentials")
	}

	for _, args := range [][]string{{"status", "-o", "json"}, {"logs", "supervisor"}} {
		out, err := c.mullion(t.Context(), t, args...)
		if strings.Contains(out, "s3cr3t") {
			t.Errorf("mullion %q shows the password (%v)", args, err)
		}
	}
}

// registryAnswers: what a registry answers that does not let one pull is said, and nothing of the image is there.
func (c cluster) registryAnswers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		says   string
	}{
		{"401", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED"}]}`, http.StatusUnauthorized)
		}, "may require authorization"}, // containerd's own words, as in the events of pods
		{"429", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "slowly", http.StatusTooManyRequests) }, "429"},
		{"garbage", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("\x00<html>garbage")) }, "pull localhost:"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(tt.answer)
			defer server.Close()
			ref := strings.Replace(strings.TrimPrefix(server.URL, "http://"), "127.0.0.1", "localhost", 1) + "/app:v1"
			out, err := c.mullion(t.Context(), t, "image", "pull", ref, "--node", "win-1")
			if exitCode(err) == 0 || !strings.Contains(out, tt.says) {
				t.Errorf("it ends with %v, and says\n%s", err, out)
			}
			if all := c.must(t, "image", "ls"); strings.Contains(all, ref) {
				t.Errorf("there is something of it:\n%s", all)
			}
		})
	}
}
