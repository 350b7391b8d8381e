package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReasons(t *testing.T) {
	t.Chdir(t.TempDir())
	source := filepath.Join("internal", "x", "x_test.go")
	if err := os.MkdirAll(filepath.Dir(source), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(source, []byte("t.Errorf()\nt.Logf()\nhelper(t)\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	var long strings.Builder
	for i := range 30 {
		fmt.Fprintf(&long, "        line %d\n", i)
	}

	for _, tc := range []struct {
		name, output string
		want         []string
	}{
		{
			"error", "=== RUN   TestX\n    x_test.go:1: got 1,\n        want 2\n--- FAIL: TestX (0.00s)\n",
			[]string{"x_test.go:1: got 1,\n    want 2"},
		},
		{"log", "    x_test.go:2: noise\n        more noise\n    x_test.go:3: == attached\n        noise\n    x_test.go:3: the reason\n", []string{"x_test.go:3: the reason"}},
		{"printed", "printed\n    x_test.go:1: bad\nprinted\n        no message\n", []string{"x_test.go:1: bad"}},
		{"panic", "    x_test.go:2: noise\npanic: boom\n\ngoroutine 1\n", []string{"panic: boom\n\ngoroutine 1"}},
		{
			"script", "    testscript.go:5: # what\n" + long.String() + "        FAIL: a.txtar:3: no match\n",
			[]string{"testscript.go:5: # what\n    line 0\n    line 1\n    line 2\n    … 18 lines …\n    line 21\n    line 22\n    line 23\n    line 24\n    line 25\n    line 26\n    line 27\n    line 28\n    line 29\n    FAIL: a.txtar:3: no match"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, reasons(module+"internal/x", tc.output)); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSummaryEndsWithReasons reads what go test printed of a failed test and a package that failed by itself.
func TestSummaryEndsWithReasons(t *testing.T) {
	in := `{"Action":"output","Package":"mullion.dev/mullion/test/x","Test":"TestA/sub","Output":"    a_test.go:7: got 1\n"}
{"Action":"fail","Package":"mullion.dev/mullion/test/x","Test":"TestA/sub"}
{"Action":"fail","Package":"mullion.dev/mullion/test/x","Test":"TestA"}
{"Action":"fail","Package":"mullion.dev/mullion/test/x"}
{"Action":"output","Package":"mullion.dev/mullion/test/y","Output":"left behind: a process\n"}
{"Action":"fail","Package":"mullion.dev/mullion/test/y"}
{"ImportPath":"z","Action":"build-output","Output":"z.go:1: undefined: zz\n"}
{"Action":"fail","Package":"mullion.dev/mullion/test/z","FailedBuild":"z"}
`

	r := newResult("wine")
	r.read(strings.NewReader(in), &strings.Builder{})
	var got strings.Builder
	for _, f := range withReasons(r.failures) {
		f.print(&got)
	}

	want := `FAILED wine: mullion.dev/mullion/test/x TestA/sub
    a_test.go:7: got 1
FAILED wine: mullion.dev/mullion/test/y 
    left behind: a process
FAILED wine: mullion.dev/mullion/test/z 
    z.go:1: undefined: zz
`

	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

// TestCutShort lets go test end a package whose time is over: the test that hung is named, with what it said and where
// it was.
func TestCutShort(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module hangs\n",
		"a_test.go": `package hangs
import "testing"
func TestHangs(t *testing.T) {
	t.Run("part", func(t *testing.T) { t.Error("so far"); select {} })
}
func TestNever(t *testing.T) {}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	cmd := exec.CommandContext(t.Context(), "go", "test", "-json", "-timeout=1s", ".")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err == nil {
		t.Fatalf("a test that hangs passed:\n%s", out)
	}

	r := newResult("wine")
	r.read(bytes.NewReader(out), io.Discard)
	var got strings.Builder
	for _, f := range withReasons(r.failures) {
		f.print(&got)
	}

	for _, want := range []string{"FAILED wine: hangs TestHangs/part\n", "it ran when its package ended", "test timed out"} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("no %q in:\n%s", want, got.String())
		}
	}
	if strings.Contains(got.String(), "TestNever") || len(r.running) > 0 {
		t.Errorf("running: %v, and:\n%s", r.running, got.String())
	}
}

// TestTimeForARung: a rung has its own limit, what is left of the whole time, or is not begun.
func TestTimeForARung(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, tc := range []struct {
		name string
		end  time.Time
		want time.Duration
	}{
		{"no end", time.Time{}, limit("wine")},
		{"far away", now.Add(time.Hour), limit("wine")},
		{"near", now.Add(7 * time.Minute), 7 * time.Minute},
		{"too near", now.Add(20 * time.Second), 0},
		{"over", now.Add(-time.Hour), 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := timeFor("wine", now, tc.end); got != tc.want {
				t.Errorf("the rung may take %v, not %v", got, tc.want)
			}
		})
	}

	if _, err := endOf("soon"); err == nil {
		t.Error("a time that is no number was taken")
	}
}

// TestRungOutOfTime: what was not begun has failed, and says why.
func TestRungOutOfTime(t *testing.T) {
	var out strings.Builder
	if runAll(t.Context(), []string{"kernel"}, time.Now().Add(-time.Minute), &out) {
		t.Error("a rung without time passed")
	}
	if want := "rung kernel: not run: the time for all tests is over"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in:\n%s", want, out.String())
	}
}

// TestSideBySide: of rungs that are joined each is run, and each that failed is named.
func TestSideBySide(t *testing.T) {
	var out strings.Builder
	if runAll(t.Context(), []string{"kernel+wine", "cellar"}, time.Now().Add(-time.Minute), &out) {
		t.Error("rungs without time passed")
	}
	for _, want := range []string{"rung kernel: not run", "rung wine: not run", "rung cellar: no such rung"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

// TestSlowest: the longest are named, the longest first, and no short one.
func TestSlowest(t *testing.T) {
	var in strings.Builder
	fmt.Fprintln(&in, `{"Action":"pass","Package":"mullion.dev/mullion/test/x","Test":"TestShort","Elapsed":19.9}`)
	for i := range maxSlow + 1 {
		fmt.Fprintf(&in, `{"Action":"pass","Package":"mullion.dev/mullion/test/x","Test":"Test%d","Elapsed":%d}`+"\n", i,
			20+i)
	}

	r := newResult("pure")
	var out strings.Builder
	r.read(strings.NewReader(in.String()), &out)
	r.summary(&out, time.Minute)
	for _, want := range []string{
		fmt.Sprintf("slow %6ds Test%d\nslow %6ds", 20+maxSlow, maxSlow, 19+maxSlow), "slow     21s Test1\n==",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the summary lacks %q:\n%s", want, out.String())
		}
	}

	if strings.Contains(out.String(), "TestShort") {
		t.Errorf("the summary names a short test:\n%s", out.String())
	}
}
