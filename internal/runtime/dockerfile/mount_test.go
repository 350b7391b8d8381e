package dockerfile_test

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/runtime/dockerfile"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// mounted builds a Dockerfile with RUNs, and tells what the last one mounts: "TARGET: FILES".
func mounted(
	t *testing.T, text string, with func(*dockerfile.Options),
) (seen []string, env []string, m made, err error) {
	t.Helper()
	c := commands{}
	m, err = try(t, map[string]string{
		"Dockerfile": text, "a.txt": "A", "dir/b": "B", "dir/left": "L", "dir/link": "->b", ".dockerignore": "dir/left",
	}, func(o *dockerfile.Options) {
		o.Secrets = map[string][]byte{"token": []byte("s3cr3t"), "../../x": []byte("hostile")}
		o.Run = func(ctx context.Context, ask dockerfile.Command) error {
			seen, env = nil, ask.Env
			for _, mount := range ask.Mounts {
				seen = append(seen, fmt.Sprintf("%s %t: %s", mount.Target, mount.ReadOnly, listed(t, mount.Source)))
			}
			return c.run(ctx, ask)
		}

		if with != nil {
			with(o)
		}
	})

	return seen, env, m, err
}

// listed lists what is in a folder, or the text of a file.
func listed(t *testing.T, name string) string {
	t.Helper()
	if text, err := os.ReadFile(name); err == nil {
		return string(text)
	}

	var all []string
	err := filepath.WalkDir(name, func(at string, e os.DirEntry, err error) error {
		rel, _ := filepath.Rel(name, at)
		if text, readErr := os.ReadFile(at); err == nil && readErr == nil {
			rel += "=" + string(text)
		}
		all = append(all, rel)
		return err
	})
	if err != nil {
		t.Error(err)
	}

	return strings.Join(all, " ")
}

func TestMounts(t *testing.T) {
	for flags, want := range map[string]string{
		`--mount=target=C:/src`:                                                                             `C:\src true: . Dockerfile= a.txt=A dir dir/b=B dir/link=B`,
		`--mount=type=bind,source=dir/b,target=C:/x/b`:                                                      `C:\x\b true: B`,
		`--mount=type=bind,source=../../dir,target=C:/x,rw`:                                                 `C:\x false: . b=B link=B`,
		`--mount=from=tools,source=/t,target=/tools`:                                                        `C:\tools true: . a.txt=A`,
		`--mount=type=cache,target=packages`:                                                                `C:\app\packages false: .`,
		`--mount=type=cache,id=../../../etc,target=/p,sharing=locked`:                                       `C:\p false: .`,
		`--mount=type=cache,id=c,target=/p,sharing=locked --mount=type=cache,id=c,target=/q,sharing=locked`: "C:\\p false: .\nC:\\q false: .",
		`--mount=type=tmpfs,target=/t`:                                                                      `C:\t false: .`,
		`--mount=type=secret,id=token`:                                                                      `C:\run\secrets\token true: s3cr3t`,
		`--mount=type=secret,id=token,target=C:/k/token,required`:                                           `C:\k\token true: s3cr3t`,
		`--mount=type=secret,id=../../x`:                                                                    `C:\run\secrets\x true: hostile`,
		`--mount=type=secret,id=token,env=T`:                                                                ``,
		`--mount=type=secret,id=absent`:                                                                     ``,
		`--mount=type=cache,target=/p --mount=type=secret,id=token,env=KEY`:                                 `C:\p false: .`,
	} {
		seen, env, m, err := mounted(t, nano+"COPY a.txt /t/\nFROM scratch\nCOPY --from=0 /t /t\n"+
			"FROM scratch AS tools\nCOPY a.txt /t/\n"+nano+"WORKDIR /app\nRUN "+flags+" x", nil)
		got := strings.Join(seen, "\n")
		if strings.Contains(flags, `target=C:/src`) {
			at, end := strings.Index(got, "Dockerfile=")+len("Dockerfile="), strings.Index(got, " a.txt=A")
			got = got[:at] + got[max(at, end):]
			got = strings.Replace(got, ".dockerignore=dir/left ", "", 1)
		}
		if err != nil || got != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", flags, err, got, want)
		}

		if strings.Contains(flags, "env=") != slices.ContainsFunc(env, func(e string) bool { return strings.HasSuffix(e, "=s3cr3t") }) {
			t.Errorf("%s: %q", flags, env)
		}
		if strings.Contains(flags, "absent") && !strings.Contains(m.warnings(), "the secret absent is not given") {
			t.Errorf("%s: %s", flags, m.warnings())
		}
		if said := fmt.Sprint(m.config, m.events, m.files); strings.Contains(said, "s3cr3t") {
			t.Errorf("%s: the secret is told: %s", flags, said)
		}
	}
}

