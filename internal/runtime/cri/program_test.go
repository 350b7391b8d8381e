package cri

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestReadProcesses: of what a container says of its processes, lines that are none do not count, and no more is read
// than there is room for.
func TestReadProcesses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "list")
	text := "process 32 133774272000000001 20000 30000 4096 8192 my program.exe\n" +
		"process 0 0 0 0 0 0 idle\nprocess 4294967296 0 0 0 0 0 large\nprocess -4 0 0 0 0 0 x\nprocess 36 1 2\nexited 4\n\n" +
		"process 40 0 9223372036854775807 9223372036854775808 0 0 too much\n" +
		"process 44 9223372036854775807 9223372036854775807 9223372036854775807 9223372036854775807 1 \xff\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	got, err := ReadProcesses(file)
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	want := Process{
		PID: 32, Image: "my program.exe", Created: time.Date(2024, 11, 30, 8, 0, 0, 100, time.UTC),
		Kernel: 2 * time.Millisecond, User: 3 * time.Millisecond, WorkingSet: 4096, Committed: 8192,
	}

	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if year := got[1].Created.Year(); year != 9999 {
		t.Errorf("the year %d", year)
	}
	if got[1].Kernel <= 0 || got[1].Image != "\uFFFD" {
		t.Errorf("of an extreme: %+v", got[1])
	}

	many := strings.Repeat("process 4 0 0 0 0 0 x\n", maxProcesses+1)
	if err := os.WriteFile(file, []byte(many), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadProcesses(file); len(got) != maxProcesses || err != nil {
		t.Errorf("of many processes there are %d, %v", len(got), err)
	}

	if err := os.Symlink(file, file+".link"); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadProcesses(file + ".link"); err == nil {
		t.Error("a link of the container's was followed")
	}
}
