package prog

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestChildMakesLink has Wine's cmd.exe make links: it is no Go program, so it has what closes the gap from its parent.
func TestChildMakesLink(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "hello")
	cmd := exec.CommandContext(t.Context(), "cmd1", "/c", "mklink", filepath.Join(dir, "link"), "file")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("mklink: %v\n%s", err, out)
	}

	wantTarget(t, filepath.Join(dir, "link"), "file")
	wantContent(t, filepath.Join(dir, "link"), "hello")
	out, err := exec.CommandContext(t.Context(), "cmd1", "/c", "cmd1", "/c", "mklink", filepath.Join(dir, "deep"),
		"file").CombinedOutput()
	if err != nil {
		t.Fatalf("mklink in a shell's shell: %v\n%s", err, out)
	}

	wantTarget(t, filepath.Join(dir, "deep"), "file")
	out, err = exec.CommandContext(t.Context(), "cmd1", "/c", "exit 42").CombinedOutput()
	if exit := cmd.ProcessState; exit == nil || err == nil || err.Error() != "exit status 42" {
		t.Errorf("exit code of a child: got %v\n%s", err, out)
	}

	// A link is removed as a link.
	if out, err := exec.CommandContext(t.Context(), "cmd1", "/c", "del",
		filepath.Join(dir, "link")).CombinedOutput(); err != nil {
		t.Fatalf("del: %v\n%s", err, out)
	}
	wantGone(t, filepath.Join(dir, "link"))
	wantContent(t, filepath.Join(dir, "file"), "hello")
}
