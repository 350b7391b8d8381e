package command_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/check/command"
)

// TestLinksLeadNowhereElse: of a folder that was given nothing outside is read, shown or changed. A link inside of it
// is one of its files.
func TestLinksLeadNowhereElse(t *testing.T) {
	for _, fix := range []string{"", command.FixWrite, command.FixDiff} {
		outside := write(t, map[string]string{"secret.yaml": hostPID + "#hunter2\n", "sub/other.yaml": hostPID})
		dir := write(t, map[string]string{"in/pod.yaml": "kind: ConfigMap\n"})
		err := errors.Join(
			os.Symlink(filepath.Join(outside, "secret.yaml"), filepath.Join(dir, "absolute.yaml")),
			os.Symlink("../"+filepath.Base(outside)+"/secret.yaml", filepath.Join(dir, "up.yaml")),
			os.Symlink("none", filepath.Join(dir, "nothing.yaml")),
			os.Symlink("loop.yaml", filepath.Join(dir, "loop.yaml")),
			os.Symlink(outside, filepath.Join(dir, "folder")),
			os.Symlink("in/pod.yaml", filepath.Join(dir, "inside.yaml")))
		if err != nil {
			t.Fatal(err)
		}

		got, out, err := run(t, command.Options{
			Offline: true,
			Paths:   []string{dir},
			Dir:     dir,
			Fix:     fix,
		}, "")
		if err != nil || !got.Unreadable || got.Findings {
			t.Fatalf("fix %q: %+v, %v\n%s", fix, got, err, out)
		}

		if fix != command.FixDiff {
			for _, name := range []string{"absolute.yaml", "up.yaml", "nothing.yaml", "loop.yaml"} {
				if !strings.Contains(out, filepath.Join(dir, name)+":1:1: not read: this is a link that leads out") {
					t.Errorf("fix %q: nothing is said of %s in:\n%s", fix, name, out)
				}
			}
			if !strings.Contains(out, "passed over: 2 ConfigMap; 4 faults") {
				t.Errorf("fix %q: a link inside was not read:\n%s", fix, out)
			}
		}

		if strings.Contains(out, "hunter2") || strings.Contains(out, "hostPID") {
			t.Errorf("fix %q: what lies outside was shown:\n%s", fix, out)
		}
		for _, name := range []string{"secret.yaml", "sub/other.yaml"} {
			text, err := os.ReadFile(filepath.Join(outside, name))
			if err != nil || !strings.HasPrefix(string(text), hostPID) {
				t.Errorf("fix %q: %s was changed: %v\n%s", fix, name, err, text)
			}
		}
	}
}

// TestFixThroughALink: a link inside of the folder stays one, and so does one that was named.
func TestFixThroughALink(t *testing.T) {
	for name, path := range map[string]func(dir string) string{
		"a folder": func(dir string) string { return dir },
		"the link": func(dir string) string { return filepath.Join(dir, "sub", "link.yaml") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, map[string]string{"in/pod.yaml": hostPID, "sub/x": ""})
			link, file := filepath.Join(dir, "sub", "link.yaml"), filepath.Join(dir, "in", "pod.yaml")
			if err := os.Symlink("../in/pod.yaml", link); err != nil {
				t.Fatal(err)
			}

			o := command.Options{
				Offline: true,
				Paths:   []string{path(dir)},
				Dir:     dir,
				Fix:     command.FixWrite,
			}

			got, out, err := run(t, o, "")
			if err != nil || got.Findings || got.Unreadable {
				t.Errorf("%+v, %v\n%s", got, err, out)
			}
			if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "hostPID") {
				t.Errorf("it was not fixed: %v\n%s", err, text)
			}

			if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
				t.Errorf("the link is none any more: %v, %v", info, err)
			}
		})
	}
}

