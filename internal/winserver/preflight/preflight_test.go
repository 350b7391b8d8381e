package preflight_test

import (
	"testing"

	"mullion.dev/mullion/internal/windows/winver"
	"mullion.dev/mullion/internal/winserver/preflight"
)

// good returns the facts of a Windows Server 2022 that can join.
func good() preflight.Facts {
	return preflight.Facts{
		Version: winver.Version{
			Major:    10,
			Build:    20348,
			Revision: 1,
		}, Server: true, Admin: true,
		HNS: winver.HNSVersion{Major: 15, Minor: 1}, Containers: true, Free: 100 << 30, Name: "win-a",
		Reach: "192.0.2.1:6443",
	}
}

// A server that can join passes every check; each fault is found by its check alone, and has a remedy.
func TestJudge(t *testing.T) {
	for _, r := range preflight.Judge(good()) {
		if r.Outcome != preflight.Pass || r.Evidence == "" || r.Remedy != "" {
			t.Errorf("%+v", r)
		}
	}

	for name, c := range map[string]struct {
		spoil func(*preflight.Facts)
		id    string
		want  preflight.Outcome
	}{
		"old":            {func(f *preflight.Facts) { f.Version.Build = 14393 }, "windows-build", preflight.Fail},
		"workstation":    {func(f *preflight.Facts) { f.Server = false }, "windows-build", preflight.Fail},
		"new":            {func(f *preflight.Facts) { f.Version.Build = 99999 }, "windows-build", preflight.Warn},
		"user":           {func(f *preflight.Facts) { f.Admin = false }, "administrator", preflight.Fail},
		"no containers":  {func(f *preflight.Facts) { f.Containers = false }, "containers-feature", preflight.Fail},
		"own runtime":    {func(f *preflight.Facts) { f.Containers, f.Runtime = false, "npipe:x" }, "containers-feature", preflight.Warn},
		"no HNS":         {func(f *preflight.Facts) { f.HNSError = "it is stopped" }, "hns", preflight.Fail},
		"old HNS":        {func(f *preflight.Facts) { f.HNS.Major = 8 }, "hns", preflight.Fail},
		"HNS of RS3":     {func(f *preflight.Facts) { f.HNS = winver.HNSVersion{Major: 9, Minor: 1} }, "hns", preflight.Fail},
		"silent runtime": {func(f *preflight.Facts) { f.Runtime, f.RuntimeError = "npipe:x", "gone" }, "container-runtime", preflight.Fail},
		"ports":          {func(f *preflight.Facts) { f.Taken = []int{10250} }, "ports", preflight.Fail},
		"disk":           {func(f *preflight.Facts) { f.Free = 1 << 30 }, "disk", preflight.Warn},
		"name":           {func(f *preflight.Facts) { f.Name = "WIN_A" }, "node-name", preflight.Fail},
		"leftovers":      {func(f *preflight.Facts) { f.Left = []string{"service kubelet"} }, "leftovers", preflight.Fail},
		"joined":         {func(f *preflight.Facts) { f.Node, f.Taken = "win-a", []int{10250} }, "leftovers", preflight.Warn},
		"unreachable":    {func(f *preflight.Facts) { f.ReachError = "refused" }, "api-server", preflight.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			f := good()
			c.spoil(&f)
			all := preflight.Judge(f)
			for _, r := range all {
				want := preflight.Pass
				if r.ID == c.id {
					want = c.want
				}
				if r.Outcome != want || r.Evidence == "" || (r.Remedy == "") != (want == preflight.Pass) {
					t.Errorf("%+v, want %s", r, want)
				}
			}
			if preflight.Failed(all) != (c.want == preflight.Fail) {
				t.Errorf("failed is %v", preflight.Failed(all))
			}
		})
	}
}
