package cli

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/cli/exit"
)

// TestOddFilesAsArguments: a command that is given a pipe, a device or a socket in place of a file says so, with its
// name, and does not wait for it or read on without an end.
func TestOddFilesAsArguments(t *testing.T) {
	m := newMachine(t)
	m.Describe(nil)
	dir := filepath.Dir(m.Paths.Data)
	socket, err := net.Listen("unix", filepath.Join(dir, "a socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()

	if err := unix.Mkfifo(filepath.Join(dir, "a named pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "a device")); err != nil {
		t.Fatal(err)
	}
	app := filepath.Join(dir, "app")
	m.Write(filepath.Join(app, "app.exe"), "MZ")
	m.Write(filepath.Join(dir, "pod.yaml"), "kind: Pod")

	for _, command := range []string{
		"up --dry-run -f FILE",
		"image load FILE",
		"image build APP -t mullion.local/app:v1 -f FILE",
		"check --offline FILE",
		"check --offline --fix FILE",
		"check --offline --config FILE pod.yaml",
		"check --offline --image-layout FILE pod.yaml",
		"check programs FILE",
		"conformance run smoke --repo-list FILE",
		"node cp FILE out",
	} {
		for _, what := range []string{"a named pipe", "a device", "a socket"} {
			var args []string
			file := filepath.Join(dir, what)
			here := strings.NewReplacer("FILE", file, "APP", app, "pod.yaml", filepath.Join(dir, "pod.yaml"))
			for word := range strings.FieldsSeq(command) {
				args = append(args, here.Replace(word))
			}

			got := m.Run(args...)
			said := strings.Join(strings.Fields(got.Out+got.Err), " ")
			if got.Code == exit.OK || got.Code == exit.Internal || !strings.Contains(said, what) ||
				!strings.Contains(said, "it is "+what+", and only regular files are read") {
				t.Errorf("%s of %s: exit code %d, said %s", command, what, got.Code, said)
			}
		}
	}
}

// TestLongFilesAsArguments: what somebody wrote into a file is no page of a command's error, and draws nothing on the
// terminal.
func TestLongFilesAsArguments(t *testing.T) {
	m := newMachine(t)
	m.Describe(nil)
	dir := filepath.Dir(m.Paths.Data)
	long := strings.Repeat("ü\x1b[31m", 1<<16)
	file := filepath.Join(dir, "written by others")
	app := filepath.Join(dir, "app")
	m.Write(filepath.Join(app, "app.exe"), "MZ")
	m.Write(filepath.Join(dir, "pod.yaml"), "kind: Pod")

	for _, text := range []string{
		long,
		`"` + strings.ReplaceAll(long, "\x1b", `\e`) + `": x`,
		"name: \"" + strings.ReplaceAll(long, "\x1b", `\e`) + `"`,
		`{"` + strings.ReplaceAll(long, "\x1b", `\u001b`) + `": 1}`,
	} {
		m.Write(file, text)

		for _, command := range []string{
			"up --dry-run -f FILE",
			"image load FILE",
			"image build APP -t mullion.local/app:v1 -f FILE",
			"check --offline FILE",
			"check --offline --config FILE POD",
			"check --offline --image-layout FILE POD",
			"check programs FILE",
			"conformance run smoke --repo-list FILE",
		} {
			var args []string
			here := strings.NewReplacer("FILE", file, "APP", app, "POD", filepath.Join(dir, "pod.yaml"))
			for word := range strings.FieldsSeq(command) {
				args = append(args, here.Replace(word))
			}

			got := m.Run(args...)
			if n := len(got.Out) + len(got.Err); n > 40_000 || strings.Contains(got.Out+got.Err, "\x1b") {
				t.Errorf("%s of %.40q: exit code %d, %d bytes, %.200q", command, text, got.Code, n, got.Out+got.Err)
			}
		}
	}
}
