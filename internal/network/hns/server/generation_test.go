package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
)

// withGeneration returns a service that keeps a generation in a file below drive.
func withGeneration(t *testing.T, drive string) (*Service, *os.File) {
	t.Helper()
	file, err := OpenGenerationFile(drive)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = file.Close() })
	s, err := Open(t.Context(), Config{
		Model:      hns.Config{Version: wire.Version{Major: 15}},
		Store:      FileStore{Path: filepath.Join(t.TempDir(), "state.json")},
		DataPlane:  &dataplane.Fake{},
		Log:        slog.New(slog.DiscardHandler),
		Generation: file,
	})
	if err != nil {
		t.Fatal(err)
	}

	return s, file
}

func newDrive(t *testing.T) string {
	t.Helper()
	drive := t.TempDir()
	if err := os.MkdirAll(filepath.Join(drive, filepath.Dir(GenerationFile)), 0o700); err != nil {
		t.Fatal(err)
	}
	return drive
}

func read(t *testing.T, f *os.File) uint64 {
	t.Helper()
	b := make([]byte, 8)
	if _, err := f.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return binary.LittleEndian.Uint64(b)
}

// A client's copies are valid until the file has another number, which it has after each change.
func TestCopies(t *testing.T) {
	s, file := withGeneration(t, newDrive(t))
	ask := func(withCopies bool, function string, text ...string) [][]byte {
		t.Helper()
		fields := [][]byte{[]byte(function), nil, nil}
		for _, x := range text {
			fields = append(fields, encodeText(x))
		}

		frame, _ := s.answer(t.Context(), &session{}, fields, withCopies)
		var got [][]byte
		for rest := frame[4:]; len(rest) > 0; {
			size := binary.LittleEndian.Uint32(rest)
			got, rest = append(got, rest[4:4+size]), rest[4+size:]
		}

		if code := binary.LittleEndian.Uint32(got[0]); code != 0 {
			t.Fatalf("%s: %#x", function, code)
		}

		return got
	}

	first := read(t, file)
	made := ask(true, "HcnCreateNamespace", `{"Type":"Host"}`)
	if now := read(t, file); now == first || len(made) != 6 || binary.LittleEndian.Uint64(made[4]) != now {
		t.Fatalf("made: %d fields, generation %x, before %x", len(made), now, first)
	}
	if !bytes.HasPrefix(made[5], made[1]) || !bytes.Contains(made[5], []byte(`"Type":"Host"`)) {
		t.Errorf("the copy of %x is %q", made[1], made[5])
	}

	now := read(t, file)
	if listed := ask(true, "HcnEnumerateNamespaces", ""); len(listed) != 4+1+2 { // the host's own is one
		t.Errorf("listed: %d fields", len(listed))
	}
	if listed := ask(false, "HcnEnumerateNamespaces", ""); len(listed) != 4 {
		t.Errorf("listed for a client without copies: %d fields", len(listed))
	}

	if read(t, file) != now {
		t.Error("reading makes a new generation")
	}
	if err := s.Restart(t.Context()); err != nil || read(t, file) == now {
		t.Errorf("a restart leaves the generation, %v", err)
	}
}

type fullDisk struct{ err error }

func (d *fullDisk) WriteAt(b []byte, _ int64) (int, error) { return len(b), d.err }

// If the number cannot be written, the change is refused: otherwise copies from before it would count as valid.
func TestNoGeneration(t *testing.T) {
	disk := &fullDisk{}
	s, err := Open(t.Context(), Config{
		Model:      hns.Config{Version: wire.Version{Major: 15}},
		Store:      FileStore{Path: filepath.Join(t.TempDir(), "state.json")},
		DataPlane:  &dataplane.Fake{},
		Log:        slog.New(slog.DiscardHandler),
		Generation: disk,
	})
	if err != nil {
		t.Fatal(err)
	}

	before := len(s.Plan().Namespaces)
	disk.err = errors.New("no space")
	if _, err := s.Call(t.Context(), hns.Request{
		Function: "HcnCreateNamespace",
		Text:     []string{`{"Type":"Host"}`},
	}); hresult(err) != wire.EFail {
		t.Errorf("err = %v", err)
	}

	if got := len(s.Plan().Namespaces); got != before {
		t.Errorf("%d namespaces, before %d", got, before)
	}
}

// Windows programs may put anything in the file's place: nothing outside of the drive is written, and a file that
// programs have mapped stays.
func TestGenerationFile(t *testing.T) {
	drive, outside := newDrive(t), filepath.Join(t.TempDir(), "outside")
	path := filepath.Join(drive, GenerationFile)
	if err := os.WriteFile(outside, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, path); err != nil {
		t.Fatal(err)
	}

	_, file := withGeneration(t, drive)
	if data, err := os.ReadFile(outside); err != nil || string(data) != "mine" {
		t.Errorf("outside: %q, %v", data, err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}

	number := read(t, file)
	_, again := withGeneration(t, drive)
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) || read(t, again) == number {
		t.Errorf("after a start: the same file %v, %v", os.SameFile(before, after), err)
	}
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}

	if err := os.Symlink(filepath.Dir(outside), filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if f, err := OpenGenerationFile(drive); err == nil {
		t.Errorf("opened %s", f.Name())
	}
}
