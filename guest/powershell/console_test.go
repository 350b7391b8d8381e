package powershell

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/lineedit"
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/completion"
	"mullion.dev/mullion/guest/powershell/engine"
)

// desk is a console that a test has: it types lines, and what is painted is in the output in brackets.
type desk struct {
	out     io.Writer
	lines   []string
	columns int
}

func (d *desk) Columns() int { return d.columns }

func (d *desk) Rows() int { return 43 }

func (d *desk) Paint(fore, back string) func() {
	fmt.Fprintf(d.out, "<%s on %s>", fore, back)
	return func() { fmt.Fprint(d.out, "</>") }
}

func (d *desk) Typed() bool { return true }

// ReadLine takes the next line. A tab in it is the first completion there; ^C gives the line up.
func (d *desk) ReadLine(e *lineedit.Editor, prompt string, _ func() bool) (string, error) {
	if len(d.lines) == 0 {
		return "", io.EOF
	}
	line := d.lines[0]
	d.lines = d.lines[1:]
	if line == "^C" {
		return "", lineedit.ErrInterrupted
	}

	for {
		before, after, found := strings.Cut(line, "\t")
		if !found {
			break
		}
		c := e.Complete(before, len([]rune(before)))
		if len(c.Matches) > 0 {
			before = string([]rune(before)[:c.Start]) + c.Matches[0]
		}
		line = before + after
	}
	fmt.Fprintf(d.out, "%s%s\n", prompt, line)
	return line, nil
}

