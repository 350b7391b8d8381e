//go:build wine

package programs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/windows/wine/winetest"
)

const (
	// longest is the time that a program may take for its whole check, on a machine that has other things to do too.
	longest = 4 * time.Minute
	// gapTime is the time of a check that is known not to pass.
	gapTime = 30 * time.Second
	// stopping is the time that a server may take to its end after it was told to end. .NET gives its own parts 30 s.
	stopping = time.Minute
)

// bench is where a row's checks are made: its folder in a prefix, and what the texts of its checks stand for.
type bench struct {
	prefix *winetest.Prefix
	folder string // Linux' name of the row's folder
	words  *strings.Replacer
}

// newBench lays the row's program into a folder of drive C: and finds free ports.
func newBench(t *testing.T, p *winetest.Prefix, row Row) bench {
	t.Helper()
	folder := p.Path(row.ID)
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		p.Stop()
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	row.Source.lay(t, folder)
	p.Keep(t)
	dir := `C:\` + row.ID
	exe := dir + `\` + strings.ReplaceAll(row.Source.File, "/", `\`)
	crt, key := certificate(t)
	words := []string{
		"{dir}", dir, "{dir/}", "C:/" + row.ID, "{exe}", exe, "{crt}", crt, "{key}", key,
	}

	for _, name := range []string{"{port}", "{port2}"} {
		words = append(words, name, strconv.Itoa(freePort(t)))
	}

	return bench{
		prefix: p,
		folder: folder,
		words:  strings.NewReplacer(words...),
	}
}

// freePort returns a TCP port of this machine at which nobody listens. It is below those that Linux gives out by
// itself, one of which a connection could take before the program does.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 20000 + rand.IntN(12000)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}

		return port
	}

	t.Fatal("there is no free port between 20000 and 32000")
	return 0
}

// try makes a check within a time. The error says what did not come out.
func (b bench) try(ctx context.Context, c Check, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := b.write(c.Files); err != nil {
		return err
	}

	var err error
	if len(c.Asks) > 0 {
		err = b.serve(ctx, c)
	} else {
		err = b.run(ctx, c)
	}
	if err != nil {
		return err
	}

	for name, want := range c.Writes {
		got, err := os.ReadFile(filepath.Join(b.folder, name))
		if err != nil {
			return err
		}
		if err := b.match(want, string(got)); err != nil {
			return fmt.Errorf("look at %s: %w", name, err)
		}
	}

	return nil
}

func (b bench) write(files map[string]string) error {
	for name, text := range files {
		if from, ok := strings.CutPrefix(text, "@"); ok {
			content, err := os.ReadFile(filepath.Join("testdata", from))
			if err != nil {
				return err
			}
			text = string(content)
		} else {
			text = b.words.Replace(text)
		}

		to := filepath.Join(b.folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, []byte(text), 0o644)); err != nil {
			return err
		}
	}

	return nil
}

// command returns a Windows program with pipes as its standard handles, started in the row's folder as a container's
// is.
func (b bench) command(ctx context.Context, env, args []string) *exec.Cmd {
	all := []string{winetest.Launcher, "--cwd", b.words.Replace("{dir}"), "--"}
	for _, a := range args {
		all = append(all, b.words.Replace(a))
	}
	cmd := b.prefix.Command(ctx, all...)
	cmd.Dir = b.folder
	for _, e := range env {
		cmd.Env = append(cmd.Env, b.words.Replace(e))
	}
	return cmd
}

// plain returns a text with Linux' ends of lines. What was written in UTF-16, as nssm writes to a pipe too, must be
// ASCII.
func plain(text string) string {
	return strings.NewReplacer("\r\r\n", "\n", "\r\n", "\n").Replace(strings.ReplaceAll(text, "\x00", ""))
}

// run runs a program to its end. It writes a line when the program is ready for one, and leaves the input open.
func (b bench) run(ctx context.Context, c Check) error {
	cmd := b.command(ctx, c.Env, c.Run)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}

	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		return err
	}
	if c.Lines == nil {
		_ = in.Close() // it is read by none, or to its end
	}

	var text strings.Builder
	reader := bufio.NewReader(out)
	for {
		line, err := reader.ReadString('\n')
		text.WriteString(line)
		if err != nil {
			break
		}

		if strings.TrimRight(line, "\r\n") == "ready" {
			if _, err := io.WriteString(in, "a line\n"); err != nil {
				return err
			}
		}
	}

	said := plain(text.String())
	err = cmd.Wait()
	var exit *exec.ExitError
	if ctx.Err() != nil || (err != nil && !errors.As(err, &exit)) {
		return fmt.Errorf("run %q: %w, %v\n%s%s", c.Run, err, ctx.Err(), tail(said), tail(errs.String()))
	}
	if got := cmd.ProcessState.ExitCode(); got != c.Exit {
		return fmt.Errorf("run %q: it ended with %d, want %d\n%s%s", c.Run, got, c.Exit, tail(said), tail(errs.String()))
	}

	if c.Lines != nil {
		if diff := cmp.Diff(c.Lines, strings.Split(strings.TrimSuffix(said, "\n"), "\n")); diff != "" {
			return fmt.Errorf("run %q: it said (-want +got):\n%s%s", c.Run, diff, tail(errs.String()))
		}
	}

	return b.match(c.Want, said+plain(errs.String()))
}

// log is what a server prints, while it prints it.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.ReplaceAll(l.text.String(), "\r\n", "\n")
}

// serve starts a server, asks it, tells it to end, and waits for its end.
func (b bench) serve(ctx context.Context, c Check) error {
	cmd := b.command(ctx, c.Env, c.Run)
	var said log
	cmd.Stdout, cmd.Stderr = &said, &said
	in, err := cmd.StdinPipe() // some servers end with their standard input
	if err != nil {
		return err
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		return err
	}

	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ends is its own affair
		close(ended)
	}()

	for _, a := range c.Asks {
		if err := b.eventually(ctx, a, ended); err != nil {
			b.prefix.Stop() //nolint:contextcheck // it ends also what the context does not
			<-ended
			return fmt.Errorf("ask: %w\n%s", err, tail(said.String()))
		}
	}

	if c.Kill {
		b.prefix.Stop() //nolint:contextcheck // it ends also what the context does not
		<-ended
		return b.match(c.Want, said.String())
	}
	stop := b.prefix.Command(ctx, winetest.Launcher, "--ctrl", "shutdown")
	if out, err := stop.CombinedOutput(); err != nil {
		return fmt.Errorf("tell %q to end: %w: %s", c.Run, err, out)
	}

	select {
	case <-ended:
	case <-time.After(stopping):
		b.prefix.Stop() //nolint:contextcheck // it ends also what the context does not
		<-ended
		return fmt.Errorf("wait for the end of %q: it goes on after %s\n%s", c.Run, stopping, tail(said.String()))
	}

	return b.match(c.Want, said.String())
}

// match compares a text with a pattern, in which words stand for themselves too.
func (b bench) match(pattern, text string) error {
	want, err := regexp.Compile("(?s)" + pattern)
	if err != nil {
		return err
	}
	if !want.MatchString(text) {
		return fmt.Errorf("compare: there is no %q in\n%s", pattern, tail(text))
	}
	return nil
}

// tail returns the end of a text that may be long.
func tail(text string) string {
	const most = 4000
	if len(text) > most {
		return "…" + text[len(text)-most:]
	}
	return text
}
