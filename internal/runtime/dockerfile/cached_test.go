package dockerfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/runtime/dockerfile"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// ends returns what became of the steps, in lines: their first lines, and CACHED or DONE.
func (m made) ends() string {
	steps := map[int]string{}
	var lines []string
	for _, e := range m.events {
		switch {
		case e.Step != "":
			steps[e.Number] = e.Step
		case e.Ended && e.Cached:
			lines = append(lines, steps[e.Number]+" CACHED")
		case e.Ended:
			lines = append(lines, steps[e.Number]+" DONE")
		}
	}
	return strings.Join(lines, "\n")
}

// A second build of the same file runs nothing and makes the same image; what depends on something else is made anew,
// and nothing more.
func TestCached(t *testing.T) {
	const text = nano + "ARG V=1\nWORKDIR /app\nCOPY a.txt .\nRUN one\nENV X=1\nCOPY b.txt .\nRUN two"
	const all = "[1/6] FROM mcr.microsoft.com/windows/nanoserver:ltsc2022 CACHED\n[2/6] WORKDIR /app %s\n" +
		"[3/6] COPY a.txt . %s\n[4/6] RUN one %s\n[5/6] COPY b.txt . %s\n[6/6] RUN two %s"
	dir := t.TempDir()
	c := commands{files: []imagebuild.File{{Name: "new", Data: []byte("N"), Size: 1}}}
	var first string

	for _, tt := range []struct {
		name   string
		change func(files map[string]string, o *dockerfile.Options)
		ends   []any
		runs   int
	}{
		{"first", nil, []any{"DONE", "DONE", "DONE", "DONE", "DONE"}, 2},
		{"again", nil, []any{"CACHED", "CACHED", "CACHED", "CACHED", "CACHED"}, 0},
		{"another comment", func(files map[string]string, _ *dockerfile.Options) {
			files["Dockerfile"] = "# hello\n" + text
		}, []any{"CACHED", "CACHED", "CACHED", "CACHED", "CACHED"}, 0},
		{
			"another file", func(files map[string]string, _ *dockerfile.Options) { files["b.txt"] = "C" },
			[]any{"CACHED", "CACHED", "CACHED", "DONE", "DONE"},
			1,
		},
		{
			"another argument", func(_ map[string]string, o *dockerfile.Options) { o.Args = map[string]string{"V": "2"} },
			[]any{"CACHED", "CACHED", "DONE", "CACHED", "DONE"},
			2,
		},
		{
			"another runner", func(_ map[string]string, o *dockerfile.Options) { o.Runner = "other" },
			[]any{"CACHED", "CACHED", "DONE", "CACHED", "DONE"},
			2,
		},
		{
			"no cache", func(_ map[string]string, o *dockerfile.Options) { o.NoCache = true },
			[]any{"DONE", "DONE", "DONE", "DONE", "DONE"},
			2,
		},
	} {
		c.asked = nil
		files := map[string]string{"Dockerfile": text, "a.txt": "A", "b.txt": "B"}
		m, err := tryIn(t, files, func(o *dockerfile.Options) {
			c.in(o)
			o.Cache = cacheAt(t, dir)
			if tt.change != nil {
				tt.change(files, o)
			}
		})
		if err != nil || len(c.asked) != tt.runs {
			t.Errorf("%s: %v, %d commands, want %d", tt.name, err, len(c.asked), tt.runs)
		}

		if want := fmt.Sprintf(all, tt.ends...); m.ends() != want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, m.ends(), want)
		}
		if first == "" {
			first = m.digest
		}
		if tt.runs == 0 && m.digest != first {
			t.Errorf("%s: %s, want %s", tt.name, m.digest, first)
		}
	}
}

// The layers of one build are not held in memory, and what the cache lost or a disk changed is made again.
func TestCacheIsHeldAgainstItsSums(t *testing.T) {
	dir := t.TempDir()
	c := commands{files: []imagebuild.File{{Name: "new", Data: []byte("N"), Size: 1}}}
	build := func() made {
		t.Helper()
		m, err := try(t, map[string]string{"Dockerfile": nano + "RUN one"}, func(o *dockerfile.Options) {
			c.in(o)
			o.Cache = cacheAt(t, dir)
		})
		if err != nil {
			t.Fatal(err)
		}

		return m
	}

	first := build()

	for name, harm := range map[string]func(file string) error{
		"cut off": func(file string) error { return os.Truncate(file, 10) },
		"gone":    os.Remove,
		"another": func(file string) error {
			text, err := os.ReadFile(file)
			text[len(text)/2] ^= 1
			if err != nil {
				return err
			}
			return os.WriteFile(file, text, 0o600)
		},
	} {
		blobs, err := filepath.Glob(filepath.Join(dir, "blobs", "*"))
		if err != nil || len(blobs) != 1 {
			t.Fatal(blobs, err)
		}
		if err := harm(blobs[0]); err != nil {
			t.Fatal(err)
		}

		c.asked = nil
		if got := build(); got.digest != first.digest || len(c.asked) != 1 {
			t.Errorf("%s: %d commands, %s, want %s", name, len(c.asked), got.digest, first.digest)
		}
	}
}

// A file that somebody writes to during a build ends it: its layer would not be what its key says.
func TestFileThatChanges(t *testing.T) {
	c := commands{}
	var folder string
	_, err := try(t, map[string]string{
		"Dockerfile": "FROM scratch AS a\nCOPY a.txt /\nFROM scratch\nRUN x\nCOPY --from=a a.txt /y", "a.txt": "A",
	}, func(o *dockerfile.Options) {
		c.in(o)
		folder = o.Context
		run := o.Run
		o.Run = func(ctx ctxType, ask dockerfile.Command) error {
			if err := os.WriteFile(filepath.Join(folder, "a.txt"), []byte("B"), 0o644); err != nil {
				return err
			}
			return run(ctx, ask)
		}
	})
	if err == nil || !strings.Contains(err.Error(), "is being changed while the image is built") {
		t.Error(err)
	}
}
