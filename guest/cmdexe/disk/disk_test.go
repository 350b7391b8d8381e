package disk

import (
	"strings"
	"testing"
)

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
