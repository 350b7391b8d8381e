package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestInstalled(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o755); err != nil {
			t.Fatal(err)
		}

		return name
	}

	ours, powershell := file("system/pwsh.exe"), file("system/powershell.exe")
	variables := map[string]string{
		"PATH":         "relative" + string(filepath.ListSeparator) + filepath.Join(dir, "system"),
		"ProgramFiles": filepath.Join(dir, "programs"),
	}

	expect := func(what, self, want string) {
		t.Helper()
		if got := installed(self, func(name string) string { return variables[name] }); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}

	expect("alone", ours, "")
	images := file("programs/PowerShell/pwsh.exe")
	expect("an image's", ours, images)
	installers := file("programs/PowerShell/7/pwsh.exe")
	expect("the installer's", ours, installers)
	variables["PATH"] += string(filepath.ListSeparator) + filepath.Join(dir, "other")
	other := file("other/pwsh.exe")
	expect("on the PATH", ours, other)
	expect("powershell.exe stays Mullion's", powershell, "")
	variables[insteadOf] = other
	expect("a copy of Mullion's, in place of it", other, "")
}

func TestAfterProgram(t *testing.T) {
	for line, want := range map[string]string{
		`pwsh`:                   ``,
		`pwsh -c "a  b"`:         ` -c "a  b"`,
		`"C:\a b\pwsh.exe" -c x`: ` -c x`,
		`"C:\a b\pwsh.exe`:       ``,
	} {
		if got := afterProgram(line); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
