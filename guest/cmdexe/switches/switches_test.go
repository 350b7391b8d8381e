package switches

import "testing"

func TestParse(t *testing.T) {
	program := func(name string) bool { return name == `C:\a b\p.exe` }
	for _, tt := range []struct {
		line string
		want Options
	}{
		{`cmd`, Options{}},
		{`"C:\x y\cmd.exe" /q /d`, Options{Quiet: true}},
		{`cmd /c echo a`, Options{Run: true, Command: "echo a"}},
		{`cmd/c echo a`, Options{Run: true, Command: "echo a"}},
		{`cmd /cecho a`, Options{Run: true, Command: "echo a"}},
		{`cmd /k echo "a"`, Options{
			Run:     true,
			Keep:    true,
			Command: `echo "a"`,
		}},
		{`cmd /c "echo a"`, Options{Run: true, Command: "echo a"}},
		{`cmd /c "echo "a b""`, Options{Run: true, Command: `echo "a b"`}},
		{`cmd /c "C:\a b\p.exe"`, Options{Run: true, Command: `"C:\a b\p.exe"`}},
		{`cmd /s /c "C:\a b\p.exe"`, Options{Run: true, Command: `C:\a b\p.exe`}},
		{`cmd /c "C:\a b\p.exe" x`, Options{Run: true, Command: `"C:\a b\p.exe" x`}},
		{`cmd /c "C:\a b\p.exe" "x"`, Options{Run: true, Command: `C:\a b\p.exe" "x`}},
		{`cmd /c "C:\a b\p.exe" & x`, Options{Run: true, Command: `C:\a b\p.exe & x`}},
		{`cmd /v:on /e:off /q /c x`, Options{
			Run:          true,
			Delayed:      true,
			NoExtensions: true,
			Quiet:        true,
			Command:      "x",
		}},
		{`cmd /V /c x`, Options{
			Run:     true,
			Delayed: true,
			Command: "x",
		}},
		{`cmd /v:off /c x`, Options{Run: true, Command: "x"}},
		{`cmd /a /u /t:0a /f:on /c x`, Options{Run: true, Command: "x"}},
		{`cmd /c`, Options{Run: true}},
		{`cmd /c "`, Options{Run: true}},
		{`cmd words /c x`, Options{Run: true, Command: "x"}},
		{`cmd /?`, Options{Help: true}},
	} {
		t.Run(tt.line, func(t *testing.T) {
			if got := Parse(tt.line, program); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}
