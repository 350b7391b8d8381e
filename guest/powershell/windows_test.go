package powershell

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
)

// asWindows runs a script as on Windows, as far as Linux' files allow it.
func asWindows(t *testing.T, dir, script string, environ ...string) outcome {
	t.Helper()
	t.Chdir(dir)
	var out, errs bytes.Buffer
	s := Session{
		Args:    []string{"/c", script},
		Environ: environ,
		Stdin:   strings.NewReader(""),
		Stdout:  &out,
		Stderr:  &errs,
		Newline: "\r\n",
		windows: stageWindows(),
	}

	code := s.Run(t.Context())
	return outcome{out.String(), errs.String(), code}
}

func TestNewlines(t *testing.T) {
	script := "Set-Content f 1, 2; (Get-Content f -Raw).Length; Get-Content f; Write-Host x; $HOME"
	got := asWindows(t, t.TempDir(), script, `USERPROFILE=C:\Users\me`)
	if want := "6\r\n1\r\n2\r\nx\r\nC:\\Users\\me\r\n"; got.out != want || got.code != 0 {
		t.Errorf("%+v, want %q", got, want)
	}
}

// TestNoHome checks that $HOME is $null if Windows' variables do not name it.
func TestNoHome(t *testing.T) {
	if got := asWindows(t, t.TempDir(), "$null -eq $HOME", "HOME=/root"); got.out != "True\r\n" {
		t.Errorf("%+v", got)
	}
}

func TestCombineAsWindows(t *testing.T) {
	for script, want := range map[string]string{
		`[io.path]::Combine('C:\a', 'b')`:      `C:\a\b`,
		`[io.path]::Combine('C:\a\', 'b')`:     `C:\a\b`,
		`[io.path]::Combine('a', 'C:\b')`:      `C:\b`,
		`[io.path]::Combine('a', '\b')`:        `\b`,
		`[io.path]::Combine('a', '', 'b')`:     `a\b`,
		`[System.IO.Path]::Combine('C:', 'b')`: `C:b`,
	} {
		if got := asWindows(t, t.TempDir(), script); got.out != want+"\r\n" {
			t.Errorf("%s: %+v, want %q", script, got, want)
		}
	}
}

// TestPrograms finds programs as Windows does: by PATHEXT, in the folders of PATH and never in the current one.
func TestPrograms(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"bin/tool.exe", "bin/both.cmd", "bin/both.exe", "here.exe", "bin/bare",
		"bin/odd.ext",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		script := "#!/bin/sh\necho " + name + "\n"
		if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	for _, tt := range []struct{ command, pathext, want string }{
		{"tool", ".EXE;.exe", "bin/tool.exe\n"},
		{"tool.exe", "", "bin/tool.exe\n"},
		{"both", ".cmd;.exe", "bin/both.cmd\n"},
		{"both", ".exe;.cmd", "bin/both.exe\n"},
		{"./here.exe", ".exe", "here.exe\n"},
		{"here.exe", ".exe", ""},
		{"bare", ".exe", ""},
		{"odd.ext", ".exe", "bin/odd.ext\n"},
		{"none", ".exe", ""},
	} {
		got := asWindows(t, dir, tt.command, "PATH="+dir+"/bin"+":", "PATHEXT="+tt.pathext)
		if got.out != tt.want || (got.code == 0) != (tt.want != "") {
			t.Errorf("%s with %s: %+v, want %q", tt.command, tt.pathext, got, tt.want)
		}
	}
}

// TestElsewhere checks that a call of Windows is an error on other systems, after which the script goes on.
func TestElsewhere(t *testing.T) {
	for _, script := range []string{
		"Get-Process", "Get-Acl .", "Get-HnsNetwork", "Get-NetAdapter", "Get-NetIPAddress", "Get-NetRoute",
		"Resolve-DnsName x", "Get-WinEvent x", "Get-EventLog x",
	} {
		got := run(t, t.TempDir(), nil, "-Command", script+"; echo on")
		if got.out != "on\n" || !strings.Contains(got.errs, "unsupported operation") {
			t.Errorf("%s: %+v", script, got)
		}
	}
}

// TestIgnoredArguments checks which arguments are ignored, and that arguments which would change something are refused.
func TestIgnoredArguments(t *testing.T) {
	for _, tt := range []struct {
		args string
		code int
	}{
		{"-NoProfile -NonInteractive -NoLogo -Sta -Mta -c exit", 0},
		{"-nop -ep bypass -c exit", 0},
		{"-nol -noninter -execu bypass -win hidden -comm exit", 0},
		{"-no -c exit", 1},
		{"-noe -c exit", 0},
		{"-encod ZQB4AGkAdAA=", 0},
		{"-ExecutionPolicy RemoteSigned -c exit", 0},
		{"-ExecutionPolicy Unrestricted -WindowStyle Hidden -c exit", 0},
		{"-OutputFormat Text -InputFormat text -c exit", 0},
		{"-OutputFormat XML -c exit", 1},
		{"-InputFormat XML -c exit", 1},
		{"-ExecutionPolicy AllSigned -c exit", 1},
		{"-ExecutionPolicy Restricted -c exit", 1},
		{"-ExecutionPolicy", 1},
		{"-WindowStyle Large -c exit", 1},
		{"-NoExit -c exit", 0},
		{"-Version 5.1 -c exit", 0},
		{"-Version 2 -c exit", 1},
		{"-WorkingDirectory / -c exit", 1},
		{"-c", 1},
		{"-f", 1},
		{"-enc", 1},
	} {
		got := run(t, t.TempDir(), nil, strings.Fields(tt.args)...)
		if got.code != tt.code || (tt.code == 1) != strings.Contains(got.errs, "Nothing was run") {
			t.Errorf("%s: %+v, want %d", tt.args, got, tt.code)
		}
	}
}

// TestStandardInput checks that -Command - reads a script from standard input.
func TestStandardInput(t *testing.T) {
	var out bytes.Buffer
	s := Session{
		Args:    []string{"-Command", "-"},
		Stdin:   strings.NewReader("echo one\necho two\n"),
		Stdout:  &out,
		Stderr:  &out,
		Newline: "\n",
	}
	if code := s.Run(t.Context()); code != 0 || out.String() != "one\ntwo\n" {
		t.Errorf("%d, %q", code, out.String())
	}
}

// encoded returns a script as -EncodedCommand takes it: base64 of UTF-16, the low byte first.
func encoded(script string) string {
	var data []byte
	for _, u := range utf16.Encode([]rune(script)) {
		data = append(data, byte(u), byte(u>>8))
	}
	return base64.StdEncoding.EncodeToString(data)
}

// TestEncoding checks that decode returns what encoded was given.
func TestEncoding(t *testing.T) {
	for _, text := range []string{"", "a", "ä€😀", "\x00\n"} {
		if got, err := decode(encoded(text)); err != nil || got != text {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
	if _, err := decode("YQ=="); err == nil {
		t.Error("half a character is read")
	}
}
