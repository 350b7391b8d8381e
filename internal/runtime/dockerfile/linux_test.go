package dockerfile_test

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"mullion.dev/mullion/internal/runtime/dockerfile"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// linuxFiles are those of the image for Linux of these tests.
var linuxFiles = []imagebuild.File{
	{Name: "etc", Kind: fs.ModeDir, Mode: 0o755},
	{Name: "etc/passwd", Data: []byte("root:x:0:0\ndev:x:7:8\n"), Size: 21, Mode: 0o644},
	{Name: "etc/group", Data: []byte("root:x:0:\nstaff:x:9:\n"), Size: 21, Mode: 0o644},
	{Name: "bin", Kind: fs.ModeSymlink, Link: "usr/bin"},
	{Name: "usr", Kind: fs.ModeDir, Mode: 0o755},
	{Name: "usr/bin", Kind: fs.ModeDir, Mode: 0o755},
	{Name: "usr/bin/tool", Data: []byte("T"), Size: 1, Mode: 0o755},
	{Name: "usr/bin/Tool", Data: []byte("U"), Size: 1, Mode: 0o755},
	{Name: "usr/bin/t:l", Data: []byte("V"), Size: 1, Mode: 0o755},
	{Name: "usr/abs", Kind: fs.ModeSymlink, Link: "/bin/tool"},
}

// linuxIn has commands answered, and an image for Linux, called linux, in the place of every one that stands for none.
func linuxIn(c *commands) func(*dockerfile.Options) {
	return func(o *dockerfile.Options) {
		c.in(o)
		windows := o.Base
		o.Base = func(ctx context.Context, ref, system string) (dockerfile.Base, error) {
			if system != imagebuild.Linux {
				return windows(ctx, ref, system)
			}
			if ref != "docker.io/library/linux:latest" {
				return dockerfile.Base{}, fmt.Errorf("no image %s: %w", ref, errdefs.ErrNotFound)
			}

			layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
				read, write := io.Pipe()
				go func() {
					ctx := context.WithoutCancel(ctx)
					write.CloseWithError(imagebuild.WriteLinuxLayer(ctx, write, linuxFiles, time.Time{}))
				}()
				return read, nil
			})
			if err != nil {
				return dockerfile.Base{}, err
			}

			img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
				OS:           "linux",
				Architecture: "amd64",
				Config:       v1.Config{Env: []string{"PATH=/bin"}},
			})
			if err == nil {
				img, err = mutate.AppendLayers(img, layer)
			}

			return dockerfile.Base{Image: img}, err
		}
	}
}

// A command for Linux has Linux' shell, paths and variables; its image has what the lines before have made.
func TestLinuxRunAsks(t *testing.T) {
	for text, want := range map[string]string{
		"RUN a \"b\"":                                        `["/bin/sh","-c","a \"b\""] / root [PATH=/bin]`,
		`RUN ["a", "b"]`:                                     `["a","b"] / root [PATH=/bin]`,
		"SHELL [\"/bin/bash\", \"-ec\"]\nRUN x":              `["/bin/bash","-ec","x"] / root [PATH=/bin]`,
		"RUN <<EOF\na\nb\nEOF":                               `["/bin/sh","-c","a\nb\n"] / root [PATH=/bin]`,
		"WORKDIR src\nWORKDIR x\nUSER dev:staff\nRUN x":      `["/bin/sh","-c","x"] /src/x dev:staff [PATH=/bin]`,
		"ARG V=1\nENV v=2 path=3\nRUN x":                     `["/bin/sh","-c","x"] / root [V=1 PATH=/bin v=2 path=3]`,
		"ARG TARGETOS\nARG TARGETARCH\nRUN x $TARGETOS":      `["/bin/sh","-c","x $TARGETOS"] / root [TARGETOS=windows TARGETARCH=amd64 PATH=/bin]`,
		"ENTRYPOINT [\"x\"]\nCMD y\nRUN --network=none true": `["/bin/sh","-c","true"] / root [PATH=/bin]`,
	} {
		c := commands{}
		_, err := try(t, map[string]string{
			"Dockerfile": "FROM --platform=$BUILDPLATFORM linux AS b\n" + text + "\n" + nano + "COPY --from=b /etc/passwd /",
		}, linuxIn(&c))
		if err != nil || len(c.asked) != 1 {
			t.Errorf("%s: %v, %d commands", text, err, len(c.asked))
			continue
		}

		got := c.asked[0]
		words, err := json.Marshal(got.Cmd)
		dir, user := got.WorkingDir, got.User
		if dir == "" {
			dir = "/"
		}
		if user == "" {
			user = "root"
		}

		said := fmt.Sprintf("%s %s %s %v", words, dir, user, got.Env)
		if err != nil || said != want || got.Entrypoint != nil || got.ArgsEscaped {
			t.Errorf("%s: %s, want %s", text, said, want)
		}
	}
}

// listOf returns a layer's files: owner, permissions, name, and where a link leads or what is in it.
func listOf(t *testing.T, layer v1.Layer) string {
	t.Helper()
	file, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()

	var lines []string
	for r := tar.NewReader(file); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return strings.Join(lines, "\n")
		}
		text, readErr := io.ReadAll(r)
		if err = errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%d:%d %o %s %s%s", h.Uid, h.Gid, h.Mode, h.Name, h.Linkname, text))
	}
}

