package node

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/windows/wine"
)

// machine is one with these commands.
type machine struct {
	*clitest.Machine

	calls Calls
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{Machine: clitest.New(t)}
	m.Commands = func(r *reader.Reader) []*cobra.Command { return []*cobra.Command{New(r, m.calls)} }
	return m
}

// TestNodeThatIsNotMadeYet holds that a cluster that was described and not brought up, or is being brought up, is not
// said to be none.
func TestNodeThatIsNotMadeYet(t *testing.T) {
	for name, folder := range map[string]bool{"no-folder": false, "empty-folder": true} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.Describe(nil)
			if folder {
				if err := os.MkdirAll(m.Paths.Node("win-1"), 0o755); err != nil {
					t.Fatal(err)
				}
			}

			for _, args := range []string{"node exec win-1 -- cmd", "node shell win-1"} {
				got := m.Run(strings.Fields(args)...)
				if got.Code != exit.NotReady || !strings.Contains(got.Err, "→ `mullion ") ||
					strings.Contains(got.Err, "no cluster") {
					t.Errorf("%s: exit code %d, said %s", args, got.Code, got.Err)
				}
			}
		})
	}
}

// TestShellArguments: a node, and what stands after -- is a command.
func TestShellArguments(t *testing.T) {
	m := newMachine(t)
	m.Describe(nil)
	for _, args := range []string{"node shell", "node shell win-1 dir", "node shell -- dir", "node shell win-1 x -- dir"} {
		m.Run(strings.Fields(args)...).Refused(t, exit.Usage,
			"`mullion node shell` takes a node, and after -- a command",
			`for example: mullion node shell win-1 -- dir C:\k`)
	}
	m.Run("node", "shell", "win-9", "--", "dir").Refused(t, exit.NotFound, `no node "win-9"; there are linux-1, win-1`, "")
}

func TestCopyRefusals(t *testing.T) {
	m := newMachine(t)
	m.Describe(nil)
	m.Host()
	dir := filepath.Join(filepath.Dir(m.Paths.Data), "here")
	m.Write(filepath.Join(dir, "a.txt"), "text")

	file := filepath.Join(dir, "a.txt")
	for _, tt := range []struct {
		from, to     string
		code         int
		what, remedy string
	}{
		{filepath.Join(dir, "b"), dir, exit.NotFound, "open TMP/here/b: no such file or directory", ""},
		{dir, filepath.Join(dir, "c"), exit.Usage, "TMP/here is a folder", "copy files one by one"},
		{
			file, filepath.Join(dir, "no", "c"), exit.NotFound,
			"copy TMP/here/a.txt: the folder of TMP/here/no/c is not there",
			`make it first, for example with: mullion node exec NODE -- cmd /c "mkdir C:\tools"`,
		},
		{
			file, "linux-1:/etc/a", exit.Usage, "linux-1:/etc/a: node linux-1 is a Linux node",
			"read with `mullion node exec linux-1 -- cat FILE`, write with `mullion node exec linux-1 -- tee FILE`",
		},
		{file, "win-9:C:/a", exit.NotFound, `no node "win-9"; there are linux-1, win-1`, ""},
	} {
		m.Run("node", "cp", tt.from, tt.to).Refused(t, tt.code, tt.what, tt.remedy)
	}

	m.Run("node", "cp", file, `win-1:D:\a`).Has(t, exit.Usage, `mullion: win-1:D:\a: `,
		"→ name a path on C:, for example win-1:C:/tools/x.exe")
}

