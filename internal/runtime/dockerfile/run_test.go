package dockerfile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"mullion.dev/mullion/internal/runtime/dockerfile"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// commands notes the configurations of the images that RUN is asked to run, and answers each with the same files.
type commands struct {
	asked []v1.Config
	files []imagebuild.File
	err   error
	// alone, mounts and layers are the last one's.
	alone  bool
	mounts []dockerfile.Mount
	layers []v1.Layer
}

func (c *commands) run(ctx context.Context, ask dockerfile.Command) error {
	c.alone = ask.Alone
	if ask.Linux != nil {
		return c.runLinux(ctx, ask)
	}
	var m made
	if err := m.read(ask.Image); err != nil {
		return err
	}

	c.asked = append(c.asked, m.config.Config)
	if c.err != nil {
		return c.err
	}

	file, err := os.Create(ask.Layer)
	if err != nil {
		return err
	}
	return errors.Join(imagebuild.WriteWindowsLayer(ctx, file, c.files, nil, time.Time{}), file.Close())
}

// runLinux answers a command for Linux.
func (c *commands) runLinux(ctx context.Context, ask dockerfile.Command) error {
	c.asked = append(c.asked, ask.Linux.Config)
	c.layers = ask.Linux.Layers
	c.mounts = ask.Mounts
	if c.err != nil {
		return c.err
	}
	file, err := os.Create(ask.Layer)
	if err != nil {
		return err
	}
	return errors.Join(imagebuild.WriteLinuxLayer(ctx, file, c.files, time.Time{}), file.Close())
}

func (c *commands) in(o *dockerfile.Options) { o.Run = c.run }

// The command of RUN has the shell, the arguments and the environment of its stage, and no entry point.
func TestRunAsks(t *testing.T) {
	for text, want := range map[string]string{
		"RUN a \"b c\" & d":                                    `["cmd /S /C a \"b c\" & d"] true`,
		"RUN [\"a\", \"b c\"]":                                 `["a","b c"] false`,
		"SHELL [\"powershell\", \"-c\"]\nRUN 'x'":              `["powershell -c 'x'"] true`,
		"SHELL [\"powershell\", \"-c\"]\nRUN <<EOF\na\nb\nEOF": `["powershell -c a\nb\n"] true`,
		"ENTRYPOINT [\"x\"]\nCMD [\"y\"]\nRUN a":               `["cmd /S /C a"] true`,
	} {
		c := commands{}
		_, err := try(t, map[string]string{"Dockerfile": "FROM scratch\nARG V=1\nARG W=2\nENV w=3\n" + text}, c.in)
		if err != nil || len(c.asked) != 1 {
			t.Fatalf("%s: %v, %d commands", text, err, len(c.asked))
		}

		got := c.asked[0]
		words, err := json.Marshal(got.Cmd)
		said := fmt.Sprintf("%s %t", strings.ReplaceAll(string(words), `\u0026`, "&"), got.ArgsEscaped)
		if err != nil || said != want || got.Entrypoint != nil {
			t.Errorf("%s: %s, entry point %q, want %s", text, said, got.Entrypoint, want)
		}
		if !slices.Equal(got.Env, []string{"V=1", "w=3"}) {
			t.Errorf("%s: environment %q", text, got.Env)
		}
	}
}

// What a command has changed is a layer of the image, and what later stages copy from.
func TestRunChanges(t *testing.T) {
	c := commands{files: []imagebuild.File{
		{Name: "app", Kind: fs.ModeDir},
		{Name: "app/.wh.old"},
		{Name: "app/new", Data: []byte("N"), Size: 1},
		{Name: "all", Kind: fs.ModeDir},
		{Name: "all/.wh..wh..opq"},
		{Name: "all/one", Data: []byte("1"), Size: 1},
	}}

	m, err := try(t, map[string]string{
		"Dockerfile": nano + "COPY a /app/old\nCOPY a /app/kept\nCOPY a /all/gone\nRUN x\n" + nano + "COPY --from=0 / /",
		"a":          "A",
	}, c.in)

	const want = "all /\nall/one 1\napp /\napp/kept A\napp/new N"
	if err != nil || m.list() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, m.list(), want)
	}
}

// A command that fails ends the build with its line, and flags that do nothing here are refused before.
func TestRunFails(t *testing.T) {
	c := commands{err: errors.New("the command ended with exit code 3")}
	_, err := try(t, map[string]string{"Dockerfile": nano + "RUN x"}, c.in)
	if err == nil || err.Error() != "Dockerfile:2: RUN x: the command ended with exit code 3" {
		t.Error(err)
	}

	c = commands{}
	_, err = try(t, map[string]string{"Dockerfile": nano + "RUN <<EOF\na\nb\nEOF"}, c.in)
	if err == nil || !strings.Contains(err.Error(), "cmd reads one line alone") || len(c.asked) > 0 {
		t.Error(err)
	}

	for _, flag := range []string{"--network=host", "--security=insecure"} {
		c := commands{}
		_, err := try(t, map[string]string{"Dockerfile": nano + "RUN " + flag + " x"}, c.in)
		name, _, _ := strings.Cut(flag, "=")
		if err == nil || !strings.Contains(err.Error(), name) || len(c.asked) > 0 {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

// A command is alone if it is asked to be, and on the network otherwise.
func TestRunNetwork(t *testing.T) {
	for flags, want := range map[string]bool{"": false, "--network=default ": false, "--network=none ": true} {
		c := commands{alone: !want}
		_, err := try(t, map[string]string{"Dockerfile": nano + "RUN " + flags + "x"}, c.in)
		if err != nil || c.alone != want || len(c.asked) != 1 {
			t.Errorf("%q: %v, alone: %t", flags, err, c.alone)
		}
	}
}