// Files keep their permissions and have the owner that is named, and links of the stage are followed.
func TestLinuxCopies(t *testing.T) {
	for text, want := range map[string]string{
		"COPY a.sh /bin/":                           "0:0 644 usr/bin/a.sh A",
		"COPY --chmod=0640 --chown=dev a.sh /x/":    "7:7 755 x/ \n7:7 640 x/a.sh A",
		"COPY --chown=3:staff a.sh /a":              "3:9 644 a A",
		"COPY <<EOF /a\nx\nEOF":                     "0:0 644 a x\n",
		"ADD --chown=dev a.tar /t/":                 "7:7 755 t/ \n7:7 700 t/in I",
		"ADD a.tar /t/":                             "0:0 755 t/ \n5:6 700 t/in I",
		"COPY --from=linux /bin/tool /bin/Tool /y/": "0:0 755 y/ \n0:0 755 y/Tool U\n0:0 755 y/tool T",
		"COPY --from=linux /bin/t*l /y/":            "0:0 755 y/ \n0:0 755 y/t:l V\n0:0 755 y/tool T",
		"COPY --from=linux /usr/abs /y":             "0:0 755 y T",
		"WORKDIR /bin/../deep":                      "0:0 755 deep/ ",
	} {
		c := commands{}
		_, err := try(t, map[string]string{
			"Dockerfile": "FROM --platform=linux linux AS b\n" + text + "\nRUN x\n" + nano + "COPY --from=b /etc/passwd /",
			"a.sh":       "A",
			"a.tar": tarOf(t, tar.Header{
				Name: "in",
				Mode: 0o700,
				Uid:  5,
				Gid:  6,
			}, "I"),
		}, linuxIn(&c))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}

		got := ""
		if len(c.layers) > 1 {
			got = listOf(t, c.layers[1])
		}
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", text, got, want)
		}
	}
}

// tarOf returns an archive of one file.
func tarOf(t *testing.T, h tar.Header, text string) string {
	t.Helper()
	var to strings.Builder
	w := tar.NewWriter(&to)
	h.Size = int64(len(text))
	err := w.WriteHeader(&h)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return to.String()
}

// A stage for Linux is taken for an image for Windows' files, where there is no such image for Windows, and the image
// itself is for Linux if that is asked for.
func TestLinuxWithoutAWord(t *testing.T) {
	c := commands{}
	m, err := try(t, map[string]string{
		"Dockerfile": "FROM linux AS b\nRUN x\nFROM b AS c\nRUN y\n" + nano + "COPY --from=c /usr /u",
	}, linuxIn(&c))
	const want = "linux is not there for Windows, so this stage is for Linux"
	if err != nil || len(c.asked) != 2 || !strings.Contains(m.warnings(), want) ||
		!strings.Contains(m.warnings(), `1 files are left out, such as "bin/t:l"`) {
		t.Errorf("%v, %d commands, %s", err, len(c.asked), m.warnings())
	}

	_, err = try(t, map[string]string{"Dockerfile": "FROM linux\nRUN x"}, linuxIn(&c))
	if err == nil || !strings.Contains(err.Error(), "Dockerfile:1: FROM linux: no image docker.io/library/linux:latest") {
		t.Error(err)
	}

	for text, want := range map[string]string{
		"FROM linux\nRUN x\nENTRYPOINT run $me\nCMD [\"a\"]": `["/bin/sh","-c","run $me"] ["a"] linux`,
		"FROM scratch\nCOPY Dockerfile /\nCMD x":             `null ["/bin/sh","-c","x"] linux`,
	} {
		m, err := try(t, map[string]string{"Dockerfile": text}, func(o *dockerfile.Options) {
			linuxIn(&c)(o)
			o.OS = imagebuild.Linux
		})

		entry, entryErr := json.Marshal(m.config.Config.Entrypoint)
		cmd, cmdErr := json.Marshal(m.config.Config.Cmd)
		got := fmt.Sprintf("%s %s %s", entry, cmd, m.config.OS)
		if err = errors.Join(err, entryErr, cmdErr); err != nil || got != want || m.config.Config.ArgsEscaped {
			t.Errorf("%s: %v, %s, want %s", text, err, got, want)
		}
	}

	_, err = try(t, map[string]string{"Dockerfile": nano}, func(o *dockerfile.Options) {
		linuxIn(&c)(o)
		o.OS = imagebuild.Linux
	})
	if err == nil {
		t.Error("an image of Windows for Linux")
	}
}

// What cannot be done in a stage for Linux is refused by its line.
func TestLinuxRefused(t *testing.T) {
	for text, want := range map[string]string{
		"RUN <<EOF\n#!/bin/python\nEOF":         "a heredoc with #! is not carried out",
		"COPY --chmod=u+x Dockerfile /":         "want permissions as 0755",
		"COPY --chown=nobody Dockerfile /":      "/etc/passwd of the stage has no nobody",
		"COPY --chown=dev:nobody Dockerfile /":  "/etc/group of the stage has no nobody",
		"COPY Dockerfile /usr/bin/tool/x":       "/usr/bin/tool is a file, and not a folder",
		"RUN --mount=type=cache,target=/ x":     "it wants a target that is a folder of /",
		"RUN --mount=type=ssh,target=/ssh true": "it is not carried out here",
	} {
		c := commands{}
		_, err := try(t, map[string]string{
			"Dockerfile": "FROM --platform=linux linux AS b\n" + text + "\n" + nano + "COPY --from=b /etc/passwd /",
		}, linuxIn(&c))
		if err == nil || !strings.HasPrefix(err.Error(), "Dockerfile:2: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
