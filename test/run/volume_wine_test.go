//go:build wine

package run

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
)

// mullion runs a command of mullion with arguments.
func (r *room) mullion(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	defer cancel()

	cmd := exec.CommandContext(ctx, filepath.Join(r.bin, "mullion"), append([]string{"--data-dir", r.data}, args...)...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "MULLION_CACHE_DIR="+filepath.Join(r.dir, "cache"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the code is looked at
	if ctx.Err() != nil {
		t.Fatalf("mullion %q does not end: %s%s", args, &out, &errs)
	}
	return result{
		out:  strings.ReplaceAll(out.String(), "\r\n", "\n"),
		err:  errs.String(),
		code: cmd.ProcessState.ExitCode(),
	}
}

// built builds an image of a Dockerfile beside the test program and a text.
func (r *room) built(t *testing.T, ref, dockerfile string) {
	t.Helper()
	dir := t.TempDir()
	program, err := os.ReadFile(r.program())
	for name, text := range map[string]string{"Dockerfile": dockerfile, "seed.txt": "of the image\r\n", "prog.exe": string(program)} {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := r.mullion(t, "image", "build", dir, "-t", ref, "--run"); got.code != 0 {
		t.Fatalf("build: %+v", got)
	}
}

const volumeFile = "# escape=`\n" + `FROM mcr.microsoft.com/windows/nanoserver:ltsc2022
COPY seed.txt C:\data\sub\seed.txt
COPY prog.exe C:\
VOLUME C:\data
CMD ["cmd", "/c", "type C:\\data\\sub\\seed.txt"]
`

// noVolumes removes all volumes, now and at the test's end.
func (r *room) noVolumes(t *testing.T) {
	t.Helper()
	clear := func() {
		r.mullion(t, "container", "prune", "-f")
		if got := r.mullion(t, "volume", "prune", "-af"); got.code != 0 {
			t.Errorf("prune: %+v", got)
		}
	}
	clear()
	t.Cleanup(clear)
}

// volumes lists the names of volumes.
func (r *room) volumes(t *testing.T, args ...string) string {
	t.Helper()
	return strings.Join(strings.Fields(r.mullion(t, append([]string{"volume", "ls", "-q"}, args...)...).out), " ")
}

// TestVolumes: a volume is made when it is first named, begins with what the image has there, is found again by the
// next container and by one that begins anew, and stays until no container has it and somebody removes it.
func TestVolumes(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	r := theRoom(t)
	r.noVolumes(t)
	const image = "mullion.local/volume:1"
	r.built(t, image, volumeFile)
	cmd := func(line string, args ...string) result {
		t.Helper()
		return r.run(t, "", append(append(args, image), "cmd", "/c", line)...)
	}

	cmd(`type C:\DATA\sub\seed.txt& echo more>C:\data\more.txt`, "--name", "first", "-v", `Data:C:\data`).
		is(t, "first", 0, "of the image\n", "")
	cmd(`type C:\data\more.txt`, "--rm", "-v", `data:c:/data`).is(t, "next", 0, "more\n", "")
	cmd(`type D:\more.txt`, "--rm", "-v", `data:D:`).is(t, "as a drive", 0, "more\n", "")
	cmd(`type C:\x\more.txt`, "--rm", "--mount", `source=data,target=C:\x,readonly`).is(t, "by --mount", 0, "more\n", "")
	if got := cmd(`echo no>C:\data\no.txt`, "--rm", "-v", `data:C:\data:ro`); got.code == 0 {
		t.Errorf("read-only, it was written: %+v", got)
	}
	cmd(`if not exist C:\data\sub echo bare`, "--rm", "--mount", `type=volume,src=bare,dst=C:\data,volume-nocopy`).
		is(t, "nothing is copied", 0, "bare\n", "")
	cmd(`echo u>C:\data\u.txt& type C:\data\u.txt`, "--rm", "-u", "ContainerUser", "-v", `users:C:\data`).
		is(t, "of ContainerUser", 0, "u\n", "")
	if got := r.volumes(t); got != "bare data users" {
		t.Errorf("there are %s", got)
	}

	r.mullion(t, "volume", "rm", "data").is(t, "rm of one in use", 1, "", "remove data: volume is in use - [")
	r.container(t, "start", "first").is(t, "start", 0, "first\n", "")
	r.container(t, "wait", "first").is(t, "wait", 0, "0\n", "")
	if got := r.container(t, "inspect", "-f", "{{(index .Mounts 0).Type}} {{(index .Mounts 0).Name}}", "first").out; got != "volume data\n" {
		t.Errorf("inspect: %q", got)
	}
	r.container(t, "rm", "-v", "first").is(t, "rm", 0, "first\n", "")
	r.mullion(t, "volume", "rm", "data", "absent").is(t, "rm", 1, "data\n", "get absent: no such volume")

	cmd("echo x", "--rm").is(t, "--rm", 0, "x\n", "")
	r.run(t, "", "--rm", "-v", `C:\own`, r.program(), "write", `C:\own\x`).is(t, "--rm without an image", 0, "", "")
	if got := r.volumes(t); got != "bare users" {
		t.Errorf("after --rm there are %s", got)
	}
	cmd(`echo kept>C:\data\kept.txt& dir /b C:\data`, "--name", "keeps").is(t, "anonymous", 0, "kept.txt\nsub\n", "")
	if got := strings.Fields(r.volumes(t, "-f", "label=com.docker.volume.anonymous")); len(got) != 1 || len(got[0]) != 64 {
		t.Errorf("anonymous ones: %v", got)
	}
	r.mullion(t, "volume", "prune", "-f").is(t, "prune", 0, "Total reclaimed space: 0B\n", "")
	r.container(t, "rm", "-v", "keeps").is(t, "rm -v", 0, "keeps\n", "")
	if got := r.volumes(t); got != "bare users" {
		t.Errorf("after rm -v there are %s", got)
	}
}

// TestVolumesKilled kills the engine while containers have volumes: what has a name stays with all that is in it, what
// has none goes with --rm, and nothing is left by half.
func TestVolumesKilled(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	r := theRoom(t)
	r.noVolumes(t)
	for _, name := range []string{"stays", "goes"} {
		args := []string{"--name", "volume-" + name, "-v", name + `:C:\named`, "-v", `C:\own`}
		if name == "goes" {
			args = append(args, "--rm")
		}
		r.waiting(t, append(args, r.program(), "wait")...)
		r.container(t, "exec", "volume-"+name, `C:\app\prog.exe`, "write", `C:\named\x`).is(t, "write", 0, "", "")
	}
	if got := len(strings.Fields(r.volumes(t))); got != 4 {
		t.Errorf("%d volumes", got)
	}

	if err := syscall.Kill(r.process(isServer), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.container(t, "ls", "-a")
	if got := strings.Fields(r.volumes(t)); len(got) != 3 || got[1] != "goes" || got[2] != "stays" {
		t.Errorf("there are %v", got)
	}
	r.run(t, "", "--rm", "-v", `goes:C:\named`, r.program(), "write", `C:\named\y`).is(t, "again", 0, "", "")
	if !within(10*time.Second, func() bool {
		left, err := filepath.Glob(filepath.Join(r.data, "volumes", ".*"))
		return err == nil && len(left) == 0
	}) {
		t.Error("something is left by half")
	}
	for _, name := range []string{"goes/_data/x", "goes/_data/y", "stays/_data/x"} {
		if _, err := os.Stat(filepath.Join(r.data, "volumes", name)); err != nil {
			t.Error(err)
		}
	}
}

// TestVolumesDown: `down --run` keeps the volumes with a name, and removes them when it is told to.
func TestVolumesDown(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	r := theRoom(t)
	r.noVolumes(t)
	r.run(t, "", "-v", `ledger:C:\l`, "-v", `C:\own`, r.program(), "write", `C:\l\x`).is(t, "run", 0, "", "")
	r.mullion(t, "down", "--run").is(t, "down", 0, "", "volumes with a name are kept in "+r.data+": ledger; `mullion down --run --volumes`")
	if left, err := filepath.Glob(filepath.Join(r.data, "*", "*")); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
	r.run(t, "", "--rm", "-v", `ledger:C:\l`, r.program(), "write", `C:\l\y`).is(t, "run again", 0, "", "")
	for _, name := range []string{"x", "y"} {
		if _, err := os.Stat(filepath.Join(r.data, "volumes/ledger/_data", name)); err != nil {
			t.Error(err)
		}
	}
	r.mullion(t, "down", "--run", "--volumes").is(t, "down", 0, "", "")
	if _, err := os.Stat(r.data); !os.IsNotExist(err) {
		t.Errorf("the folder stays: %v", err)
	}
}
