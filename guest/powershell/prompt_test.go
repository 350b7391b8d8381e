package powershell

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// typed runs a session on a folder with what is typed, and returns all that it printed, and its exit code.
func typed(t *testing.T, args []string, input string) (string, int) {
	t.Helper()
	t.Chdir(t.TempDir())
	var out strings.Builder
	s := &Session{
		Args: args, Stdin: strings.NewReader(input), Stdout: &out, Stderr: &out, Newline: "\n",
		Environ: []string{"COMPUTERNAME=HERE"},
	}
	code := s.Run(t.Context())
	return out.String(), code
}

// TestNoExit: what a script of -NoExit sets is there at the prompt, whose history it is not in; exit ends both.
func TestNoExit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "it's.ps1")
	if err := os.WriteFile(file, []byte("param($Name, $n)\n$kept = \"$Name $n\"; function f { 'f' }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args  []string
		input string
		want  string
		code  int
	}{
		"a command": {
			[]string{"-NoExit", "-Command", "$x = 5; $x"}, "$x + 1\n@(h).Count\nexit 3\n", "5\nPS> 6\nPS> 1\nPS> ", 3,
		},
		"an encoded one": {[]string{"-noe", "-ec", "JAB4ACAAPQAgADcA"}, "$x\n", "PS> 7\nPS> \n", 0},
		"a file":         {[]string{"-NoExit", "-File", file, "-n", "4", "it's"}, "$kept; f\n", "PS> it's 4\nf\nPS> \n", 0},
		"an end in it":   {[]string{"-NoExit", "-Command", "exit 4"}, "1\n", "", 4},
		"an error in it": {
			[]string{"-NoExit", "-Command", "throw 'no'"},
			"'on'\n",
			"no\nAt line:1 char:1\n+ throw 'no'\n+ ~~~~~~~~~~\n" +
				"    + CategoryInfo          : OperationStopped: (no:String) [], RuntimeException\n" +
				"    + FullyQualifiedErrorId : no\n \nPS> on\nPS> \n",
			0,
		},
		"no script": {[]string{"-NoExit", "-NoLogo", "-Version", "5.1"}, "1\n", "PS> 1\nPS> \n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			out, code := typed(t, tt.args, tt.input)
			got := regexp.MustCompile(`PS /[^>]*>`).ReplaceAllString(out, "PS>")
			if diff := cmp.Diff(tt.want, got); diff != "" || code != tt.code {
				t.Errorf("exit code %d, want %d; printed (-want +got):\n%s", code, tt.code, diff)
			}
		})
	}
}

