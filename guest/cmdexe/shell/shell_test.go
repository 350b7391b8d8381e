package shell_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mullion.dev/mullion/guest/cmdexe/disk"
	"mullion.dev/mullion/guest/cmdexe/shell"
	"mullion.dev/mullion/guest/lineedit"
	"mullion.dev/mullion/internal/windows/wire/winerr"
)

// machine is a Windows of a few programs, whose drives are folders of this system.
type machine struct {
	t       *testing.T
	root    string
	mu      sync.Mutex
	started []string // the command lines of what was started
	typed   []string // the lines that are typed at a console; nil: there is none
}

func (m *machine) Graphical(file string) bool { return strings.HasSuffix(file, "window.exe") }

func (m *machine) Console(what, text string, out *os.File) error {
	if what == "key" {
		return errors.ErrUnsupported
	}
	_, err := fmt.Fprintf(out, "<%s %s>", what, text)
	return err
}

// ReadLine takes the next of the lines that are typed. A tab in it is the first completion there, and what it gives up
// is gone.
func (m *machine) ReadLine(e *lineedit.Editor, prompt string, _, out *os.File) (string, error) {
	if m.typed == nil {
		return "", errors.ErrUnsupported
	}
	if len(m.typed) == 0 {
		return "", io.EOF
	}
	line := m.typed[0]
	m.typed = m.typed[1:]
	if line == "^C" {
		fmt.Fprintf(out, "%s^C\r\n", prompt)
		return "", lineedit.ErrInterrupted
	}

	for {
		before, _, found := strings.Cut(line, "\t")
		if !found {
			break
		}
		text := []rune(strings.Replace(line, "\t", "", 1))
		c := e.Complete(string(text), len([]rune(before)))
		if len(c.Matches) > 0 {
			text = append(append(text[:c.Start:c.Start], []rune(c.Matches[0])...), text[c.End:]...)
		}
		line = string(text)
	}
	fmt.Fprintf(out, "%s%s\r\n", prompt, line)
	e.History.Add(line)
	return line, nil
}

func (m *machine) Version() string { return "10.0.20348.2565" }

func (m *machine) Volume(string) (string, uint32, error) { return "", 0x1234ABCD, nil }

func (m *machine) Free(string) uint64 { return 1234567 }

func (m *machine) Terminal(*os.File) bool { return false }

func (m *machine) Association(name string, command bool) (string, bool) {
	switch {
	case name == ".txt" && !command:
		return "txtfile", true
	case name == "txtfile" && command:
		return "notepad.exe %1", true
	}
	return "", false
}

// Start runs one of the programs, chosen by the name of the file.
func (m *machine) Start(ctx context.Context, p shell.Program) (func() (uint32, error), error) {
	m.mu.Lock()
	m.started = append(m.started, p.Line)
	m.mu.Unlock()
	_, name := disk.Split(p.File)
	name = strings.ToLower(strings.TrimSuffix(strings.ToLower(name), ".exe"))
	if name == "broken" {
		return nil, winerr.Code(193)
	}

	args := arguments(p.Line)
	for i, f := range p.Files {
		if f == nil {
			p.Files[i], _ = os.OpenFile(os.DevNull, os.O_RDWR, 0)
		}
	}

	end := make(chan uint32, 1)
	go func() { end <- m.run(ctx, name, args, p) }()
	return func() (uint32, error) { return <-end, nil }, nil
}

// arguments takes a command line apart at blanks, roughly as programs do.
func arguments(line string) []string {
	var all []string
	word := ""
	quoted := false
	any := false
	for _, c := range line {
		switch {
		case c == '"':
			quoted, any = !quoted, true
		case c == ' ' && !quoted:
			if word != "" || any {
				all = append(all, word)
			}
			word, any = "", false
		default:
			word += string(c)
		}
	}

	if word != "" || any {
		all = append(all, word)
	}

	return all
}

