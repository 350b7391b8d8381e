package diagnose

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
)

// unpacked returns the files of an archive of `mullion collect`, by name.
func unpacked(t *testing.T, file string) map[string]string {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}

	plain, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}

	files := map[string]string{}
	for archive := tar.NewReader(plain); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}

		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(text)
	}
}

// TestCollectOfAnotherCluster: without --node-pods its nodes are not asked, and that is said.
func TestCollectOfAnotherCluster(t *testing.T) {
	m := newMachine(t)
	config := filepath.Join(t.TempDir(), "config")
	m.Write(config, clitest.Kubeconfig(m.serveNodes("True", "/api/v1/events")))
	file := filepath.Join(t.TempDir(), "it.tar.gz")
	const notAsked = "what the nodes say of themselves: --node-pods asks them by a HostProcess pod on each"
	m.Run("collect", "--kubeconfig", config, "-o", file).Has(t, exit.OK, file, "warning: not collected: "+notAsked)
	files := unpacked(t, file)
	if !strings.Contains(files["mullion-collect/objects/nodes.yaml"], "name: win-1") ||
		!strings.Contains(files["mullion-collect/missing.txt"], notAsked) ||
		!strings.Contains(files["mullion-collect/missing.txt"], "events of the API server") {
		t.Errorf("%v", files)
	}

	for name := range files {
		if strings.Contains(name, "logs/") || strings.Contains(name, "machine") {
			t.Errorf("%s of this machine is in another cluster's archive", name)
		}
	}

	m.Run("collect", "--kubeconfig", config, "-o", file).Has(t, exit.Usage, "mullion: make the archive: open "+file, "→ name another file with --output")
	m.Run("collect", "--kubeconfig", config, "nobody").Has(t, exit.Usage, "mullion: the cluster has no node \"nobody\"")
}