// atDesk types lines at a console, and returns what it shows.
func atDesk(t *testing.T, columns int, lines ...string) string {
	t.Helper()
	t.Chdir(t.TempDir())
	var out strings.Builder
	s := &Session{
		Args:    []string{"-NoLogo"},
		Stdin:   strings.NewReader(""),
		Stdout:  &out,
		Stderr:  &out,
		Newline: "\n",
		Console: &desk{
			out:     &out,
			lines:   lines,
			columns: columns,
		},
		windows: stageWindows(),
		Environ: []string{"PATH=" + filepath.Join(t.TempDir(), "none")},
	}
	if code := s.Run(t.Context()); code != 0 {
		t.Errorf("exit code %d", code)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(out.String(), "PS "+dir+">", "PS>")
}

// TestAtConsole: what a person types at a console, and what it shows: history, the function prompt, colours as those of
// $Host.PrivateData, and tables as wide as the window.
func TestAtConsole(t *testing.T) {
	for name, tt := range map[string]struct {
		columns int
		lines   []string
		want    string
	}{
		"completion": {80, []string{"Get-Dat\t -Form\t yyyy | Out-N\t"}, "PS> Get-Date -Format yyyy | Out-Null\n\n"},
		"history": {
			80,
			[]string{"'one'", "throw 'x'", "^C", "if (1) {", "'two' }", "h", "r 1", "(Get-History -Id 2).ExecutionStatus", "ghy -Count 1"},
			"PS> 'one'\none\nPS> throw 'x'\n<red on black>x\nAt line:1 char:1\n+ throw 'x'\n+ ~~~~~~~~~\n" +
				"    + CategoryInfo          : OperationStopped: (x:String) [], RuntimeException\n    + FullyQualifiedErrorId : x\n \n</>" +
				"PS> if (1) {\n>> 'two' }\ntwo\nPS> h\n\n  Id CommandLine\n  -- -----------\n   1 'one'\n   2 throw 'x'\n   3 if (1) {...\n\n" +
				"PS> r 1\n'one'\none\nPS> (Get-History -Id 2).ExecutionStatus\nFailed\n" +
				"PS> ghy -Count 1\n\n  Id CommandLine\n  -- -----------\n   6 (Get-History -Id 2).ExecutionStatus\n\n\n",
		},
		"a password is asked for": {
			80,
			[]string{"$c = Get-Credential me", "secret", "$c.GetNetworkCredential().Password", "Read-Host -AsSecureString -Prompt x; 'after'", "^C", "'on'"},
			"PS> $c = Get-Credential me\n\nWindows PowerShell credential request\nEnter your credentials.\n" +
				"Password for user me: secret\nPS> $c.GetNetworkCredential().Password\nsecret\n" +
				"PS> Read-Host -AsSecureString -Prompt x; 'after'\nPS> 'on'\non\n\n",
		},
		"the prompt elsewhere": {
			80,
			[]string{"cd hklm:/software", "cd Mullion", "cd .."},
			"PS> cd hklm:/software\nPS HKLM:\\software> cd Mullion\nPS HKLM:\\software\\Mullion> cd ..\n\n",
		},
		"a prompt of one's own": {
			80,
			[]string{"function prompt { \"<$(1+1)> \" }", "'x'", "function prompt { throw 'no' }", "'y'"},
			"PS> function prompt { \"<$(1+1)> \" }\n<2> 'x'\nx\n<2> function prompt { throw 'no' }\nPS>'y'\ny\n\n",
		},
		"colours": {
			80,
			[]string{"Write-Warning no", "Write-Host -ForegroundColor Green yes", "Write-Host plain", "{"},
			"PS> Write-Warning no\n<yellow on black>WARNING: no\n</>PS> Write-Host -ForegroundColor Green yes\n<Green on >yes\n</>" +
				"PS> Write-Host plain\nplain\nPS> {\n\n",
		},
		"width": {
			40,
			[]string{"[pscustomobject]@{A='a long text of many words'; B='another long text of words'}", "[Console]::WindowWidth"},
			"PS> [pscustomobject]@{A='a long text of many words'; B='another long text of words'}\n\n" +
				"A                   B\n-                   -\na long text of m... another long tex...\n\n" +
				"PS> [Console]::WindowWidth\n40\n\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, atDesk(t, tt.columns, tt.lines...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// complete returns the completions behind a text, in a session in which some commands have run. The cursor is at |.
func complete(t *testing.T, text string, before ...string) (start int, matches []string) {
	t.Helper()
	in := engine.New((&Session{
		Newline: "\n", Stdout: io.Discard, Stderr: io.Discard, windows: stageWindows(),
		Environ: []string{"PATH=" + filepath.Join("..", "bin"), "COMPUTERNAME=HERE", "COMPLUS=1"},
	}).state(t.Context()), Cmdlets())
	defer in.Close()
	s := Session{
		Stdout:  io.Discard,
		Stderr:  io.Discard,
		Newline: "\n",
	}
	for _, command := range before {
		s.runCommand(in, command, nil)
	}
	at := strings.LastIndex(text, "|")
	line, cursor := text[:at]+text[at+1:], len([]rune(text[:at]))
	c := completion.At(completion.Session{Scope: in.Top, State: in.State}, "", line, cursor)
	return c.Start, c.Matches
}

// TestCompletion: what Tab offers. The order and the form are those of TabExpansion2 in 5.1: cmdlets before aliases
// before programs, parameters in the order of the cmdlet, methods with their bracket, paths of the folder with .\.
func TestCompletion(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"here/a file.txt", "here/alpha.txt", "here/inner/x", "bin/tool-one", "it's/x", "two/the file", "two/the file (x86)"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir("here")

	setup := []string{
		"$planet = 'Earth'", "$place = [pscustomobject]@{City='Bern'; Code=3000}", "$table = @{Alpha=1; Beta=@{Gamma=2}}",
		"${two words} = 1", "$list = @($place)", "function Get-Planet([string]$Name, [switch]$Large) { }",
		"Set-Alias gplanet Get-Planet",
	}
	for text, want := range map[string]string{
		"Get-Plan|":                           "0 Get-Planet",
		"get-servi|":                          "0 Get-Service",
		"gplan|":                              "0 gplanet",
		"tool|":                               "0 tool-one",
		"$x = Get-Plan|":                      "5 Get-Planet",
		"$x=Get-Plan|":                        "3 Get-Planet",
		"if ($true) { Get-Plan|":              "13 Get-Planet",
		"dir | Sort-Obj|":                     "6 Sort-Object",
		"dir; Sort-Obj|":                      "5 Sort-Object",
		"'a' # Get-Plan|":                     "",
		"Get-Planet -N|":                      "11 -Name",
		"Get-Planet -L| x":                    "11 -Large",
		"Get-Process -Na|":                    "12 -Name",
		"gps -Na|":                            "4 -Name",
		"Get-Item x -ErrorA|":                 "11 -ErrorAction",
		"Get-Item x -ErrorAction Si|":         "24 SilentlyContinue",
		"Get-Date -Uf|":                       "9 -UFormat",
		"Write-Host -ForegroundColor DarkBl|": "28 DarkBlue",
		"Get-Service kub|":                    "12 kubelet",
		"Stop-Process -Name kubelet|":         "19 kubelet",
		"Get-Command Get-Plan|":               "12 Get-Planet",
		"$plan|":                              "0 $planet",
		"$PSVersionT|":                        "0 $PSVersionTable",
		"$tw|":                                "0 ${two words}",
		"$env:COMP|":                          "0 $env:COMPLUS $env:COMPUTERNAME",
		`"on $plan|`:                          "4 $planet",
		"'on $plan|":                          "",
		"$place.C|":                           "7 City Code",
		"$list[0].Ci|":                        "9 City",
		"$table.Beta.G|":                      "12 Gamma Get_Item( GetEnumerator( GetType(",
		"$planet.Sub|":                        "8 Substring(",
		"$planet.Length.ToS|":                 "15 ToString(",
		"$nothing.a|":                         "",
		"[System.IO.Pat|":                     "1 System.IO.Path",
		"[System.IO.Path]::GetTempP|":         "18 GetTempPath(",
		"[Math]::P|":                          "8 PI Pow(",
		"Get-Content al|":                     "12 ./alpha.txt",
		"Get-Content a|":                      "12 './a file.txt' ./alpha.txt",
		"Get-Content './a f|":                 "12 './a file.txt'",
		`Get-Content "./a f|`:                 `12 "./a file.txt"`,
		"Get-Content ../it|":                  "12 '../it''s'",
		"Get-Content inner/|":                 "12 inner/x",
		"Get-Content ../two/|":                "12 '../two/the file' '../two/the file (x86)'",
		"cd |":                                "3 ./inner",
		"./al|":                               "0 ./alpha.txt",
		"./a |":                               "4 './a file.txt' ./alpha.txt ./inner",
		"& './a f|":                           "2 './a file.txt'",
		"'./a f|":                             "0 & './a file.txt'",
		"Get-Item a,al|":                      "11 ./alpha.txt",
		"Get-Item env:COMPL|":                 "9 env:COMPLUS",
		"(Get-Item al|":                       "10 ./alpha.txt",
		"(Get-Item al).Fu|":                   "",
		"Get-Item HKLM:\\SOFT|":               "9 HKLM:\\SOFTWARE",
		"nothing-like-this|":                  "",
	} {
		start, matches := complete(t, text, setup...)
		got := ""
		if len(matches) > 0 {
			got = fmt.Sprint(start, " ", strings.Join(matches, " "))
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestCompletionElsewhere: what Tab offers where the location is no folder, and on drives that were made.
func TestCompletionElsewhere(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("top/deep", 0o755); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`cd Mul|`:                `.\Mullion`,
		`Get-Item \SOFTWARE\M|`:  `\SOFTWARE\Mullion`,
		`Get-ChildItem data:/d|`: "data:/deep",
	} {
		_, matches := complete(t, text, "New-PSDrive Data FileSystem top", `cd HKLM:\SOFTWARE`)
		if got := strings.ReplaceAll(strings.Join(matches, " "), "./", `.\`); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestParametersAreWritten: how each parameter of each cmdlet is written, for its completion.
func TestParametersAreWritten(t *testing.T) {
	for _, c := range Cmdlets() {
		for _, name := range append(append([]string(nil), c.Values...), c.Flags...) {
			if written := cmdlet.Written(name); written == name {
				t.Errorf("cmdlet/written.txt does not say how -%s of %s is written", name, c.Name)
			}
		}
	}
}

// FuzzCompletion completes any text at any place: it ends, and its bounds are within the line.
func FuzzCompletion(f *testing.F) {
	for _, text := range []string{"Get-It", "$x.Le", "[math]::", "(a {b \"c $(", "'a''b", "a`", "@{a='x'}", "C:\\", "#", "}})"} {
		f.Add("if (1) {\n", text, uint8(len(text)))
	}
	dir := f.TempDir()
	in := engine.New((&Session{Newline: "\n", windows: stageWindows()}).state(f.Context()), Cmdlets())
	in.Dir = dir
	f.Fuzz(func(t *testing.T, before, line string, at uint8) {
		cursor := int(at) % (len([]rune(line)) + 1)
		c := completion.At(completion.Session{Scope: in.Top, State: in.State}, before, line, cursor)
		if len(c.Matches) > 0 && (c.Start > c.End || c.End != cursor) {
			t.Errorf("%q at %d: %+v", line, cursor, c)
		}
	})
}
