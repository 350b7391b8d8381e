package dataplane

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the nftables tables in testdata")

// tableSpace returns the space of a host, without a kernel.
func tableSpace() *space {
	p := &Plane{}
	p.host = &space{
		cfg:   Config{Uplink: "eth0", Users: Users{BySID: map[string][]uint32{"S-1-5-93-2-2": {1000}}, Mask: 2047}},
		place: p,
	}
	return p.host
}

// golden returns the file of a table.
func golden(name string) string { return filepath.Join("testdata", name+".nft") }

// tableTexts returns the tables of all plans, by the names of their files: of the host, and of each pod that has one.
func tableTexts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	p := tableSpace()
	for mode, plan := range tablePlans() {
		texts[mode] = hostText(t, p, plan).String()
		for _, port := range plan.Ports {
			if pod := podText(t, plan, port, p.cfg.Users); pod != nil {
				texts[mode+"-"+port.ID] = pod.String()
			}
		}
	}

	return texts
}

// TestTable compares what the kernel gets for a plan of each network mode with goldens, to the last rule and element.
// -update rewrites the goldens; their diff shows which packets a change affects.
func TestTable(t *testing.T) {
	texts := tableTexts(t)
	for name, got := range texts {
		if *update {
			if err := os.WriteFile(golden(name), []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}

		want, err := os.ReadFile(golden(name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", golden(name), diff)
		}
	}

	files, err := filepath.Glob(golden("*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(texts) {
		t.Errorf("there are %d tables and the files %q", len(texts), files)
	}
}
