//go:build wine

package winrun

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testStandardHandles asks of standard handles what run times ask of them (libuv, .NET, Cygwin): pipes, as a
// container's are, a pair of sockets and a file.
func testStandardHandles(t *testing.T, p prefix) {
	t.Helper()
	ended := []string{
		"type 3", "set done", "state mode 0 instances 1", "info flags 1 buffers true most 1", "peek error 109",
		"attributes 0x80", `name ""`, "flush error 5",
	}

	withInput := append([]string(nil), ended...)
	withInput[4] = `peek "hello, w" of 12`
	output := append([]string(nil), ended...)
	output[3] = "info flags 0 buffers true most 1"
	output[4] = "peek error 5"
	output[7] = "flush done"
	t.Run("pipe_as_input", func(t *testing.T) {
		cmd := p.command(t, "--", "prog", "stdhandle", "in")
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		if _, err := w.WriteString("hello, world"); err != nil {
			t.Fatal(err)
		}

		cmd.Stdin = r
		checkAnswers(t, cmd, withInput)
	})

	t.Run("pipe_that_has_ended", func(t *testing.T) {
		cmd := p.command(t, "--", "prog", "stdhandle", "in")
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		w.Close()
		cmd.Stdin = r
		checkAnswers(t, cmd, ended)
	})

	t.Run("pipe_as_output", func(t *testing.T) {
		checkAnswers(t, p.command(t, "--", "prog", "stdhandle", "out"), output)
	})

	t.Run("pair_of_sockets_as_input", func(t *testing.T) {
		fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
		defer ours.Close()
		defer theirs.Close()
		if _, err := ours.WriteString("hello, world"); err != nil {
			t.Fatal(err)
		}

		cmd := p.command(t, "--", "prog", "stdhandle", "in")
		cmd.Stdin = theirs
		checkAnswers(t, cmd, withInput)
	})

	t.Run("file_as_input", func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "input") // where no drive is
		if err := os.WriteFile(name, []byte("hello, world"), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()

		cmd := p.command(t, "--", "prog", "stdhandle", "in")
		cmd.Stdin = file
		checkAnswers(t, cmd, []string{
			"type 1", "set error 6", "state error 1", "info error 1", "peek error 50", "attributes 0x20",
			`name "` + strings.ReplaceAll(name, "/", `\\`) + `"`, "by_handle links 1 size 12", "flush error 5",
		})
	})
	t.Run("waiting", func(t *testing.T) { testWaiting(t, p) })
}

func checkAnswers(t *testing.T, cmd *exec.Cmd, want []string) {
	t.Helper()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(newlines(string(out))), "\n")); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

// testWaiting waits for input by reading no bytes.
func testWaiting(t *testing.T, p prefix) {
	t.Helper()
	cmd := p.command(t, "--", "prog", "waitinput")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}

	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &running{cmd: cmd, lines: bufio.NewScanner(pipe)}
	defer r.stop()

	for _, want := range []string{"cancelled 995", "ready"} {
		if line := r.next(); line != want {
			t.Fatalf("the program said %q, want %q", line, want)
		}
	}

	if _, err := io.WriteString(in, "hello"); err != nil {
		t.Fatal(err)
	}
	if line, want := r.next(), `there is "hello" of 5`; line != want {
		t.Errorf("the program said %q, want %q", line, want)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}

	if line, want := r.next(), "end 109"; line != want {
		t.Errorf("the program said %q, want %q", line, want)
	}
}
