package qemu

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unpack lists what an archive holds, as the kernel reads it.
func unpack(t *testing.T, data []byte) []string {
	t.Helper()

	var all []string
	for at := 0; ; {
		var magic string
		var f [13]int
		if _, err := fmt.Sscanf(string(data[at:at+110]), "%6s%8x%8x%8x%8x%8x%8x%8x%8x%8x%8x%8x%8x%8x", &magic, &f[0],
			&f[1], &f[2], &f[3], &f[4], &f[5], &f[6], &f[7], &f[8], &f[9], &f[10], &f[11], &f[12]); err != nil {
			t.Fatalf("header at %d: %v", at, err)
		}

		mode := f[1]
		size := f[6]
		major := f[9]
		minor := f[10]
		nameSize := f[11]
		name := strings.TrimRight(string(data[at+110:at+110+nameSize]), "\x00")
		at = (at + 110 + nameSize + 3) &^ 3
		if name == "TRAILER!!!" {
			return all
		}

		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %o %d:%d %s", name, mode, major, minor, data[at:at+size])))
		at = (at + size + 3) &^ 3
	}
}

func TestWriteInitrd(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}

	p := Parts{
		Agent: write("mullion-vm", "agent"), Runc: write("runc", "r"),
		Modules: []string{write("b.ko.xz", "first"), write("a.ko", "second")},
	}

	path := filepath.Join(dir, "initrd")
	if err := p.WriteInitrd(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	want := []string{
		"bin 40755 0:0", "dev 40755 0:0", "lib 40755 0:0", "lib/modules 40755 0:0", "dev/console 20600 5:1",
		"init 100755 0:0 agent", "bin/runc 100755 0:0 r", "lib/modules/00-b.ko.xz 100755 0:0 first",
		"lib/modules/01-a.ko 100755 0:0 second",
	}
	if diff := cmp.Diff(want, unpack(t, data)); diff != "" {
		t.Errorf("archive (-want +got):\n%s", diff)
	}

	p.Runc = filepath.Join(dir, "missing")
	if err := p.WriteInitrd(path); err == nil {
		t.Error("an archive without runc was written")
	}
}

// TestFindSaysWhatIsMissing names everything at once.
func TestFindSaysWhatIsMissing(t *testing.T) {
	_, err := Find(t.TempDir())
	for _, want := range []string{"vmlinuz", "mullion-vm", "runc"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
}

func TestTail(t *testing.T) {
	var l tail
	for range 100 {
		_, _ = l.Write([]byte(strings.Repeat("a", maxTail/3)))
	}
	_, _ = l.Write([]byte("the end\xff\n"))
	if got := l.String(); len(got) > maxTail || !strings.HasSuffix(got, "athe end?") {
		t.Errorf("%d bytes end with %q", len(got), got[len(got)-10:])
	}
}