// TestPrompt: what is typed at a prompt, and what is printed. The folder is left out of that.
func TestPrompt(t *testing.T) {
	for name, tt := range map[string]struct {
		input, want string
		code        int
	}{
		"a value is kept":                {"$x = 20\n$x + 22\n", "PS> PS> 42\nPS> \n", 0},
		"exit has a code":                {"exit 7\n1+1\n", "PS> ", 7},
		"the input ends":                 {"", "PS> \n", 0},
		"no end of line":                 {"1+1", "PS> 2\nPS> \n", 0},
		"a block of some lines":          {"if (1) {\n'yes'\n}\n", "PS> >> >> yes\nPS> \n", 0},
		"a pipeline goes on":             {"1,2 |\n% { $_ * 2 }\n", "PS> >> 2\n4\nPS> \n", 0},
		"a here-string in an expression": {"'a' + @'\nb\nc\n'@ + 'd'\n", "PS> >> >> >> ab\ncd\nPS> \n", 0},
		"a comment goes on":              {"<# a\nb #> 'c'\n", "PS> >> c\nPS> \n", 0},
		"a back quote goes on":           {"'a' `\n+ 'b'\n", "PS> >> ab\nPS> \n", 0},
		"an empty line ends it": {"if (1) {\n\n", "PS> >> At line:3 char:1\n+ \n" +
			"Missing closing '}' in statement block or type definition.\n" +
			"    + CategoryInfo          : ParserError: (:) [], ParentContainsErrorRecordException\n" +
			"    + FullyQualifiedErrorId : MissingEndCurlyBrace\n \nPS> \n", 0},
		"an error ends a line": {"throw 'no'\n'on'\n", "PS> no\nAt line:1 char:1\n+ throw 'no'\n+ ~~~~~~~~~~\n" +
			"    + CategoryInfo          : OperationStopped: (no:String) [], RuntimeException\n" +
			"    + FullyQualifiedErrorId : no\n \nPS> on\nPS> \n", 0},
		"a refusal ends a line": {
			"Optimize-Volume\n'on'\n",
			"PS> Optimize-Volume : The term 'Optimize-Volume' is not recognized as the name of a cmdlet, function, script " +
				"file, or operable program. Check the spelling of the name, or if a path was included, verify that the path " +
				"is correct and try again. In Mullion: Windows has the cmdlet Optimize-Volume, which is not part of Mullion's PowerShell.\n" +
				"At line:1 char:1\n+ Optimize-Volume\n+ ~~~~~~~~~~~~~~~\n" +
				"    + CategoryInfo          : ObjectNotFound: (Optimize-Volume:String) [], CommandNotFoundException\n" +
				"    + FullyQualifiedErrorId : CommandNotFoundException\n \n" +
				"PS> on\nPS> \n", 0,
		},
		"functions are kept": {"function f($a) {\n$a * 2 }\nf 4\n", "PS> >> PS> 8\nPS> \n", 0},
		"a table ends with its command": {
			"@{a=1}\n'on'\n",
			"PS> \nName                           Value\n----                           -----\n" +
				"a                              1\n\nPS> on\nPS> \n", 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, code := typed(t, []string{"-NoLogo"}, tt.input)
			got := regexp.MustCompile(`PS /[^>]*>`).ReplaceAllString(out, "PS>")
			if diff := cmp.Diff(tt.want, got); diff != "" || code != tt.code {
				t.Errorf("exit code %d, want %d; printed (-want +got):\n%s", code, tt.code, diff)
			}
		})
	}
}

// TestPromptOnAnInterrupt: Ctrl+C ends the command that runs, and the session goes on.
func TestPromptOnAnInterrupt(t *testing.T) {
	interrupts := make(chan struct{}, 1)
	var out strings.Builder
	s := &Session{
		Args: []string{"-nologo"}, Stdin: strings.NewReader("Start-Sleep 600\n'still here'\n"), Stdout: &out, Stderr: &out,
		Newline: "\n", Interrupts: func() <-chan struct{} { return interrupts },
	}
	time.AfterFunc(100*time.Millisecond, func() { interrupts <- struct{}{} })
	if code := s.Run(t.Context()); code != 0 || !strings.Contains(out.String(), "still here\n") {
		t.Errorf("exit code %d, printed %q", code, out.String())
	}
}

func TestLogo(t *testing.T) {
	if out, _ := typed(t, nil, "exit\n"); !strings.HasPrefix(out, "Mullion's PowerShell") {
		t.Errorf("printed %q", out)
	}
}

// TestLeftRunning: what a command leaves running does not end with that command, but with the session.
func TestOutlivesItsLine(t *testing.T) {
	t.Run("a job", func(t *testing.T) {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		t.Chdir(t.TempDir())
		var out strings.Builder
		s := &Session{
			Args: []string{"-NoLogo"}, Stdout: &out, Stderr: &out, Newline: "\n", Self: self,
			Stdin: strings.NewReader("$j = Start-Job { Start-Sleep -Milliseconds 300; 'done' }\n$j.State\n" +
				"Receive-Job $j -Wait\n$j.State\n"),
		}
		s.Run(t.Context())
		got := regexp.MustCompile(`PS /[^>]*> `).ReplaceAllString(out.String(), "")
		if diff := cmp.Diff("Running\ndone\nCompleted\n\n", got); diff != "" {
			t.Errorf("printed (-want +got):\n%s", diff)
		}
	})

	t.Run("a listener", func(t *testing.T) {
		const asked = 16 // one that is broken off might be answered by chance
		s := serveTyped(t, "$l = New-Object System.Net.HttpListener\n$l.Prefixes.Add('http://+:80/')\n$l.Start()\n"+
			strings.Repeat("$c = $l.GetContext()\n$c.Response.StatusCode = 204; $c.Response.Close()\n", asked), "-NoLogo")
		for range asked {
			if got := s.ask(t, "GET", "/", ""); got.StatusCode != http.StatusNoContent {
				t.Fatalf("answered %s", got.Status)
			}
		}
	})
}