// TestOddFilesInAFolder: what is no regular file is said, and nothing waits for it.
func TestOddFilesInAFolder(t *testing.T) {
	dir := write(t, map[string]string{"pod.yaml": hostPID, "folder.yaml/x": ""})
	err := errors.Join(
		unix.Mkfifo(filepath.Join(dir, "pipe.yaml"), 0o600),
		os.Symlink("/dev/zero", filepath.Join(dir, "zero.yaml")),
		os.Symlink("pipe.yaml", filepath.Join(dir, "link.json")),
		os.WriteFile(filepath.Join(dir, "large.yaml"), nil, 0o600),
		os.Truncate(filepath.Join(dir, "large.yaml"), 2<<30)) // it takes no room
	if err != nil {
		t.Fatal(err)
	}

	got, out, err := run(t, command.Options{
		Offline: true,
		Paths:   []string{dir},
		Dir:     dir,
	}, "")
	if err != nil || !got.Unreadable || !got.Findings {
		t.Fatalf("%+v, %v\n%s", got, err, out)
	}

	for name, want := range map[string]string{
		"pipe.yaml": "it is a named pipe, and only regular files are read",
		"link.json": "it is a named pipe, and only regular files are read",
		"zero.yaml": "this is a link that leads out", "large.yaml": "it is larger than 1024 MiB",
	} {
		if !strings.Contains(out, filepath.Join(dir, name)+":1:1: not read: "+want) {
			t.Errorf("nothing is said of %s in:\n%s", name, out)
		}
	}
}

// TestEndlessFolders: neither depth nor width keeps a check from ending, and the rest is read.
func TestEndlessFolders(t *testing.T) {
	dir := write(t, map[string]string{"pod.yaml": hostPID})
	deep := filepath.Join(dir, strings.Repeat("d/", 300))
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(deep, "deep.yaml"), []byte(hostPID), 0o600); err != nil {
		t.Fatal(err)
	}

	wide := filepath.Join(dir, "wide")
	if err := os.Mkdir(wide, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 20_001 { // links are cheap
		if err := os.Symlink("x", filepath.Join(wide, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}

	got, out, err := run(t, command.Options{
		Offline: true,
		Paths:   []string{dir},
		Dir:     dir,
	}, "")
	if err != nil || !got.Unreadable || !got.Findings {
		t.Fatalf("%+v, %v\n%s", got, err, out)
	}

	for _, want := range []string{
		"d:1:1: not read: more than 100 folders inside each other",
		wide + ":1:1: not read: it has more than 20000 entries", "1 errors,", "2 faults",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := command.Options{
		Offline: true,
		Paths:   []string{dir},
		Dir:     dir,
	}

	if _, err := command.Run(ctx, o, nil, t.Output()); !errors.Is(err, context.Canceled) {
		t.Errorf("a check that was told to end ended with %v", err)
	}
}

// TestNothingInThePipe: where a command before it failed, nothing was checked, and that is not green.
func TestNothingInThePipe(t *testing.T) {
	for _, in := range []string{"", "\n \n", "# only a comment\n---\n"} {
		got, out, err := run(t, command.Options{Offline: true, Dir: t.TempDir()}, in)
		if err != nil || got.Code() != command.CodeUnreadable ||
			!strings.Contains(out, "standard input has no document") {
			t.Errorf("%q: %+v, %v\n%s", in, got, err, out)
		}
	}
}

// TestConfigIsAFileOfTheCheckout: whoever wrote the checkout does not lead the configuration to another file, whose
// text an error would show.
func TestConfigIsAFileOfTheCheckout(t *testing.T) {
	outside := write(t, map[string]string{"secret": "hunter2: hunter2\n"})
	dir := write(t, map[string]string{"pod.yaml": hostPID})
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, command.ConfigName)); err != nil {
		t.Fatal(err)
	}
	_, out, err := run(t, command.Options{
		Offline: true,
		Paths:   []string{dir},
		Dir:     dir,
	}, "")
	if err == nil || strings.Contains(err.Error()+out, "hunter2") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestFixOfALongLine: each change of a document is proved by reading it anew, so that of one with very many only some
// are made at a time, which is said.
func TestFixOfALongLine(t *testing.T) {
	const n = 300
	pods := strings.Repeat("{apiVersion: v1, kind: Pod, spec: {os: {name: windows}, hostPID: true}}, ", n)
	dir := write(t, map[string]string{"list.yaml": "apiVersion: v1\nkind: List\nitems: [" + pods + "]\n"})
	file := filepath.Join(dir, "list.yaml")
	got, out, err := run(t, command.Options{
		Offline: true,
		Paths:   []string{file},
		Dir:     dir,
		Fix:     command.FixWrite,
	}, "")
	if err != nil || !got.Unreadable || !strings.Contains(out, "there is more to fix than is done at a time") {
		t.Errorf("%+v, %v\n%.2000s", got, err, out)
	}

	text, err := os.ReadFile(file)
	if left := strings.Count(string(text), "hostPID"); err != nil || left == 0 || left == n {
		t.Errorf("%d of %d are left, %v", left, n, err)
	}
}
