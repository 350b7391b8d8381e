package hostpower

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRequest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "below", "power.json")
	none := func() {
		t.Helper()
		if r, ok, err := Read(file); ok || err != nil {
			t.Errorf("without a request: %+v, %v, %v", r, ok, err)
		}
	}
	none()
	if there, err := Cancel(file); there || err != nil {
		t.Errorf("nothing is cancelled: %v, %v", there, err)
	}
	want := Request{Restart: true, At: time.Unix(1700000000, 0).UTC()}
	if err := Ask(file, want); err != nil {
		t.Fatal(err)
	}
	if err := Ask(file, Request{}); !errors.Is(err, ErrPending) {
		t.Errorf("a second request: %v", err)
	}
	if got, ok, err := Read(file); got != want || !ok || err != nil {
		t.Errorf("%+v, %v, %v, want %+v", got, ok, err, want)
	}
	if there, err := Cancel(file); !there || err != nil {
		t.Errorf("it is not cancelled: %v, %v", there, err)
	}
	none()
}

// TestHostile reads what no program of ours writes.
func TestHostile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	if _, ok, err := Read(write("empty", "")); ok || err != nil {
		t.Errorf("a file that is being written: %v, %v", ok, err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(write("good", `{"restart":true}`), link); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{write("text", "now"), write("long", strings.Repeat(" ", 1<<20)+"{}"), link, dir} {
		if r, ok, err := Read(file); ok || err == nil {
			t.Errorf("%s is %+v", file, r)
		}
	}
}
