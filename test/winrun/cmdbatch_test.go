//go:build wine

package winrun

import (
	"strings"
	"testing"
)

// cmdLines are a part of what package shell tests, on this Windows: its programs, consoles, pipes and files.
var cmdLines = []struct {
	name, line, out, err string
	code                 int
}{
	{"and_after_failure", `prog exit 3 && echo a`, "", "", 3},
	{"and_or", `prog exit 0 && echo a || echo b`, "a \n", "", 0},
	{"and_or_failure", `cmd /c exit 3 && echo a || echo b`, "b\n", "", 0},
	{
		"unknown", `nosuch`, "", "'nosuch' is not recognized as an internal or external command,\noperable program or batch file.\n", 1,
	},
	{"block_piped", `(echo b& echo a) | sort`, "a\nb\n", "", 0},
	{"block_filtered", `(echo one& echo two& echo three) | findstr /v two`, "one\nthree\n", "", 0},
	{"find", `(echo one& echo Two& echo two) | find /c /i "two"`, "2\n", "", 0},
	{"find_inverted", `(echo one& echo two) | find /v /n "one"`, "[2]two\n", "", 0},
	{"for_quoted_wild_card", `for %f in ("C:\batch\*.txt") do @echo %~nxf`, "a b.txt\nc.txt\n", "", 0},
	{"set_p_from_a_file", `set /p v=<C:\batch\c.txt& set v`, "v=first\n", "", 0},
	{"choice", `choice /t 1 /d n <nul`, "[Y,N]?N\n", "", 2},
	{"for_f_of_a_program", `for /f "tokens=2 delims==" %v in ('set SystemRoot') do @echo %v`, "C:\\windows\n", "", 0},
	{"raw_line", `prog args "a b"  c"d" e^&f \"`, "", "", 0},
	{"errors_to_output", `type C:\none 2>&1`, "The system cannot find the file specified.\n", "", 1},
	{"folder_missing", `type C:\none\none`, "", "The system cannot find the path specified.\n", 1},
	{"appended", `echo a>C:\batch\n& echo b>>C:\batch\n& type C:\batch\n & del C:\batch\n & if not exist C:\batch\n echo gone`, "a\nb\ngone\n", "", 0},
	{"program_appends", `cmd /c echo a>C:\batch\o& sort C:\batch\c.txt>>C:\batch\o& type C:\batch\o& del C:\batch\o`, "a\nfirst\nsecond\n", "", 0},
	{"nul", `(echo a>NUL) & type NUL & copy nul C:\batch\e >nul & dir /b C:\batch\e & del C:\batch\e`, "e\n", "", 0},
	{"link", `mklink C:\batch\l C:\batch\c.txt >nul & type C:\batch\l & del C:\batch\l & type C:\batch\c.txt | find /c "s"`, "first\nsecond\n2\n", "", 0},
	{"folder_link", `mklink /d C:\batch\f C:\tools >nul & dir C:\batch | find "<SYMLINKD>" >nul && rd C:\batch\f & dir /b C:\tools\tool.exe`, "tool.exe\n", "", 0},
	{"trees", `md C:\batch\x\y & echo a>C:\batch\x\y\z & attrib +r C:\batch\x\y\z & rd /s /q C:\batch\x & if not exist C:\batch\x echo gone`, "gone\n", "", 0},
	{"letters", `echo ä€ü & set v=größe& call echo %v:~2,1%`, "ä€ü \nö\n", "", 0},
	{"batch_with_arguments", `C:\batch\run.cmd "one two" three`, "-Xmx64m\nC:\\batch\nrun.cmd\none two\nthree\n", "", 0},
	{"batch_fails", `set FAIL=1&& C:\batch\run.cmd || echo failed`, "failed\n", "", 0},
	{"exit_code_of_a_crash", `prog exit 3221225477`, "", "", 5},
	{"start_and_wait", `start /b /wait cmd /c exit 7`, "", "", 7},
	{"environment", `set "A=b c"&& prog env A`, "A=b c\n", "", 0},
	{"working_folder", `cd /d C:\tools && cmd /c cd`, "C:\\tools\n", "", 0},
}

// startScript has the form of the start scripts of Java tools.
const startScript = `@if "%DEBUG%"=="" @echo off
if "%OS%"=="Windows_NT" setlocal
set DIRNAME=%~dp0
for %%i in ("%DIRNAME%.") do set APP_HOME=%%~fi
set OPTS="-Xmx64m"
if defined FAIL goto fail
set CP=
for %%f in ("%DIRNAME%*.cmd") do call :append "%%~nxf"
for %%o in (%OPTS% "%APP_HOME%" "%CP%") do echo %%~o
:next
if "%~1"=="" exit /b 0
echo %~1
shift
goto next
:fail
exit /b 1
:append
if defined CP (set CP=%CP%;%~1) else (set CP=%~1)
exit /b 0
`

// testCmdLines runs command lines of cmd.exe.
func testCmdLines(t *testing.T, p prefix) {
	t.Helper()
	p.Write(t, "batch/a b.txt", "x\r\n")
	p.Write(t, "batch/c.txt", "first\r\nsecond\r\n")
	p.Write(t, "batch/run.cmd", strings.ReplaceAll(startScript, "\n", "\r\n"))
	for _, tt := range cmdLines {
		t.Run(tt.name, func(t *testing.T) {
			got := p.run(t, "--raw", "--", "cmd /c "+tt.line)
			if tt.name == "raw_line" { // as a program that is started without cmd.exe sees it
				want := p.run(t, "--raw", "--", `prog args "a b"  c"d" e&f \"`)
				tt.out = want.out
			}
			if got.out != tt.out || got.err != tt.err || got.code != tt.code {
				t.Errorf("%+v, want %+v", got, tt)
			}
		})
	}
}
