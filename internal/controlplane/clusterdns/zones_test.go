package clusterdns

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestZones(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dns")
	if zones, err := Zones(dir, "cluster.local"); len(zones) != 0 || err != nil {
		t.Errorf("without a folder: %v, %v", zones, err)
	}

	want := Zone{
		Name:    "corp.example",
		Servers: []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")},
	}
	if err := WriteZone(dir, want); err != nil {
		t.Fatal(err)
	}

	for name, text := range map[string]string{
		"evil {}":               "nameserver 192.0.2.9\n",
		"loop.example":          "nameserver 127.0.0.1\n",
		"empty.example":         "",
		"inner.cluster.local":   "nameserver 192.0.2.9\n",
		".corp.example.partial": "nameserver 192.0.2.9\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	zones, err := Zones(dir, "cluster.local")
	if diff := cmp.Diff([]Zone{want}, zones, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, name := range []string{"evil {}", "loop.example", "empty.example", "inner.cluster.local"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %q: %v", name, err)
		}
	}

	if err := RemoveZone(dir, want.Name); err != nil {
		t.Error(err)
	}
	if err := RemoveZone(dir, want.Name); err != nil {
		t.Errorf("a second time: %v", err)
	}
	if zones, _ := Zones(dir, "cluster.local"); len(zones) != 0 {
		t.Errorf("after removal there are %v", zones)
	}
}
