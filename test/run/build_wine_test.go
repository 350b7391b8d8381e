//go:build wine

package run

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// buildFile makes and deletes files, and changes the machine's and the user's registry, by cmd and by PowerShell.
const buildFile = "# escape=`\n" + `FROM mcr.microsoft.com/windows/servercore:ltsc2022
ARG VERSION=3
WORKDIR C:\app
COPY old.txt .
RUN echo built %VERSION%.> built.txt & del old.txt & setx /M TOOL C:\tools
RUN reg add HKLM\Software\Own /v A /t REG_SZ /d "x y" /f & reg delete HKLM\Software\Own /v B /f & setx MINE here
SHELL ["powershell", "-Command"]
RUN if ($env:TOOL -ne 'C:\tools' -or $env:MINE -ne 'here') { exit 3 }; Set-Content C:\data.txt 'from powershell'
SHELL ["cmd", "/S", "/C"]
RUN if exist old.txt exit 4
CMD type built.txt & type C:\data.txt & echo %TOOL% %MINE% & reg query HKLM\Software\Own & if exist old.txt echo old
`

// TestBuild builds an image whose steps run programs, and runs it: each step sees what those before have changed.
func TestBuild(t *testing.T) {
	r := theRoom(t)
	dir, archive := t.TempDir(), filepath.Join(t.TempDir(), "image.tar")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mullion := func(args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join(r.bin, "mullion"), append([]string{"--data-dir", r.data}, args...)...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	write("Dockerfile", buildFile)
	write("old.txt", "old")

	if out, err := mullion("image", "build", dir, "-t", "mullion.local/built:1", "-o", archive); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := mullion("image", "load", "--run", archive); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := r.run(t, "", "mullion.local/built:1")
	const want = "built 3. \nfrom powershell\nC:\\tools here \n\nHKEY_LOCAL_MACHINE\\Software\\Own\n    A    REG_SZ    x y\n\n"
	if got.code != 0 || got.out != want {
		t.Errorf("%+v, want %q", got, want)
	}

	write("Dockerfile", strings.Replace(buildFile, "if exist old.txt exit 4", "exit 4", 1))
	out, err := mullion("image", "build", dir, "-t", "mullion.local/built:2", "-o", archive)
	if err == nil || !strings.Contains(out, "Dockerfile:11: RUN exit 4: the command ended with exit code 4") {
		t.Errorf("%v: %s", err, out)
	}
	if left, err := filepath.Glob(filepath.Join(r.data, "build-*")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