func (m *machine) run(ctx context.Context, name string, args []string, p shell.Program) uint32 {
	in, out := bufio.NewReader(p.Files[0]), p.Files[1]
	switch name {
	case "prog": // ends with the code of its last argument
		code, _ := strconv.Atoi(args[len(args)-1])
		return uint32(code)
	case "args":
		for i, a := range args[1:] {
			fmt.Fprintf(out, "%d:%s\n", i+1, a)
		}

	case "line": // its command line, as it is
		fmt.Fprintf(out, "[%s]\n", p.Line)
	case "err":
		fmt.Fprintln(p.Files[2], "to standard error")
	case "where":
		fmt.Fprintln(out, p.Dir)
	case "env":
		for _, e := range p.Environ {
			if len(args) > 1 && strings.HasPrefix(e, args[1]+"=") {
				fmt.Fprintln(out, e)
			}
		}

	case "cmd":
		o := m.options(p.Environ, p.Dir, p.Files)
		o.CommandLine = p.Line
		return uint32(shell.Main(ctx, o))

	case "sort", "cat", "findx":
		var lines []string
		for {
			line, err := in.ReadString('\n')
			if line != "" && (name != "findx" || strings.Contains(line, "x")) {
				lines = append(lines, strings.TrimRight(line, "\r\n"))
			}
			if err != nil {
				break
			}
		}

		if name == "sort" {
			slices.Sort(lines)
		}
		for _, l := range lines {
			fmt.Fprintln(out, l)
		}

		if len(lines) == 0 {
			return 1
		}
	}

	return 0
}

func (m *machine) options(environ []string, dir string, files [3]*os.File) shell.Options {
	return shell.Options{
		Host: m, System: m, Disk: disk.Disk{Root: m.root}, Environ: environ, Dir: dir, Files: files,
		Now:    func() time.Time { return time.Date(2026, 11, 29, 4, 5, 6, 70_000_000, time.UTC) },
		Random: func() int { return 12345 },
	}
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, root: t.TempDir()}
	for _, name := range []string{
		"prog", "args", "line", "err", "where", "env", "cmd", "sort", "cat", "findx", "broken", "window",
	} {
		m.write("bin/"+name+".exe", "MZ")
	}

	for _, dir := range []string{"w", "tmp"} {
		if err := os.MkdirAll(filepath.Join(m.root, "C", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.MkdirAll(filepath.Join(m.root, "D", "data"), 0o755); err != nil {
		t.Fatal(err)
	}

	return m
}

// write writes a file of drive C:.
func (m *machine) write(name, text string) {
	m.t.Helper()
	file := filepath.Join(m.root, "C", name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// result is what a command line left.
type result struct {
	out, err string
	code     int32
}

// cmd runs cmd.exe with a command line in C:\w.
func (m *machine) cmd(line, input string) result {
	m.t.Helper()
	var files [3]*os.File
	var texts [3]string
	var wg sync.WaitGroup
	for i := range files {
		r, w, err := os.Pipe()
		if err != nil {
			m.t.Fatal(err)
		}
		if i == 0 {
			files[0] = r
			wg.Go(func() { _, _ = io.WriteString(w, input); _ = w.Close() })
			continue
		}

		files[i] = w
		wg.Go(func() {
			b, _ := io.ReadAll(r)
			texts[i] = strings.ReplaceAll(string(b), "\r\n", "\n")
		})
	}

	o := m.options([]string{`PATH=C:\bin`, "OS=Windows_NT", `COMSPEC=C:\bin\cmd.exe`, `PATHEXT=.COM;.EXE;.BAT;.CMD`}, `C:\w`, files)
	o.CommandLine = line
	ctx, cancel := context.WithTimeout(m.t.Context(), 20*time.Second)
	defer cancel()
	code := shell.Main(ctx, o)
	for _, f := range files {
		_ = f.Close()
	}

	wg.Wait()
	return result{texts[1], texts[2], code}
}

// batch runs a batch file C:\w\t.cmd, with ECHO off.
func (m *machine) batch(name, script, args, input string) result {
	m.t.Helper()
	m.write("w/"+name, "@echo off\r\n"+strings.ReplaceAll(script, "\n", "\r\n"))
	return m.cmd("cmd /c "+name+" "+args, input)
}

// check compares what a command line left with what it should have left.
func check(t *testing.T, got, want result) {
	t.Helper()
	if got != want {
		t.Errorf("out %q, err %q, code %d\nwant %q, err %q, code %d", got.out, got.err, got.code, want.out, want.err, want.code)
	}
}
