package e2eframework

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/pkg/cluster"
	"sigs.k8s.io/e2e-framework/support"
)

// script is a program in mullion's place.
const script = `#!/bin/sh
dir=%q
echo "$*" >> "$dir/asked"
case "$*" in
*" kubeconfig") cat "$dir/config" ;;
*" up "*) mkdir -p "$2" ;;
*" down "*) rmdir "$2" ;;
*" image load -") cat > "$dir/loaded" ;;
*" export logs "*) echo full disk >&2; exit 1 ;;
esac
`

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://192.0.2.1:6443"}}]
contexts: [{name: of-the-test, context: {cluster: c, user: u}}]
current-context: of-the-test
users: [{name: u, user: {token: t}}]
`

// TestProvider has a cluster from its making to its end, as e2e-framework does.
func TestProvider(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs the program without sudo")
	}
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	program, archive := filepath.Join(dir, "mullion"), filepath.Join(dir, "archive")
	docker := filepath.Join(dir, "docker")
	for file, text := range map[string]string{
		program: fmt.Sprintf(script, dir), archive: "an archive", filepath.Join(dir, "config"): kubeconfig,
		docker: "#!/bin/sh\n[ \"$*\" = 'save app:v1' ] && echo of docker || { echo no such image >&2; exit 1; }\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))

	var p support.E2EClusterProviderWithImageLoader = NewProvider()
	p.WithName("shop").WithVersion("v1.35").WithPath(program).WithOpts(With(cluster.CreateWithWindowsVersions("ltsc2022")),
		WithProvider(cluster.ProviderWithFolder(filepath.Join(dir, "clusters"))))
	if _, err := p.Create(t.Context(), "--image", "x"); err == nil || !strings.Contains(err.Error(), "are no arguments of mullion") {
		t.Errorf("arguments are taken: %v", err)
	}
	path, err := p.Create(t.Context())
	if err != nil || path != p.GetKubeconfig() || p.GetKubectlContext() != "of-the-test" || p.KubernetesRestConfig().Host != "https://192.0.2.1:6443" {
		t.Fatalf("%s, %s, %+v, %v", path, p.GetKubectlContext(), p.KubernetesRestConfig(), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if again, err := p.Create(t.Context()); err != nil || again != path {
		t.Errorf("one that is there: %s, %v", again, err)
	}

	loaded := func(want string, err error) {
		t.Helper()
		text, _ := os.ReadFile(filepath.Join(dir, "loaded"))
		if err != nil || string(text) != want {
			t.Errorf("loaded %q, %v", text, err)
		}
	}
	loaded("an archive", p.LoadImageArchive(t.Context(), archive))
	loaded("of docker\n", p.LoadImage(t.Context(), "app:v1"))
	if err := p.LoadImage(t.Context(), "none"); err == nil || !strings.Contains(err.Error(), "no such image") {
		t.Error(err)
	}
	if err := p.ExportLogs(t.Context(), filepath.Join(dir, "logs")); err == nil || !strings.Contains(err.Error(), "full disk") {
		t.Error(err)
	}

	for range 2 { // one that is not there is no error
		if err := p.Destroy(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 || p.GetKubeconfig() != "" {
		t.Errorf("left: %v, %s", left, p.GetKubeconfig())
	}

	asked, err := os.ReadFile(filepath.Join(dir, "asked"))
	if err != nil || strings.Count(string(asked), " up -f ") != 1 || !strings.Contains(string(asked), "--kubeconfig none") {
		t.Errorf("it was asked for %s, %v", asked, err)
	}
	if _, err := NewProvider().WithName("../x").WithOpts(WithProvider(cluster.ProviderWithFolder(dir))).Create(t.Context()); err == nil {
		t.Error("a name with .. is taken")
	}
}
