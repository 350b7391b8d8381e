//go:build wine

package run

import (
	"encoding/json"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/single"
)

// TestExplain compares what is said of a container with what one gets that is run so.
func TestExplain(t *testing.T) {
	r := theRoom(t)
	folders(t, r)
	args := []string{
		"-h", "box", "-u", "ContainerUser", "-e", "A=b", "-w", `C:\Windows`, "-v", `./own:C:\own`, "-v", `./roots:C:\roots`,
		"-m", "64m", "./app/prog.exe",
	}
	rest := []string{"line", `a"b`, `C:\x y\`, ""}

	got := r.run(t, "", append(append([]string{"--explain", "-o", "json"}, args...), rest...)...)
	var e single.Explanation
	if err := json.Unmarshal([]byte(got.out), &e); err != nil || got.code != 0 {
		t.Fatalf("code %d, %v: %s%s", got.code, err, got.out, got.err)
	}
	if ran := r.run(t, "", append(args, rest...)...); ran.out != e.CommandLine+"\n" {
		t.Errorf("the command line is %q, and was said to be %q", ran.out, e.CommandLine)
	}

	ran := r.run(t, "", append(args, "where")...)
	if said := strings.Join([]string{e.Dir, e.Hostname, e.User, "b"}, " ") + "\n"; ran.out != said {
		t.Errorf("the program says %q, and was said to be %q", ran.out, said)
	}
	notes := map[string]bool{}
	for _, m := range e.Mounts {
		notes[m.Target] = m.Note != ""
	}

	if !notes[`C:\roots`] || notes[`C:\own`] || len(notes) != 3 {
		t.Errorf("mounts %+v", e.Mounts)
	}
	if e.Image != nil || e.Limits.Memory != 64<<20 || len(e.Env) != 1 {
		t.Errorf("%+v", e)
	}

	got = r.run(t, "", "--explain", "./image")
	for _, line := range []string{
		"base          a stand-in for Windows' base image, made by Mullion\n",
		"command line  C:\\app\\prog.exe args \"from the description\"\n",
		"configuration WorkingDir: used\n",
	} {
		if !strings.Contains(got.out, line) {
			t.Errorf("there is no %q in %s%s", line, got.out, got.err)
		}
	}

	if got := r.run(t, "", "--explain", "--pull", "never", "example.invalid/none:1"); got.code != 125 {
		t.Errorf("an image that is not there: %+v", got)
	}
}