// TestCopyOddFiles: what is no regular file is neither read nor, on a node's drive, written to, and nothing waits for
// it.
func TestCopyOddFiles(t *testing.T) {
	m := newMachine(t)
	m.Describe(nil)
	m.Host()
	dir := filepath.Join(filepath.Dir(m.Paths.Data), "here")
	drive := wine.Drive(cluster.HostPrefix(m.Paths, "win-1"))
	m.Write(filepath.Join(drive, "v", "a.txt"), "text")
	m.Write(filepath.Join(dir, "a.txt"), "text")

	for _, fifo := range []string{filepath.Join(dir, "fifo"), filepath.Join(drive, "v", "fifo")} {
		if err := unix.Mkfifo(fifo, 0o666); err != nil {
			t.Fatal(err)
		}
	}

	zero := filepath.Join(dir, "zero")
	if err := os.Symlink("/dev/zero", zero); err != nil {
		t.Fatal(err)
	}

	out, file := filepath.Join(dir, "out"), filepath.Join(dir, "a.txt")
	for _, tt := range []struct{ from, to, what string }{
		{"win-1:C:/v/fifo", out, "a named pipe"},
		{filepath.Join(dir, "fifo"), out, "a named pipe"},
		{zero, "win-1:C:/v/zero", "a device"},
		{file, "win-1:C:/v/fifo", "a named pipe"},
	} {
		got := m.Run("node", "cp", tt.from, tt.to)
		if got.Code != exit.Usage || !strings.Contains(got.Err, "it is "+tt.what+", and only regular files are read") {
			t.Errorf("%s to %s: exit code %d, said %s", tt.from, tt.to, got.Code, got.Err)
		}
	}

	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was made: %v", err)
	}
	m.Run("node", "cp", "win-1:C:/v/a.txt", "/dev/null").Check(t, exit.OK, "", "") // a person may throw a file away
}

// TestCopy puts a file on a node's C: drive and fetches it again, under a name that is not its own and under its own.
func TestCopy(t *testing.T) {
	m := newMachine(t)
	m.Describe(nil)
	m.Host()
	dir := filepath.Join(filepath.Dir(m.Paths.Data), "here")
	m.Write(filepath.Join(dir, "a.txt"), "text")
	drive := wine.Drive(cluster.HostPrefix(m.Paths, "win-1"))
	m.Write(filepath.Join(drive, "tools", "other.txt"), "")
	victim := filepath.Join(dir, "victim")
	m.Write(filepath.Join(drive, "planted", "other.txt"), "")
	if err := os.Symlink(victim, filepath.Join(drive, "planted", "a.txt")); err != nil {
		t.Fatal(err)
	}

	m.Run("node", "cp", filepath.Join(dir, "a.txt"), `win-1:C:\tools\B.txt`).Check(t, exit.OK, "", "")
	m.Run("node", "cp", filepath.Join(dir, "a.txt"), "win-1:C:/tools").Check(t, exit.OK, "", "")
	m.Run("node", "cp", filepath.Join(dir, "a.txt"), "win-1:C:/planted").Has(t, exit.Usage,
		"mullion: win-1:C:/planted/a.txt: ",
		"→ name a path on C:")
	if _, err := os.Stat(victim); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a link was followed: %v", err)
	}

	back := filepath.Join(filepath.Dir(m.Paths.Data), "back")
	m.Write(filepath.Join(back, "old"), "")
	m.Run("node", "cp", "win-1:c:/TOOLS/b.txt", back).Check(t, exit.OK, "", "")
	for _, path := range []string{filepath.Join(drive, "tools", "a.txt"), filepath.Join(back, "B.txt")} {
		if text, err := os.ReadFile(path); err != nil || string(text) != "text" {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
}

func TestCommandsOnHostsThatAreDown(t *testing.T) {
	m := newMachine(t)
	m.Describe(nil)
	m.Host()
	for _, args := range []string{"node exec win-1 -- cmd /c ver", "node shell win-1", "node exec linux-1 -- true"} {
		m.Run(strings.Fields(args)...).Has(t, exit.NotReady, "mullion: node ", "→ `mullion up` brings it back")
	}

	released := 0
	m.Env.ReleaseInterrupt = func() { released++ }
	m.Run("node", "shell", "linux-1")
	m.Run("node", "shell", "win-9").Refused(t, exit.NotFound, `no node "win-9"; there are linux-1, win-1`, "")
	if released != 1 {
		t.Errorf("Ctrl-C was given away %d times, want once: for the program that was to run", released)
	}
}
