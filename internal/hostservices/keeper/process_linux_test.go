package keeper

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/windows/wire/hostcall"
)

// settlesVariable makes a test binary the process that settles: it does not take back what it does.
const settlesVariable = "KEEPER_TEST_SETTLES"

// TestSettle: a keeper's memory is bounded, and no other keeper may read it.
func TestSettle(t *testing.T) {
	if os.Getenv(settlesVariable) == "" {
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestSettle$", "-test.v")
		cmd.Env = append(os.Environ(), settlesVariable+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestSettle") {
			t.Errorf("the process that settles: %v\n%s", err, out)
		}
		return
	}

	if before := debug.SetMemoryLimit(-1); before != math.MaxInt64 {
		t.Fatalf("the memory was bounded before: %d", before)
	}
	if err := Settle(); err != nil {
		t.Fatal(err)
	}

	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil || dumpable != 0 {
		t.Errorf("others may read the memory: %d, %v", dumpable, err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_DATA, &limit); err != nil || limit.Cur != 1<<30 || limit.Max != 1<<30 {
		t.Errorf("the bound of the memory is %+v, %v", limit, err)
	}
	if goes := debug.SetMemoryLimit(-1); goes != 768<<20 {
		t.Errorf("garbage is collected at %d", goes)
	}
	told(t) // which settles, too
}

// told is the other side of Keep: what a keeper reads, says and waits for.
func told(t *testing.T) {
	t.Helper()
	broken := errors.New("the disk is broken")
	for _, tt := range []struct {
		name, in string
		work     error
		out      string
		says     string // the error; "" for none
	}{
		{"found and used", `"a" true`, nil, `"found":"a!"`, ""},
		{"found and not used", `"a" false`, nil, `"found":"a!"`, "hear that what was found is used"},
		{"found, and who asked has gone", `"a"`, nil, `"found":"a!"`, "hear that what was found is used: EOF"},
		{"nothing to do", ``, nil, "", "read what to do: EOF"},
		{"nonsense to do", `{"a":`, nil, "", "read what to do"},
		{"work fails", `"a" true`, broken, `"the disk is broken"`, "the disk is broken"},
		{"work is refused", `"a" true`, hostcall.Refusef(7, "no such disk"), `"no such disk"`, "no such disk"},
	} {
		var out strings.Builder
		var what string
		err := Told(strings.NewReader(tt.in), &out, &what, func() (string, error) { return what + "!", tt.work })

		if (err == nil) != (tt.says == "") || (err != nil && !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.says)
		}
		if !strings.Contains(out.String(), tt.out) || (tt.out == "") != (out.Len() == 0) {
			t.Errorf("%s: it says %q, want %s", tt.name, out.String(), tt.out)
		}
		if tt.name == "work is refused" && !strings.Contains(out.String(), "7") {
			t.Errorf("the refusal has lost its code: %q", out.String())
		}
	}
}

// TestStartOfNothing: a program that is not there is an error, and leaves no descriptor open.
func TestStartOfNothing(t *testing.T) {
	before := descriptors(t)
	kept, in, out, err := Process{
		Program: filepath.Join(t.TempDir(), "none"),
		Command: Share,
	}.Start(t.Context())
	if err == nil || kept != nil || in != nil || out != nil {
		t.Errorf("got %v, %v, %v, %v", kept, in, out, err)
	}

	kept, in, out, err = Process{
		Program: "/proc/self/exe",
		Command: Share,
		Netns:   filepath.Join(t.TempDir(), "none"),
	}.Start(t.Context())
	if err == nil || kept != nil || in != nil || out != nil {
		t.Errorf("in a namespace that is not there: got %v, %v, %v, %v", kept, in, out, err)
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors are open, %d before", after, before)
	}
}

// TestCommands: what finds targets ends by itself, and does not outlive who starts it.
func TestCommands(t *testing.T) {
	if all := Commands(); slices.Contains(all, Targets) || len(all) != 3 {
		t.Errorf("got %q", all)
	}
}

// descriptors returns how many this process has.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
