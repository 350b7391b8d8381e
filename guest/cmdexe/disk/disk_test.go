package disk

import (
	"strings"
	"testing"
)

func TestBegins(t *testing.T) {
	d := Disk{Root: t.TempDir()}
	if err := d.MakeFolder(`C:\tools`); err != nil {
		t.Fatal(err)
	}
	f, err := d.Open(`C:\tools\Ping.exe`, Write)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	for path, want := range map[string]bool{
		`C:\tools\ping`: true, `C:\TOOLS\PING.E`: true, `C:\tools\`: true, `C:\tools\ping.exe`: true,
		`C:\tools\ping.exe.`: false, `C:\tools\pong`: false, `C:\nowhere\ping`: false,
	} {
		if got := d.Begins(path); got != want {
			t.Errorf("Begins(%q) = %t", path, got)
		}
	}
}

func TestFull(t *testing.T) {
	drives := func(drive byte) string { return strings.ToUpper(string([]byte{drive})) + `:\there` }
	for _, tt := range []struct{ name, want string }{
		{`a`, `C:\w\a`},
		{`.`, `C:\w`},
		{`..`, `C:\`},
		{`..\..\..\a`, `C:\a`},
		{`\a`, `C:\a`},
		{`a/b`, `C:\w\a\b`},
		{`a\.\b\..\c`, `C:\w\a\c`},
		{`C:a`, `C:\w\a`},
		{`D:a`, `D:\there\a`},
		{`D:\a\`, `D:\a`},
		{`a. `, `C:\w\a`},
		{`nul`, `\\.\NUL`},
		{`C:\x\NUL`, `\\.\NUL`},
		{`nul.txt`, `C:\w\nul.txt`},
		{`con`, `\\.\CON`},
		{`\\server\share\..\a`, `\\server\share\a`},
		{`\\?\unix\etc\..`, `\\?\unix\etc\..`},
		{`\\.\pipe\x`, `\\.\pipe\x`},
	} {
		if got := Full(tt.name, `C:\w`, drives); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
