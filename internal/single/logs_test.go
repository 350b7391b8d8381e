package single

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/rotate"
	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/runtime/cri/stream"
)

// shown returns what a log shows on both streams.
func shown(t *testing.T, path string, o LogOptions) (out, errs string) {
	t.Helper()
	var outText, errText bytes.Buffer
	l := &logReader{path: path}
	defer l.close()
	if err := showLog(l, o, &logPrinter{
		out:        &outText,
		errs:       &errText,
		timestamps: o.Timestamps,
	}); err != nil {
		t.Fatal(err)
	}
	return outText.String(), errText.String()
}

// TestShowLog shows a log, or a part of it, as the program has said it.
func TestShowLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var text strings.Builder
	for i, record := range []string{
		"stdout F one", "stderr F bad", "stdout F ", "stdout P a long ", "stdout F line", "stderr P half",
	} {
		fmt.Fprintf(&text, "%s %s\n", at.Add(time.Duration(i)*time.Second).Format(time.RFC3339Nano), record)
	}

	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, tc := range []struct {
		name      string
		o         LogOptions
		out, errs string
	}{
		{"all", LogOptions{Tail: -1}, "one\n\na long line\n", "bad\nhalf"},
		{"nothing", LogOptions{Tail: 0}, "", ""},
		{"the last", LogOptions{Tail: 1}, "", "half"},
		{"the last two", LogOptions{Tail: 2}, "a long line\n", "half"},
		{"the last four", LogOptions{Tail: 4}, "\na long line\n", "bad\nhalf"},
		{"more than there are", LogOptions{Tail: 100}, "one\n\na long line\n", "bad\nhalf"},
		{"since", LogOptions{Tail: -1, Since: at.Add(2 * time.Second)}, "\na long line\n", "half"},
		{"until", LogOptions{Tail: -1, Until: at.Add(2 * time.Second)}, "one\n\n", "bad\n"},
		{"between", LogOptions{
			Tail:  -1,
			Since: at.Add(time.Second),
			Until: at.Add(time.Second),
		}, "", "bad\n"},
		{"until, and the last", LogOptions{Tail: 1, Until: at.Add(2 * time.Second)}, "\n", ""},
		{"since, and the last", LogOptions{Tail: 2, Since: at.Add(4 * time.Second)}, "line\n", "half"},
		{
			"times",
			LogOptions{Tail: 2, Timestamps: true},
			"2026-01-02T03:04:08.000000000Z a long line\n", "2026-01-02T03:04:10.000000000Z half",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if out, errs := shown(t, path, tc.o); out != tc.out || errs != tc.errs {
				t.Errorf("%q, %q; want %q, %q", out, errs, tc.out, tc.errs)
			}
		})
	}

	if out, errs := shown(t, path+"-none", LogOptions{Tail: -1}); out+errs != "" {
		t.Errorf("of no log: %q, %q", out, errs)
	}
}

// TestTailOfMany has more lines than are held.
func TestTailOfMany(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f, err := rotate.Open(path, 64<<10) // several files
	if err != nil {
		t.Fatal(err)
	}

	lines := stream.NewLines(f, "stdout")
	for i := range 5000 {
		if _, err := fmt.Fprintf(lines, "line %d\n", i); err != nil {
			t.Fatal(err)
		}
	}

	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	for _, n := range []int{1, 1500} {
		out, _ := shown(t, path, LogOptions{Tail: n})
		first, _, _ := strings.Cut(out, "\n")
		if strings.Count(out, "\n") != n || first != fmt.Sprintf("line %d", 5000-n) {
			t.Errorf("of the last %d lines %d are shown, from %q", n, strings.Count(out, "\n"), first)
		}
	}
}

