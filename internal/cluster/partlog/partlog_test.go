package partlog_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/cluster/partlog"
)

func log(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "etcd.log")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTail holds that the last lines are printed, also of a log of many blocks and of one without an end of line.
func TestTail(t *testing.T) {
	long := strings.Repeat(strings.Repeat("x", 1000)+"\n", 300) // several blocks
	wide := strings.Repeat("y", 200<<10) + "\n"
	for _, tt := range []struct {
		name, text string
		tail       int
		want       string
	}{
		{"all", "one\ntwo\n", partlog.All, "one\ntwo\n"},
		{"none", "one\ntwo\n", 0, ""},
		{"one", "one\ntwo\n", 1, "two\n"},
		{"more", "one\ntwo\n", 9, "one\ntwo\n"},
		{"exactly", "one\ntwo\n", 2, "one\ntwo\n"},
		{"no-end", "one\ntwo", 1, "two"},
		{"empty", "", 3, ""},
		{"empty-lines", "\n\n\n", 2, "\n\n"},
		{"long", long + "end\n", 2, strings.Repeat("x", 1000) + "\nend\n"},
		{"long-all", long, 300, long},
		{"wide", "one\n" + wide + "end\n", 2, wide + "end\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			if err := partlog.Print(t.Context(), &out, log(t, tt.text), tt.tail, false); err != nil {
				t.Fatal(err)
			}
			if out.String() != tt.want {
				t.Errorf("got %.80q (%d bytes), want %.80q (%d bytes)", out.String(), out.Len(), tt.want, len(tt.want))
			}
		})
	}
}

// grown is told what is printed, and does something then.
type grown struct {
	printed string
	then    func(printed string)
}

func (g *grown) Write(b []byte) (int, error) {
	g.printed += string(b)
	g.then(g.printed)
	return len(b), nil
}

// TestFollow prints what is added, until its context ends.
func TestFollow(t *testing.T) {
	path := log(t, "old\nfirst\n")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	out := &grown{}
	out.then = func(printed string) {
		switch printed {
		case "first\n":
			if err := os.WriteFile(path, []byte("old\nfirst\nsecond\n"), 0o600); err != nil {
				t.Error(err)
			}
		case "first\nsecond\n":
			cancel()
		}
	}

	if err := partlog.Print(ctx, out, path, 1, true); err != nil || out.printed != "first\nsecond\n" {
		t.Errorf("%v, printed %q", err, out.printed)
	}
}

func TestNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"etcd.log", "kubelet/win-1.log", "notes.txt"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	names, err := partlog.Names(dir)
	if diff := cmp.Diff([]string{"etcd", "kubelet/win-1"}, names); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, want := partlog.File(dir, names[1]), filepath.Join(dir, "kubelet", "win-1.log"); got != want {
		t.Errorf("file %q, want %q", got, want)
	}

	if _, err := partlog.Names(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there is no error")
	}
}
