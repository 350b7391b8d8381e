//go:build kernel

package dataplane

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/netplan"
)

// TestTableInKernel checks that the goldens are what the kernel gets: nft lists the table that the data plane made in
// the same way as a table read from the golden.
func TestTableInKernel(t *testing.T) {
	for mode, plan := range tablePlans() {
		t.Run(mode, func(t *testing.T) {
			p := tableSpace()
			compareTables(t, mode, tableName, makeTable(t, p, plan))
			for _, port := range plan.Ports {
				if podText(t, plan, port, p.cfg.Users) != nil {
					compareTables(t, mode+"-"+port.ID, "hns_"+port.Name, makePodTable(t, p, plan, port))
				}
			}
		})
	}
}

// makeTable makes the data plane make a host's table, and returns the host's network namespace.
func makeTable(t *testing.T, p *space, plan netplan.Plan) string {
	t.Helper()
	ns := netnstest.New(t, "host")
	table, err := openTable(ns)
	if err != nil {
		t.Fatal(err)
	}
	p.askAll(newState(plan))
	if err := table.replace(t.Context(), p.rules); err != nil {
		t.Fatal(err)
	}
	return ns
}

// makePodTable makes the data plane make a port's table, and returns the pod's network namespace.
func makePodTable(t *testing.T, p *space, plan netplan.Plan, port netplan.Port) string {
	t.Helper()
	ns := netnstest.New(t, "pod")
	p.cfg.PinDir, port.Namespace = filepath.Split(ns)
	p.podRules = map[string]uint32{}
	s := &portSpec{Port: port, bridge: newState(plan).bridges[port.Bridge]}
	if err := p.ensurePodRules(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return ns
}

// compareTables compares a table with the golden of that name.
func compareTables(t *testing.T, name, table, made string) {
	t.Helper()
	read := netnstest.New(t, "read")
	nft(t, read, "-f", golden(name))
	want := listing(t, read, table)
	if got := listing(t, made, table); len(want) < 3 || !slices.Equal(want, got) {
		t.Errorf("%s (-golden +kernel):\n%s", golden(name), cmp.Diff(want, got))
	}
}

func nft(t *testing.T, ns string, args ...string) string {
	t.Helper()
	var out []byte
	err := netns.Do(ns, func() (err error) {
		out, err = exec.Command("nft", args...).CombinedOutput()
		return err
	})
	if err != nil {
		t.Fatalf("nft %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// listing returns what nft lists of a table, without parts that differ each time: numbers of objects, the order of
// elements, and the seal, which is a hash of such numbers.
func listing(t *testing.T, ns, table string) []string {
	t.Helper()
	var answer struct{ Nftables []map[string]map[string]any }
	if err := json.Unmarshal([]byte(nft(t, ns, "-j", "list", "table", "inet", table)), &answer); err != nil {
		t.Fatal(err)
	}

	var lines []string
	for _, entry := range answer.Nftables {
		for kind, object := range entry {
			if kind == "metainfo" {
				continue
			}
			elements, _ := object["elem"].([]any)
			delete(object, "handle")
			delete(object, "elem")
			if object["name"] == sealSet {
				elements = nil
			}

			lines = append(lines, text(t, kind, object))
			var list []string
			for _, e := range elements {
				list = append(list, text(t, fmt.Sprint("element of ", object["name"]), e))
			}

			slices.Sort(list)
			lines = append(lines, list...)
		}
	}

	return lines
}

func text(t *testing.T, what string, v any) string {
	t.Helper()
	b, err := json.Marshal(v) // with the keys in order
	if err != nil {
		t.Fatal(err)
	}
	return what + " " + string(b)
}
