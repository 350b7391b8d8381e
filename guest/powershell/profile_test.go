package powershell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProfiles: the four files that a session runs at its beginning, in their order, in its own scope. What is wrong in
// one does not keep the others from running, nor the script.
func TestProfiles(t *testing.T) {
	home, root := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	all := filepath.Join(root, "System32", "WindowsPowerShell", "v1.0")
	mine := filepath.Join(home, "Documents", "WindowsPowerShell")
	write(filepath.Join(all, "profile.ps1"), "'everybody, all hosts'; $x = 1")
	write(filepath.Join(all, "Microsoft.PowerShell_profile.ps1"), "'everybody, this host'; throw 'no'; 'not reached'")
	write(filepath.Join(mine, "profile.ps1"), "if (")
	own := filepath.Join(mine, "Microsoft.PowerShell_profile.ps1")
	write(own, "'mine'; $x++; function hi { \"x is $x\" }; Set-Alias h2 hi")

	play := func(args ...string) (out, errs string, code int) {
		var o, e strings.Builder
		s := Session{
			Args: args, Stdin: strings.NewReader("'typed'; hi\n(Get-History).Count\n"), Stdout: &o, Stderr: &e, Newline: "\n",
			Environ: []string{"HOME=" + home, "SYSTEMROOT=" + root}, windows: stageWindows(),
		}
		code = s.Run(t.Context())
		return o.String(), e.String(), code
	}

	began := "everybody, all hosts\neverybody, this host\nmine\n"
	out, errs, code := play("-Command", "hi; h2")
	if diff := cmp.Diff(began+"x is 2\nx is 2\n", out); diff != "" || code != 0 {
		t.Errorf("-Command ends with %d (-want +got):\n%s", code, diff)
	}
	if !strings.Contains(errs, "no\nAt ") || !strings.Contains(errs, "Missing") {
		t.Errorf("what is wrong in profiles is not said: %q", errs)
	}
	if out, errs, code := play("-NoProfile", "-Command", "'alone'"); out != "alone\n" || errs != "" || code != 0 {
		t.Errorf("-NoProfile: %q, %q, %d", out, errs, code)
	}
	if out, _, _ := play("-NoLogo"); !strings.HasPrefix(out, began) || !strings.Contains(out, "typed\nx is 2\n") || !strings.Contains(out, "> 1\n") {
		t.Errorf("at the prompt, where the history has what was typed alone: %q", out)
	}

	write(own, "'bye'; exit 7")
	if out, _, code := play("-Command", "'not reached'"); code != 7 || strings.Contains(out, "not reached") {
		t.Errorf("a profile that says exit: %d, %q", code, out)
	}
}
