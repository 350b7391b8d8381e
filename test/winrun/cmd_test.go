//go:build wine

package winrun

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// cmdInput has what cmd.exe reads from a pipe, and what it says to them after its banner.
var cmdInput = []struct {
	name, input, want string
	code              int
}{
	{"lines", "echo a\necho b\necho c\n", "a\nb\nc\n", 0},
	{"carriage_returns", "echo a\r\n\r\necho b\r\n", "a\nb\n", 0},
	{"no_newline_at_end", "echo a\necho b", "a\nb\n", 0},
	{"nothing", "", "", 0},
	{"exit_code", "echo a\nexit 7\necho b\n", "a\n", 7},
	{"line_for_a_variable", "set /p X=\nvalue\necho %X%!\n", "value!\n", 0},
	{"rest_for_a_child", "echo a\nfindstr x\nx1\ny\nx2", "a\nx1\nx2\n", 0},
	{"batch_file", "call C:\\tools\\skip.cmd z\necho after\n", "batch z\nafter\n", 0},
	{"batch_file_reads", "call C:\\tools\\ask.cmd\nfirst\nsecond\necho after\n", "first second\nafter\n", 0},
	{"long_lines", "echo " + strings.Repeat("x", 6000) + "\necho b\n", strings.Repeat("x", 6000) + "\nb\n", 0},
}

// testCmd gives cmd.exe its commands on a pipe, as kubectl exec -i does, and in a file.
func testCmd(t *testing.T, p prefix) {
	t.Helper()
	p.Write(t, "tools/skip.cmd", "@goto there\r\n@echo skipped\r\n:there\r\n@echo batch %1\r\n")
	p.Write(t, "tools/ask.cmd", "@set /p A=\r\n@set /p B=\r\n@echo %A% %B%\r\n")
	for _, tt := range cmdInput {
		t.Run(tt.name, func(t *testing.T) {
			if out, code := p.cmd(t, strings.NewReader(tt.input)); out != tt.want || code != tt.code {
				t.Errorf("%q, code %d, want %q, code %d", out, code, tt.want, tt.code)
			}
		})
	}

	t.Run("file", func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "input")
		if err := os.WriteFile(name, []byte("echo a\r\necho b\nexit 3"), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if out, code := p.cmd(t, file); out != "a\nb\n" || code != 3 {
			t.Errorf("%q, code %d, want a and b, code 3", out, code)
		}
	})
	t.Run("answers_each_line", func(t *testing.T) { testCmdAnswers(t, p) })
}

// cmd runs cmd.exe to the end of its input; what it prints is returned without its banner.
func (p prefix) cmd(t *testing.T, input io.Reader) (string, int) {
	t.Helper()
	cmd := p.command(t, "--", "cmd", "/q")
	var out strings.Builder
	cmd.Stdin = input
	cmd.Stdout = &out
	cmd.Stderr = &out
	code := exitCode(t, cmd.Run())
	text := newlines(out.String())
	_, rest, found := strings.Cut(text, "\n")
	if !found {
		t.Fatalf("no banner in %q", text)
	}
	return rest, code
}

// testCmdAnswers sends a line in two pieces and the next one only after an answer.
func testCmdAnswers(t *testing.T, p prefix) {
	t.Helper()
	cmd := p.command(t, "--", "cmd", "/q")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}

	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()

	lines := bufio.NewScanner(out)
	for _, send := range [][]string{{"ec", "ho one\n"}, {"echo two\r", "\n"}} {
		for _, piece := range send {
			if _, err := io.WriteString(in, piece); err != nil {
				t.Fatal(err)
			}
		}

		want := strings.TrimSpace(strings.TrimPrefix(strings.Join(send, ""), "echo "))
		for lines.Scan() && strings.TrimSpace(lines.Text()) != want {
		}
		if lines.Err() != nil || strings.TrimSpace(lines.Text()) != want {
			t.Errorf("the answer is %q, want %q", lines.Text(), want)
		}
	}

	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if code := exitCode(t, cmd.Wait()); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}
