package parse

import (
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is compared")

func TestPlace(t *testing.T) {
	if runtime.GOOS != "windows" {
		t.Fatalf("this is %s", runtime.GOOS)
	}
	dir, err := os.Getwd()
	if err != nil || filepath.Base(dir) != "parse" || filepath.VolumeName(dir) != "C:" {
		t.Errorf("it works in %s (%v)", dir, err)
	}
	_, file, _, _ := runtime.Caller(0)
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the file that the compiler has kept: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "..", "go.mod")); err != nil {
		t.Error(err)
	}
}

func TestEnvironment(t *testing.T) {
	if got := os.Getenv("OUTSIDE"); got != "seen" {
		t.Errorf("OUTSIDE is %q", got)
	}
	if home, err := os.UserHomeDir(); err != nil || !strings.HasPrefix(home, `C:\Users\`) {
		t.Errorf("the home is %s (%v)", home, err)
	}
	if os.Getenv("HOME") != "" || strings.Contains(os.Getenv("PATH"), "/") {
		t.Errorf("HOME is %q, PATH %q", os.Getenv("HOME"), os.Getenv("PATH"))
	}
	if path, err := exec.LookPath("go"); err == nil {
		t.Errorf("there is %s", path)
	}
	if _, err := io.ReadAll(os.Stdin); err != nil {
		t.Error(err)
	}
}

func TestFile(t *testing.T) {
	text, err := os.ReadFile("testdata/text")
	if err != nil {
		t.Fatal(err)
	}
	if got := len(Words(string(text))); got != 2 {
		t.Errorf("%d words", got)
	}
	if err := os.WriteFile(filepath.Join(t.TempDir(), "new"), text, 0o600); err != nil {
		t.Error(err)
	}
}

func TestGolden(t *testing.T) {
	if *update {
		if err := os.WriteFile(`testdata\golden`, []byte("new"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestItself(t *testing.T) {
	if os.Getenv("AGAIN") != "" {
		os.Exit(7)
	}
	cmd := exec.Command(os.Args[0], "-test.run=TestItself")
	cmd.Env = append(os.Environ(), "AGAIN=1")
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("it ended so: %v", err)
	}
}

func TestSkipped(t *testing.T) { t.Skip("to be counted") }

func TestFailing(t *testing.T) {
	if os.Getenv("FAIL") != "" {
		t.Error("as it is asked to")
	}
}

func BenchmarkWords(b *testing.B) {
	for b.Loop() {
		Words("a b c")
	}
}

func FuzzWords(f *testing.F) {
	f.Add("a b")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "0") {
			t.Error("found")
		}
	})
}
