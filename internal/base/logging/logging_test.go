package logging_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mullion.dev/mullion/internal/base/logging"
)

func TestLevelsByName(t *testing.T) {
	for _, name := range logging.Names() {
		level, err := logging.Parse(name)
		if err != nil || level.String() != name {
			t.Errorf("Parse(%q) = %s, %v", name, level, err)
		}
		text, err := json.Marshal(level)
		if err != nil || string(text) != `"`+name+`"` {
			t.Errorf("%s as JSON: %s, %v", name, text, err)
		}

		var back logging.Level
		if err := json.Unmarshal(text, &back); err != nil || back != level {
			t.Errorf("%s from JSON: %s, %v", text, back, err)
		}
	}
}

// TestNoLevel: what slog would take for a level, and what nobody would, is refused with the names that there are.
func TestNoLevel(t *testing.T) {
	for _, name := range []string{"", "DEBUG", "debug ", "info+2", "-4", "trace", "debug\n", strings.Repeat("x", 1<<16)} {
		level, err := logging.Parse(name)
		if err == nil || !strings.Contains(err.Error(), "debug, info, warn, error") || strings.Contains(err.Error(), "\n") {
			t.Errorf("Parse(%.20q) = %s, %.80v", name, level, err)
		}
	}
	if text := logging.Level(2).String(); text != "INFO+2" {
		t.Errorf("a level between two is %q", text)
	}
}

// TestHold: the lowest level that anybody holds counts, and the usual one is back when nobody holds any.
func TestHold(t *testing.T) {
	d := logging.NewDial(logging.Warn)
	expect := func(want logging.Level, when string) {
		t.Helper()
		if d.Now() != want {
			t.Errorf("%s: %s, want %s", when, d.Now(), want)
		}
	}

	expect(logging.Warn, "at first")
	first, second := d.Hold(logging.Debug), d.Hold(logging.Debug)
	info, high := d.Hold(logging.Info), d.Hold(logging.Error)
	expect(logging.Debug, "held by two")
	first()
	first()
	expect(logging.Debug, "held by one, whatever the other releases twice")
	second()
	expect(logging.Info, "held at info")
	d.Set(logging.Error)
	expect(logging.Info, "held at info, with another usual level")
	if d.Usual() != logging.Error {
		t.Errorf("the usual level is %s", d.Usual())
	}

	info()
	expect(logging.Error, "held at what is usual")
	high()
	expect(logging.Error, "held by nobody")
}

// TestManyHold: whoever comes and goes at once, the level is the usual one in the end, and was debug for each of them.
func TestManyHold(t *testing.T) {
	d := logging.NewDial(logging.Info)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range 100 {
				release := d.Hold(logging.Debug)
				if d.Now() != logging.Debug {
					t.Error("the level is not debug while it is held")
				}
				release()
			}
		})
	}

	all.Wait()
	if d.Now() != logging.Info {
		t.Errorf("nobody holds it, and it is %s", d.Now())
	}
}

// TestLog: a logger made before, and those derived from it, follow the level.
func TestLog(t *testing.T) {
	var text bytes.Buffer
	d := logging.NewDial(logging.Info)
	log := logging.New(&text, d).With("part", "cri")
	log.Debug("before")
	release := d.Hold(logging.Debug)
	if !log.Enabled(t.Context(), slog.LevelDebug) {
		t.Error("debug is not enabled while it is held")
	}

	log.Debug("during")
	release()
	log.Debug("after")
	log.Info("always")
	got := text.String()
	if strings.Count(got, "\n") != 2 || !strings.Contains(got, "level=DEBUG msg=during part=cri") ||
		!strings.Contains(got, "level=INFO msg=always part=cri") {
		t.Errorf("it has logged:\n%s", got)
	}
}

// TestFile: a level comes back from its file; what is no level there is said, and is the usual one.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log-level")
	if level, err := logging.Load(path); err != nil || level != logging.Info {
		t.Errorf("without a file: %s, %v", level, err)
	}

	for _, name := range logging.Names() {
		level, err := logging.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := logging.Save(path, level); err != nil {
			t.Fatal(err)
		}

		if got, err := logging.Load(path); err != nil || got != level {
			t.Errorf("saved %s, loaded %s, %v", level, got, err)
		}
	}

	for _, text := range []string{"", "\n", "loud\n", "debug\ninfo\n", "\x00\xff"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		level, err := logging.Load(path)
		if err == nil || level != logging.Info || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %s, %v", text, level, err)
		}
	}

	if level, err := logging.Load(filepath.Dir(path)); err == nil || level != logging.Info {
		t.Errorf("a folder: %s, %v", level, err)
	}
}
