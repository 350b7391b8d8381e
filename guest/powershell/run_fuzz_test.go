package powershell

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/engine"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/session"
)

// harmless returns the cmdlets that a script of FuzzRun may call: they touch no file, no process and nothing of
// Windows.
func harmless() cmdlet.Table {
	names := []string{
		"ForEach-Object", "Where-Object", "Select-Object", "Sort-Object", "Group-Object", "Measure-Object", "Write-Output",
		"Write-Error", "Write-Warning", "Out-Null", "Out-String", "Format-Table", "Format-List", "ConvertTo-Json",
		"ConvertFrom-Json", "ConvertTo-Csv", "Get-Member", "Get-Unique", "Compare-Object", "Set-StrictMode",
		"Get-Variable", "Set-Variable", "New-Variable", "Remove-Variable", "Select-String",
	}
	return slices.DeleteFunc(Cmdlets(), func(c cmdlet.Cmdlet) bool { return !slices.Contains(names, c.Name) })
}

// reaches matches what a script could use to reach files, programs or much memory: redirections, paths, static members
// other than those of numbers and texts, script files, large numbers.
var reaches = regexp.MustCompile(`(?i)[>/\\~]|\.ps|\d{6}|\d[kmgtp]b|\de|0x|` +
	`\[[^\]]*(io\.|net|file|path|directory|process|environment|web|timer|console|thread|diagnostic)`)

// allowedStatics are the static members that such a script may use.
var allowedStatics = regexp.MustCompile(`(?i)\[(math|int|string|char|enum|[a-z])\]::`)

// mayRun reports whether a text is harmless when it is run.
func mayRun(text string) bool {
	return len(text) < 4096 && !reaches.MatchString(text) &&
		!strings.Contains(allowedStatics.ReplaceAllString(text, ""), "::")
}

// FuzzRun checks that a script ends within the steps that it may take, and that nothing that it does ends the process:
// a script's error is an error of the script.
func FuzzRun(f *testing.F) {
	for _, folder := range []string{"late", "ended"} {
		for _, script := range scripts(f, folder) {
			if mayRun(script) {
				f.Add(script)
			}
		}
	}

	for _, seed := range []string{
		"function f { f } f", "$b = { 1 | % $b }; & $b", "$a = ,$a; $a.b.c[0] = 1",
		"$h = @{}; $h.a = $h; $h | ConvertTo-Json -Depth 9", "1..99999 | % { $_ } | Select-Object -First 3",
		":a foreach ($i in 1..3) { :b while ($true) { continue a } }", "[ref]$x; $x = 1; $r = [ref]$x; $r.Value = $r; \"$r\"",
		"class A { $X = [A]::new() } [A]::new()", "class A : A { }", "class A : B { } class B : A { } [A]::new()",
		"class A { [string] ToString() { return \"$this\" } } \"$([A]::new())\"", "enum E { A = [E]::B; B = [E]::A } [E]::A",
		"try { throw 1 } catch { throw } finally { break }", "trap { continue } 1 + 'x'; $null.x()", "-join @($null, (1, 2))",
		"switch (1..3) { { $_ } { continue } default { break } }", "$x = 1; $x.y = 2; $x[1] = 2; $x::y", "'{0:N99}' -f 1",
		"foreach ($x in $(foreach ($y in 1..9) { $y })) { $x++; --$x }", "'a' -match '('; 'a' -replace 'a', '$1$0'; 'x' -split ''",
		"do { } until ($true)", "for (;;) { }", "1..0 -join ','; (1..9)[-1..1]; 'abc'[5]; @()[0]", "& { param($a, [int]$b = $a) $b } 'x'",
		"[int]'x'; [char]300; [string]1, 2; [enum]::GetNames([DayOfWeek])", "$Error.Clear(); $Error[0].Exception.InnerException",
	} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, text string) {
		if !mayRun(text) {
			return
		}
		script, err := lang.Parse(text, "", dotnet.KnownType)
		if err != nil {
			return
		}

		st := &session.State{
			Context: t.Context(),
			Whole:   t.Context(),
			Newline: "\n",
			Stdin:   strings.NewReader(""),
			Stdout:  io.Discard,
			Stderr:  io.Discard,
			Env:     map[string]string{},
			Dir:     t.TempDir(),
			System:  stageWindows(),
			Steps:   5_000,
		}

		in := engine.New(st, harmless())
		defer in.Close()
		defer in.Enter(script)()
		err = in.Top.RunScript(script, nil, engine.Feed{}, in.Screen)
		in.Format.End()
		if err != nil {
			_ = (&Session{Stdout: io.Discard, Stderr: io.Discard}).code(in, work{}, err)
		}
	})
}
