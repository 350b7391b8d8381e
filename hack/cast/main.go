// Command cast records what lines print that are typed at a terminal, as an asciicast of version 2
// (https://docs.asciinema.org/manual/asciicast/v2/), which asciinema and its player for browsers show:
//
//	go run ./hack/cast [-dir FOLDER] FILE LINE...
//
// Each line runs in a shell, one after the other, in FOLDER, with the checkout's bin in PATH. FILE is written when all
// have succeeded; otherwise it stays as it is.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/test/tty"
)

const (
	columns, rows = 100, 30
	// pause is how long a line is shown before it runs, and what it printed after it.
	pause = time.Second
	// longest is the longest that a player waits where nothing is printed, in seconds.
	longest = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	err := run(ctx, os.Args[1:], time.Now)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cast:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, now func() time.Time) error {
	flags := flag.NewFlagSet("cast", flag.ContinueOnError)
	dir := flags.String("dir", ".", "folder in which the lines run")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if flags.NArg() < 2 {
		return errors.New("name a file, and the lines that are typed")
	}

	bin, err := filepath.Abs("bin")
	if err != nil {
		return err
	}

	r := &recording{began: now(), now: now}
	if err := r.header(); err != nil {
		return err
	}
	for _, line := range flags.Args()[1:] {
		cmd := exec.CommandContext(ctx, "sh", "-c", line)
		cmd.Dir = *dir
		cmd.Env = append(os.Environ(), "TERM=xterm-256color", "PATH="+bin+":"+os.Getenv("PATH"))
		if err := r.line(cmd, line); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
	}

	return atomicfile.Write(flags.Arg(0), r.text.Bytes(), 0o644)
}

// recording is an asciicast that is written.
type recording struct {
	began time.Time
	now   func() time.Time
	// added is how long what was recorded is shown beside the time that it took.
	added time.Duration
	text  bytes.Buffer
}

func (r *recording) header() error {
	return r.add(map[string]any{
		"version":         2,
		"width":           columns,
		"height":          rows,
		"timestamp":       r.began.Unix(),
		"idle_time_limit": longest,
		"env":             map[string]string{"TERM": "xterm-256color"},
	})
}

// line types a line and runs it.
func (r *recording) line(cmd *exec.Cmd, line string) error {
	if err := r.shown("$ " + line); err != nil {
		return err
	}
	r.added += pause
	if err := r.shown("\r\n"); err != nil {
		return err
	}

	terminal, err := tty.Start(cmd, unix.Winsize{Col: columns, Row: rows})
	if err != nil {
		return err
	}
	defer terminal.Close()
	if err := errors.Join(r.copy(terminal), cmd.Wait()); err != nil {
		return err
	}

	r.added += pause
	return nil
}

// copy records what a terminal shows until no program has it any more. A character whose bytes come apart is shown when
// it is whole.
func (r *recording) copy(terminal io.Reader) error {
	buffer := make([]byte, 4096)
	var rest []byte
	for {
		n, err := terminal.Read(buffer)
		text := append(rest, buffer[:n]...)
		whole := wholeRunes(text)
		if errors.Is(err, io.EOF) || errors.Is(err, unix.EIO) {
			return r.shown(string(text))
		}
		if err != nil {
			return err
		}

		if err := r.shown(string(text[:whole])); err != nil {
			return err
		}
		rest = bytes.Clone(text[whole:])
	}
}

// wholeRunes returns how many bytes of the text come before a character that is not whole yet.
func wholeRunes(text []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		at := len(text) - back
		if !utf8.RuneStart(text[at]) {
			continue
		}
		if !utf8.FullRune(text[at:]) {
			return at
		}
		break
	}
	return len(text)
}

// shown adds an event of the terminal's output.
func (r *recording) shown(text string) error {
	if text == "" {
		return nil
	}
	at := r.now().Sub(r.began) + r.added
	return r.add([]any{at.Round(time.Millisecond).Seconds(), "o", text})
}

// add writes a line of the file.
func (r *recording) add(line any) error {
	encoder := json.NewEncoder(&r.text)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(line)
}
