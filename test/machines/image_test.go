//go:build machines

package machines

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/test/machines/guest"
)

// imageMachine is the machine whose container engines run Mullion's image.
const imageMachine = "trixie"

// TestImage runs the container image of MULLION_IMAGE, an archive that `make image` made, in Docker and in Podman of a
// machine with systemd and cgroup v2, as docs/guide/start.md says.
func TestImage(t *testing.T) {
	archive := os.Getenv("MULLION_IMAGE")
	if archive == "" {
		t.Skip("needs MULLION_IMAGE: make test-image")
	}
	m, err := guest.Find(imageMachine)
	if err != nil {
		t.Fatal(err)
	}

	cache, err := guest.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	payload := t.TempDir()
	if err := os.Link(archive, filepath.Join(payload, "image.tar")); err != nil {
		t.Fatal(err)
	}

	// Nothing that Mullion needs: the image has it. Podman asks for the last two, Docker for iptables.
	packages := []string{"docker.io", "docker-cli", "podman", "iptables", "nftables", "netavark", "aardvark-dns", "crun"}
	disk, err := guest.MakeDisk(t.Context(), cache, m, packages, func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}

	g, err := guest.Boot(t.Context(), guest.Options{
		Machine:     m,
		Disk:        disk,
		Payload:     payload,
		Work:        t.TempDir(),
		Accelerator: os.Getenv("MULLION_MACHINES_ACCEL"),
	})
	t.Cleanup(g.Stop)
	if err != nil {
		t.Fatal(err)
	}

	try := &trial{
		guest:   g,
		machine: m,
		result:  &Result{Machine: m},
	}
	for _, engine := range []string{"docker", "podman"} {
		t.Run(engine, func(t *testing.T) { try.container(t, engine) })
	}
}

// container has an engine load the image, run it, stop it and start it again.
func (try *trial) container(t *testing.T, engine string) {
	t.Helper()
	in := engine + " exec mullion mullion "
	steps := []struct {
		name string
		do   func(ctx context.Context, t *testing.T)
	}{
		{"load", func(ctx context.Context, t *testing.T) {
			t.Helper()
			t.Logf("%s", try.run(ctx, t, fmt.Sprintf("%[1]s version; %[1]s load -q -i /opt/mullion/image.tar; %[1]s images", engine)))
		}},
		{"run", func(ctx context.Context, t *testing.T) {
			t.Helper()
			try.run(ctx, t, fmt.Sprintf("%[1]s run -d --privileged --name mullion -v mullion:/var/lib/mullion "+
				"-p 127.0.0.1:6443:6443 $(%[1]s images -q | head -n 1) up --foreground --listen 0.0.0.0:6443 --sample --wait %[2]s",
				engine, upWait))
			try.served(ctx, t, engine)
			t.Logf("%s", try.run(ctx, t, engine+" logs mullion 2>&1 | tail -n 30; "+in+"status"))
		}},
		{"published", func(ctx context.Context, t *testing.T) {
			t.Helper()
			out := try.run(ctx, t, "umask 077; "+in+"kubeconfig > kubeconfig; grep -o 'server: .*' kubeconfig; "+
				"grep -o 'certificate-authority-data: .*' kubeconfig | cut -d' ' -f2 | base64 -d > ca.crt; "+
				"curl -sS --cacert ca.crt https://127.0.0.1:6443/readyz")
			if !strings.Contains(out, "https://127.0.0.1:6443") || !strings.HasSuffix(strings.TrimSpace(out), "ok") {
				t.Errorf("the API server from the machine: %s", out)
			}
		}},
		{"stop-and-start", func(ctx context.Context, t *testing.T) {
			t.Helper()
			out := try.run(ctx, t, fmt.Sprintf("%[1]s stop -t 300 mullion; %[1]s inspect -f '{{.State.ExitCode}}' mullion", engine))
			if !strings.HasSuffix(strings.TrimSpace(out), "\n0") {
				t.Errorf("stopped with %q, want exit code 0", out)
			}
			try.run(ctx, t, engine+" start mullion")
			try.served(ctx, t, engine)
		}},
		{"remove", func(ctx context.Context, t *testing.T) {
			t.Helper()
			try.run(ctx, t, fmt.Sprintf("%[1]s stop -t 300 mullion; %[1]s rm mullion; %[1]s volume rm mullion; %[1]s rmi -f $(%[1]s images -q)", engine))
			out := try.run(ctx, t, "ps -eo comm | grep -e mullion -e wineserver -e kube; "+
				"find /sys/fs/cgroup -type d -name '*mullion*' ! -name opt-mullion.mount; ls -d /var/lib/mullion /run/mullion 2>/dev/null; true")
			if strings.TrimSpace(out) != "" {
				t.Errorf("left on the machine:\n%s", out)
			}
		}},
	}

	for _, s := range steps {
		if !try.step(t, s.name, s.do) {
			try.step(t, "logs", func(ctx context.Context, t *testing.T) {
				t.Helper()
				t.Logf("%s", try.run(ctx, t, engine+" logs mullion 2>&1 | tail -n 100; "+
					in+"status; "+engine+" exec mullion sh -c 'tail -n 20 /var/lib/mullion/logs/*.log'; true"))
			})
			return
		}
	}
}

// served waits until the cluster in the container is healthy, and sees the sample's page and the Windows in its pod.
func (try *trial) served(ctx context.Context, t *testing.T, engine string) {
	t.Helper()
	in := engine + " exec mullion mullion "
	try.eventually(ctx, t, "healthy", in+"status")
	try.eventually(ctx, t, "Windows Server 2022",
		in+"kubectl get --raw /api/v1/namespaces/default/services/win-webserver:80/proxy/")
	try.eventually(ctx, t, "10.0.20348", in+"kubectl exec deployment/win-webserver -- cmd /c ver")
}