// What cannot be mounted is refused with its line, and nothing runs.
func TestMountsRefused(t *testing.T) {
	for flags, want := range map[string]string{
		"--mount=type=ssh":                                          "Dockerfile:2: RUN",
		"--mount=type=ssh,target=/x":                                "--mount=type=ssh: it is not carried out",
		"--mount=type=cache":                                        "it wants a target",
		"--mount=type=cache,target=C:/":                             "it wants a target",
		"--mount=type=cache,target=D:/x":                            "is not on C:",
		"--mount=type=cache,target=//host/x":                        "is on another machine",
		"--mount=type=cache,target=/a*b":                            "not a Windows file name",
		"--mount=type=cache,target=/NUL":                            "names a device",
		"--mount=type=cache,from=0,target=/x":                       "Dockerfile:2",
		"--mount=type=cache,target=/x,source=y":                     "a cache begins empty",
		"--mount=target=/x,source=absent":                           `"absent" is not there`,
		"--mount=target=/x,source=dir/left":                         `"dir/left" is not there`,
		"--mount=target=/x,source=out":                              "path escapes from parent",
		"--mount=target=/x,from=none":                               "no image docker.io/library/none",
		"--mount=type=secret,id=absent,required":                    "the secret absent is required",
		"--mount=type=secret,id=token,env=a=b":                      "cannot be the variable",
		"--mount=type=x,target=/x":                                  "unsupported mount type",
		"--mount=type=tmpfs,target=/x --mount=type=cache,target=/X": "two mounts have the target",
	} {
		ran := false
		_, err := try(t, map[string]string{
			"Dockerfile": nano + "RUN " + flags + " x", "dir/left": "L", ".dockerignore": "dir/left", "out": "->/etc/passwd",
		}, func(o *dockerfile.Options) {
			o.Secrets = map[string][]byte{"token": []byte("T")}
			o.Run = func(context.Context, dockerfile.Command) error {
				ran = true
				return errors.New("it runs")
			}
		})
		if err == nil || !strings.HasPrefix(err.Error(), "Dockerfile:2") || !strings.Contains(err.Error(), want) || ran {
			t.Errorf("%s: %v, want %q; ran: %t", flags, err, want, ran)
		}
	}
}

// What a link of an image leads to on this machine is not mounted.
func TestMountsNoLinkOfAnImage(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	outside := t.TempDir()
	writeFiles(t, outside, map[string]string{"secret": "S"})
	img := imageOf(t, archiveOf(t, false,
		entry{"Files/file", "", filepath.Join(outside, "secret"), tar.TypeSymlink},
		entry{"Files/folder", "", outside, tar.TypeSymlink}))

	for _, source := range []string{"file", "folder", "folder/secret"} {
		seen, ran := "", false
		_, err := try(t, map[string]string{
			"Dockerfile": "FROM hostile AS h\n" + nano + "RUN --mount=from=h,source=" + source + ",target=/x x",
		}, func(o *dockerfile.Options) {
			usual := o.Base
			o.Base = func(ctx context.Context, ref, system string) (dockerfile.Base, error) {
				if strings.Contains(ref, "hostile") {
					return dockerfile.Base{Image: img}, nil
				}
				return usual(ctx, ref, system)
			}

			o.Run = func(_ context.Context, ask dockerfile.Command) error {
				seen, ran = listed(t, ask.Mounts[0].Source), true
				return errors.New("it runs")
			}
		})
		if err == nil || ran {
			t.Errorf("%s: %v, it runs and sees %q", source, err, seen)
		}
	}
}

// What a command binds is part of what it depends on; what a cache or a secret has is not.
func TestMountsInKeys(t *testing.T) {
	dir := t.TempDir()
	c := commands{files: []imagebuild.File{{Name: "new", Data: []byte("N"), Size: 1}}}
	build := func(bound, secret string) int {
		t.Helper()
		c.asked = nil
		_, err := try(t, map[string]string{
			"Dockerfile": nano + "RUN --mount=source=a.txt,target=/a --mount=type=secret,id=token --mount=type=cache,target=/c x",
			"a.txt":      bound,
		}, func(o *dockerfile.Options) {
			c.in(o)
			o.Cache = cacheAt(t, dir)
			o.Secrets = map[string][]byte{"token": []byte(secret)}
		})
		if err != nil {
			t.Fatal(err)
		}

		return len(c.asked)
	}

	if runs := []int{build("A", "1"), build("A", "2"), build("B", "2")}; !slices.Equal(runs, []int{1, 0, 1}) {
		t.Errorf("%v commands", runs)
	}
}
