package single

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri"
)

// TestExitCode holds that a failure never looks like success, and what is said of one.
func TestExitCode(t *testing.T) {
	for _, tc := range []struct {
		end  End
		code int
		why  string
	}{
		{End{}, 0, ""},
		{End{Code: 7}, 7, ""},
		{End{Code: 256}, 1, ""},
		{End{Code: 0x10000}, 1, ""},
		{End{Code: 0xFFFFFFFF}, 255, "the program ended with 0xFFFFFFFF"},
		{End{Code: 0xC0000005}, 5, "the program ended with 0xC0000005 (access violation)"},
		{End{Code: 0xC000013A}, 58, "the program ended with 0xC000013A (Ctrl+C)"},
		{End{Code: 137, Killed: true}, 137, ""},
	} {
		if code, why := tc.end.ExitCode(), tc.end.Why(); code != tc.code || why != tc.why {
			t.Errorf("%+v: %d, %q; want %d, %q", tc.end, code, why, tc.code, tc.why)
		}
	}
}

// TestNotStarted tells by Windows' error whether a program is missing, or cannot be started.
func TestNotStarted(t *testing.T) {
	for code, want := range map[uint32]int{2: 127, 3: 127, 5: 126, 193: 126, 216: 126} {
		err := notStarted(cri.Outcome{
			Failed:  true,
			Code:    code,
			Message: "Words.\r\n",
		})
		var r *Refusal
		if !errors.As(err, &r) || r.Code != want || r.Message != fmt.Sprintf("start the program: Words. (0x%x)", code) {
			t.Errorf("error %d: %+v", code, r)
		}
	}

	if r := refusalOf(errors.New("other")); r.Code != CodeFailed {
		t.Errorf("an error of ours: %d", r.Code)
	}
}

// TestLimits has whole processors counted, and others as a share of the machine's.
func TestLimits(t *testing.T) {
	for _, tc := range []struct {
		cpus float64
		want *runtimeapi.WindowsContainerResources
	}{
		{0, &runtimeapi.WindowsContainerResources{MemoryLimitInBytes: 5}},
		{2, &runtimeapi.WindowsContainerResources{MemoryLimitInBytes: 5, CpuCount: 2}},
		{0.5, &runtimeapi.WindowsContainerResources{MemoryLimitInBytes: 5, CpuMaximum: 1250}},
		{0.0001, &runtimeapi.WindowsContainerResources{MemoryLimitInBytes: 5, CpuMaximum: 1}},
		{99.5, &runtimeapi.WindowsContainerResources{MemoryLimitInBytes: 5, CpuMaximum: 10000}},
	} {
		if diff := cmp.Diff(tc.want, limits(5, tc.cpus, 4), protocmp.Transform()); diff != "" {
			t.Errorf("%v processors: %s", tc.cpus, diff)
		}
	}
}

// TestIsOrphan reads what Linux says of a process. A name may have anything in it.
func TestIsOrphan(t *testing.T) {
	for stat, want := range map[string]bool{
		"12 (containerd-shim) Z 1 12 12 0":  true,
		"12 (containerd-shim) S 1 12 12 0":  false,
		"12 (containerd-shim) Z 13 12 12 0": false,
		"12 (containerd) Z 1 12 12 0":       false, // it has who waits for it
		"12 (runc) Z 1) S 1 12":             false,
		"12 (":                              false,
		"":                                  false,
	} {
		if got := isOrphan(stat, 1); got != want {
			t.Errorf("%q: %v", stat, got)
		}
	}
}

func TestVersionOf(t *testing.T) {
	for osVersion, want := range map[string]string{"10.0.17763.5329": "ltsc2019", "10.0.1.1": "", "": "", "1809": ""} {
		if got, known := versionOf(osVersion); got != want || known != (want != "") {
			t.Errorf("%q is of %q, %v; want %q", osVersion, got, known, want)
		}
	}
}
