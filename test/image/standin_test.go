//go:build kernel

package image

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	store "mullion.dev/mullion/internal/runtime/image"
)

// TestStandIn: where nobody answers at the registry of Microsoft's base images, an image without files stands in, for
// nodes of its build. A registry that answers is believed, also if it says no.
func TestStandIn(t *testing.T) {
	c := startContainerd(t, t.TempDir())
	hub := newHub(t)
	hosts := t.TempDir()
	registryAt := func(address string) {
		t.Helper()
		dir := filepath.Join(hosts, "mcr.microsoft.com")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		text := "server = \"http://" + address + "\"\n"
		if err := os.WriteFile(filepath.Join(dir, "hosts.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	node := func(version string) *store.Store {
		t.Helper()
		s, err := store.New(c, namespace, store.Config{
			OSVersion:   version,
			Handlers:    store.DefaultHandlers(),
			SystemFiles: systemFiles(t),
			Owner:       100000,
			Registries:  store.Registries{HostDirs: []string{hosts}, BaseSilence: time.Second},
		})
		if err != nil {
			t.Fatal(err)
		}

		return s
	}

	const ref = "mcr.microsoft.com/windows/servercore:ltsc2019"

	registryAt(hub.host)
	if _, err := node(v2019).Pull(t.Context(), ref, nil, ""); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("of a registry without it: %v", err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()

	registryAt(silent.Addr().String())
	const other = "mcr.microsoft.com/windows/nanoserver:ltsc2019"
	if info, err := node(v2019).Pull(t.Context(), other, nil, ""); err != nil || !info.StandsIn() {
		t.Errorf("of a registry that is silent: %+v, %v", info, err)
	} else if err := node(v2019).Remove(t.Context(), info.ID); err != nil {
		t.Fatal(err)
	}

	registryAt("127.0.0.1:1") // nobody listens there
	if _, err := node(v2019).Pull(t.Context(), "mcr.microsoft.com/windows/servercore/iis:ltsc2019", nil, ""); err == nil {
		t.Error("an empty image stands in for IIS")
	}
	if left := leftovers(t, c); len(left) > 0 {
		t.Errorf("failed pulls left %v", left)
	}

	info, err := node(v2019).Pull(t.Context(), ref, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if info.OSVersion != v2019 || info.Pinned || !info.StandsIn() ||
		strings.Join(info.Config.Cmd, " ") != `c:\windows\system32\cmd.exe` || info.RepoTags[0] != ref {
		t.Errorf("the stand-in is %+v", info)
	}

	if again, err := node(v2019).Pull(t.Context(), ref, nil, ""); err != nil || again.ID != info.ID {
		t.Errorf("pulled again: %s, %v, want %s", again.ID, err, info.ID)
	}
	if _, err := node(v2022).Pull(t.Context(), ref, nil, ""); err == nil ||
		!strings.Contains(err.Error(), "no match for platform in manifest") {
		t.Errorf("on a node of another build: %v", err)
	}

	if err := node(v2019).Remove(t.Context(), info.ID); err != nil {
		t.Fatal(err)
	}
	if left := leftovers(t, c); len(left) > 0 {
		t.Errorf("a removed stand-in leaves %v", left)
	}
}