// TestBadLog: what is no record is shown as it is, as old as what is before it, and keeps nothing else from being
// shown.
func TestBadLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	const good = "2026-01-02T03:04:05Z stdout F good\n"
	for bad, want := range map[string]string{
		"nothing\n":                 "nothing\n",
		"yesterday stdout F x\n":    "yesterday stdout F x\n",
		"\n":                        "\n",
		"2026-01-02T03:04:05Z st\n": "2026-01-02T03:04:05Z st\n",
		"\x00\x1b[2J\r\n":           "··[2J·\n",
	} {
		if err := os.WriteFile(path, []byte(good+bad+good), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, o := range []LogOptions{{Tail: -1}, {Tail: 3, Since: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}} {
			if out, errs := shown(t, path, o); out != "good\n"+want+"good\n" || errs != "" {
				t.Errorf("%q: %q, %q", bad, out, errs)
			}
		}
	}

	// The end of a file that was full in the middle of a record.
	err := errors.Join(
		os.WriteFile(path+".1", []byte(good+"2026-01-02T03:04:05Z st"), 0o600),
		os.WriteFile(path, []byte(good), 0o600))
	if err != nil {
		t.Fatal(err)
	}

	if out, _ := shown(t, path, LogOptions{Tail: -1}); out != "good\n2026-01-02T03:04:05Z st\ngood\n" {
		t.Errorf("%q", out)
	}
}

// TestReadWhileRotated reads a log that is written and rotated meanwhile: no line is lost or comes twice as long as its
// file is kept, and a record that is half written is not read.
func TestReadWhileRotated(t *testing.T) {
	testrun.Once(t, testrun.Race)
	path := filepath.Join(t.TempDir(), "log")
	f, err := rotate.Open(path, 300)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := stream.NewLines(f, "stdout")
	l := &logReader{path: path}
	defer l.close()

	var got []string
	read := func() {
		if err := l.each(func(r logRecord) error { got = append(got, string(r.text)); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	read()
	var want []string
	for i := range 500 {
		text := fmt.Sprintf("line %d", i)
		want = append(want, text)
		if _, err := io.WriteString(lines, text+"\n"); err != nil {
			t.Fatal(err)
		}
		if i%7 == 0 { // at times a file has been rotated since, at times two
			read()
		}
	}

	read()
	if strings.Join(got, ",") != strings.Join(want, ",") {
		t.Errorf("read %v", got)
	}

	half, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	_, err = half.WriteString("2026-01-02T03:04:05Z stdout F in two ")
	got = nil
	read()
	if len(got) > 0 {
		t.Errorf("half a record is %q", got)
	}

	_, more := half.WriteString("parts\n")
	if read(); errors.Join(err, more) != nil || len(got) != 1 || got[0] != "in two parts" {
		t.Errorf("%q, %v, %v", got, err, more)
	}
	if err := rotate.Remove(path); err != nil { // as of a container that is removed while somebody reads
		t.Fatal(err)
	}

	if got = nil; true {
		read()
	}
	if len(got) > 0 {
		t.Errorf("after its end: %q", got)
	}
}

// TestAttachToOneRun: of a container that begins anew at once, attach ends with the run that it saw, and asks once.
func TestAttachToOneRun(t *testing.T) {
	testrun.Once(t, testrun.Order)
	c, l := fakeEngine(t)

	answers := []Event{
		{Ended: &End{Code: 3}},
		{Refused: refuse("No such container: web")},
		{}, // the engine is killed
		{Ended: &End{Code: 7}},
	}
	asked := make(chan string, len(answers))
	go func() {
		for len(answers) > 0 {
			to, err := l.Accept()
			if err != nil {
				return
			}
			var ask Request
			if json.NewDecoder(to).Decode(&ask) == nil { // else somebody looked whether the engine lives
				asked <- ask.Wait
				if e := answers[0]; e.Ended != nil || e.Refused != nil {
					_ = json.NewEncoder(to).Encode(e)
				}
				answers = answers[1:]
			}
			_ = to.Close()
		}
	}()

	k := Container{ID: "aaaa", Log: filepath.Join(t.TempDir(), "log")}
	if end, err := c.Attach(t.Context(), k, io.Discard, io.Discard); err != nil || end != (End{Code: 3}) {
		t.Errorf("%+v, %v", end, err)
	}
	end, err := c.Attach(t.Context(), k, io.Discard, io.Discard)
	if refusal, ok := errors.AsType[*Refusal](err); !ok || refusal.Code != codeOther {
		t.Errorf("one that is gone: %+v, %v", end, err)
	}
	if end, err := c.Attach(t.Context(), k, io.Discard, io.Discard); !errors.Is(err, errGone) {
		t.Errorf("of an engine that is killed: %+v, %v", end, err)
	}
	if len(asked) != 3 || <-asked != "aaaa" {
		t.Errorf("asked %d times", len(asked))
	}
}
