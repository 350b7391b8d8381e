//go:build wine

package hnswine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/hns/wire"
)

// TestHnslib runs hnslib's own tests, unmodified: what Microsoft's library expects of HNS. Left out are those of
// acceleration by network cards (a build tag of their own), which are not there.
func TestHnslib(t *testing.T) {
	c := newCluster(t)
	h := c.newHost(t, "win-a", "10.213.0.11", "10.244.1.0/24")
	r := h.hcnTests(t, "github.com/Microsoft/hnslib/hcn")
	if len(r.failed) > 0 {
		t.Errorf("%q did not pass\n%s", r.failed, tail(r.out, 60))
	}
	if len(r.passed) < 79 {
		t.Errorf("%d tests passed; hnslib v0.1.3 has 79", len(r.passed))
	}

	h.service.Flush(t.Context())
	if left := dataplane.Dump(h.service.Plan()); left != "" { // one of the tests begins by deleting every network
		t.Errorf("the tests left behind:\n%s", left)
	}
	if found, err := h.plane.Differences(t.Context(), h.service.Plan()); err != nil || len(found) > 0 {
		t.Errorf("the kernel is not as planned: %q, %v", found, err)
	}
}

// ran is what became of a library's tests; failed are those that failed or skipped themselves.
type ran struct {
	passed, failed []string
	out            string
}

// hcnTests builds the tests of a package of Microsoft's and runs them on the host.
func (h *host) hcnTests(t *testing.T, pkg string) ran {
	t.Helper()
	program := filepath.Join(h.prefix, "drive_c", "hcn.test.exe")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-o", program,
		"-tags", "integration,integration_loadbalancer,featureroutesupport", pkg)
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the tests of %s: %v\n%s", pkg, err, out)
	}

	out, err := h.wine(t.Context(), nil, nil, `C:\hcn.test.exe`, "-test.v", "-test.timeout=8m")
	r := ran{out: string(out)}
	for _, m := range regexp.MustCompile(`(?m)^--- (PASS|FAIL|SKIP): (\w+)`).FindAllStringSubmatch(r.out, -1) {
		if m[1] == "PASS" {
			r.passed = append(r.passed, m[2])
		} else {
			r.failed = append(r.failed, m[2])
		}
	}

	if err != nil && len(r.failed) == 0 {
		t.Errorf("the tests of %s: %v\n%s", pkg, err, tail(r.out, 60))
	}
	return r
}

// TestFieldHcnSuites runs the tests of both of Microsoft's libraries on the newest HNS and on that of Windows Server
// 2022. What does not pass there needs a newer HNS, by the libraries' own table
// (https://github.com/microsoft/hnslib/blob/v0.1.2/hcn/hcnglobals.go): TierAcl 14.0, NetworkACL 15.0, Accelnet 15.4,
// modifying a load balancer 15.5. TestCreateUpdateDeleteLoadBalancer leaves its load balancer behind if that is not
// implemented, and TestGetLoadBalancerById then wants the same port.
func TestFieldHcnSuites(t *testing.T) {
	const accelnet = "TestAccelnetNnvManagementMacAddresses" // of network cards that are not there
	older := []string{
		"TestAddRemoveNetworACLPolicy", "TestApplyTierAclPolicyOnEndpoint", "TestGetLoadBalancerById",
		"TestLoadBalancerAddRemoveEndpoint",
	}

	for _, tt := range []struct {
		name, pkg string
		version   wire.Version
		lacks     []string // tests that do not pass
		passed    int      // at least so many do
	}{
		{"ltsc2025", "hnslib", wire.Version{Major: 16}, nil, 79},
		{"ltsc2025", "hcsshim", wire.Version{Major: 16}, []string{accelnet}, 77},
		{"ltsc2022", "hnslib", wire.Version{Major: 13, Minor: 2}, older, 75},
		{
			"ltsc2022", "hcsshim",
			wire.Version{Major: 13, Minor: 2},
			slices.Concat(older, []string{accelnet, "TestCreateUpdateDeleteLoadBalancer"}), 72,
		},
	} {
		t.Run(tt.name+"/"+tt.pkg, func(t *testing.T) {
			c := newCluster(t)
			c.hns = tt.version
			h := c.newHost(t, "win-a", "10.213.0.11", "10.244.1.0/24")
			r := h.hcnTests(t, "github.com/Microsoft/"+tt.pkg+"/hcn")
			t.Logf("%d passed, %d did not: %q", len(r.passed), len(r.failed), r.failed)
			slices.Sort(r.failed)
			slices.Sort(tt.lacks)
			if !slices.Equal(r.failed, tt.lacks) || len(r.passed) < tt.passed {
				t.Errorf("%q did not pass, expected %q\n%s", r.failed, tt.lacks, tail(r.out, 80))
			}
		})
	}
}
