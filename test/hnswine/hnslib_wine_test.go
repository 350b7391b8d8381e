//go:build wine

package hnswine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/network/dataplane"
)

// TestHnslib runs hnslib's own tests, unmodified: what Microsoft's library expects of HNS. Left out are those of
// acceleration by network cards (a build tag of their own), which are not there.
func TestHnslib(t *testing.T) {
	c := newCluster(t)
	h := c.newHost(t, "win-a", "10.213.0.11", "10.244.1.0/24")
	program := filepath.Join(h.prefix, "drive_c", "hcn.test.exe")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-o", program,
		"-tags", "integration,integration_loadbalancer,featureroutesupport", "github.com/Microsoft/hnslib/hcn")
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build hnslib's tests: %v\n%s", err, out)
	}
	out, err := h.wine(t.Context(), nil, nil, `C:\hcn.test.exe`, "-test.v", "-test.timeout=8m")
	if err != nil {
		t.Errorf("%v\n%s", err, tail(string(out), 60))
	}
	passed := regexp.MustCompile(`(?m)^--- PASS: (\w+)`).FindAllSubmatch(out, -1)
	for line := range strings.SplitSeq(string(out), "\n") {
		if strings.HasPrefix(line, "--- FAIL") || strings.HasPrefix(line, "--- SKIP") {
			t.Error(strings.TrimSpace(line))
		}
	}
	if len(passed) < 40 {
		t.Errorf("%d tests passed; hnslib v0.1.2 has more", len(passed))
	}
	h.service.Flush(t.Context())
	if left := dataplane.Dump(h.service.Plan()); left != "" { // one of the tests begins by deleting every network
		t.Errorf("the tests left behind:\n%s", left)
	}
	if found, err := h.plane.Differences(t.Context(), h.service.Plan()); err != nil || len(found) > 0 {
		t.Errorf("the kernel is not as planned: %q, %v", found, err)
	}
}
