package hostpower

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
)

func TestRequest(t *testing.T) {
	drive := t.TempDir()
	file := filepath.Join(drive, Path)
	none := func(drive string) {
		t.Helper()
		if r, ok, err := Read(drive); ok || err != nil {
			t.Errorf("without a request: %+v, %v, %v", r, ok, err)
		}
	}

	none(drive)
	none(filepath.Join(drive, "none"))
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
	if got, ok, err := Read(drive); got != want || !ok || err != nil {
		t.Errorf("%+v, %v, %v, want %+v", got, ok, err, want)
	}
	if there, err := Cancel(file); !there || err != nil {
		t.Errorf("it is not cancelled: %v, %v", there, err)
	}

	if err := Ask(file, want); err != nil {
		t.Fatal(err)
	}
	if err := Clear(drive); err != nil {
		t.Error(err)
	}
	none(drive)
}

// TestHostile reads what no program of ours writes. What lies outside of the drive is neither read nor removed.
func TestHostile(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	outside := t.TempDir()
	victim := filepath.Join(outside, "power.json")
	if err := os.WriteFile(victim, []byte(`{"restart":true}`), 0o600); err != nil {
		t.Fatal(err)
	}

	text := func(text string) func(file string) error {
		return func(file string) error { return os.WriteFile(file, []byte(text), 0o600) }
	}

	for name, make := range map[string]func(file string) error{
		"text": text("now"),
		"long": text(strings.Repeat(" ", 1<<20) + "{}"),
		"link": func(file string) error { return os.Symlink(victim, file) },
		"pipe": func(file string) error { return syscall.Mkfifo(file, 0o600) },
		"folder that is a link": func(file string) error {
			return errors.Join(os.Remove(filepath.Dir(file)), os.Symlink(outside, filepath.Dir(file)))
		},
	} {
		drive := t.TempDir()
		file := filepath.Join(drive, Path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), make(file)); err != nil {
			t.Fatal(err)
		}
		if r, ok, err := Read(drive); ok || err == nil {
			t.Errorf("%s is %+v", name, r)
		}
		_ = Clear(drive) // what is left is looked at below
	}

	if _, err := os.Stat(victim); err != nil {
		t.Errorf("a file outside of the drive: %v", err)
	}
	drive := t.TempDir()
	file := filepath.Join(drive, Path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), text("")(file)); err != nil {
		t.Fatal(err)
	}

	if _, ok, err := Read(drive); ok || err != nil {
		t.Errorf("a file that is being written: %v, %v", ok, err)
	}
}
