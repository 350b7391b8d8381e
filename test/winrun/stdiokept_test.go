//go:build wine

package winrun

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// testOutputKept has programs that outlive the one whose caller waits for the end of its output: nobody but those to
// whom it was given has it.
func testOutputKept(t *testing.T, p prefix) {
	t.Helper()
	both := func(cmd *exec.Cmd, pipe *os.File) { cmd.Stdout, cmd.Stderr = pipe, pipe }
	for _, tt := range []struct {
		name   string
		args   []string
		give   func(cmd *exec.Cmd, pipe *os.File)
		stays  string // a program that is there afterwards
		output string
	}{
		{"services", []string{"prog", "addrs"}, both, "services.exe", "address "},
		{"services_of_a_careless_caller", []string{"prog", "addrs"}, func(cmd *exec.Cmd, pipe *os.File) {
			both(cmd, pipe)
			cmd.ExtraFiles = []*os.File{pipe}
		}, "services.exe", "address "},
		// cmd.exe starts the two at a time
		{"services_of_a_pipeline", []string{"cmd", "/c", "ipconfig | findstr Windows"}, both, "services.exe", "Windows IP"},
		// Of two that start at a time one has the output. Wine itself gives descriptor 2 to every program.
		{"beside_another", []string{"prog", "pairs", "20"}, func(cmd *exec.Cmd, pipe *os.File) {
			cmd.Stdout = pipe
		}, "prog.exe", "started 20"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p.fresh(t)
			cmd := p.command(t, append([]string{"--"}, tt.args...)...)
			got, holders := toTheEnd(t, cmd, tt.give)
			if !strings.Contains(got, tt.output) {
				t.Errorf("%q, want %q", got, tt.output)
			}
			if holders != nil {
				t.Errorf("when it has ended, its output is still open in\n%s", strings.Join(holders, "\n"))
			}

			if all := strings.Join(p.processes(t), "\n"); !strings.Contains(strings.ToLower(all), tt.stays) {
				t.Errorf("no %s is left, so that this says nothing: %s", tt.stays, all)
			}
		})
	}
}

// toTheEnd runs a command that is given a pipe, and returns what it wrote and who can write when it has ended.
func toTheEnd(t *testing.T, cmd *exec.Cmd, give func(*exec.Cmd, *os.File)) (output string, holders []string) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	pipe, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", writer.Fd()))
	if err != nil {
		t.Fatal(err)
	}

	give(cmd, writer)
	err = cmd.Start()
	writer.Close()
	if err != nil {
		t.Fatal(err)
	}

	read := make(chan error, 1)
	var out bytes.Buffer
	go func() {
		_, err := io.Copy(&out, reader)
		read <- err
	}()
	if code := exitCode(t, cmd.Wait()); code != 0 {
		t.Errorf("exit code %d", code)
	}

	// Wine's server closes a program's handles when it sees its end, which is soon
	if err := reader.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := <-read; errors.Is(err, os.ErrDeadlineExceeded) {
		holders = append([]string{pipe}, writersOf(t, pipe)...)
	} else if err != nil {
		t.Fatal(err)
	}

	return newlines(out.String()), holders
}

// writersOf lists the processes that can write to a pipe, with their command lines.
func writersOf(t *testing.T, pipe string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		t.Fatal(err)
	}

	var found []string
	for _, link := range links {
		if to, err := os.Readlink(link); err != nil || to != pipe {
			continue
		}
		process, number := filepath.Dir(filepath.Dir(link)), filepath.Base(link)
		if !writes(filepath.Join(process, "fdinfo", number)) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(process, "cmdline"))
		found = append(found, link+" "+strings.TrimRight(strings.ReplaceAll(string(line), "\x00", " "), " "))
	}

	return found
}

// writes reports whether a descriptor, of which this is the file in /proc/PID/fdinfo, is open for writing.
func writes(file string) bool {
	info, err := os.ReadFile(file)
	if err != nil {
		return false // it has ended
	}
	_, flags, _ := strings.Cut(string(info), "flags:\t")
	flags, _, _ = strings.Cut(flags, "\n")
	number, err := strconv.ParseUint(flags, 8, 32)
	return err == nil && number&syscall.O_ACCMODE != syscall.O_RDONLY
}
