package shell_test

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"mullion.dev/mullion/guest/cmdexe/shell"
)

// prompt gives cmd.exe its commands as a person does.
func prompt(t *testing.T, line, input string, interrupts func() bool) result {
	t.Helper()
	return promptFile(t, line, input, "", interrupts)
}

// promptFile does so where there is a batch file b.cmd.
func promptFile(t *testing.T, line, input, batch string, interrupts func() bool) result {
	t.Helper()
	m := newMachine(t)
	if batch != "" {
		m.write("w/b.cmd", batch)
	}

	in, out := m.file("input"), m.file("output")
	if _, err := in.WriteString(input); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Seek(0, 0); err != nil {
		t.Fatal(err)
	}

	o := m.options([]string{`PATH=C:\bin`, `PATHEXT=.EXE;.CMD`}, `C:\w`, [3]*os.File{in, out, out})
	o.CommandLine, o.Interrupts = line, interrupts
	code := shell.Main(t.Context(), o)
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}

	return result{strings.ReplaceAll(string(text), "\r\n", "\n"), "", code}
}

// file makes a file that is no drive's.
func (m *machine) file(name string) *os.File {
	m.t.Helper()
	f, err := os.Create(m.root + "/" + name)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestPrompt(t *testing.T) {
	const banner = "Microsoft Windows [Version 10.0.20348.2565]\n"
	for _, tt := range []struct {
		name, line, input, out string
		code                   int32
	}{
		{"quiet", "cmd /q", "echo a\nexit 3\necho b\n", banner + "a\n", 3},
		{"with_a_prompt", "cmd", "cd \\tmp\nset v=1\n", banner + "\nC:\\w>cd \\tmp\n\nC:\\tmp>set v=1\n\nC:\\tmp>", 0},
		{"after_a_command", "cmd /k echo a", "exit", "a\n\nC:\\w>exit\n", 0},
		{"exit_code_at_the_end", "cmd /q", "prog 5", banner, 5},
		{"several_lines", "cmd /q", "(\necho a\necho b\n) | sort\n", banner + "a\nb\n", 0},
		{"goes_on_after_an_error", "cmd /q", "if\necho b\n", banner + "The syntax of the command is incorrect.\nb\n", 255},
		{"more", "cmd", "echo ^\na\n", banner + "\nC:\\w>echo ^\nMore? a\na\n\nC:\\w>", 0},
		{"long_line", "cmd /q", strings.Repeat("x", 9000) + "\necho b\n", banner + "The input line is too long.\nb\n", 0},
		{
			"echo_off_ends_with_its_batch_file", "cmd", "echo @echo off>b.cmd\necho echo in>>b.cmd\nb.cmd\necho x\n",
			banner + "\nC:\\w>echo @echo off>b.cmd\n\nC:\\w>echo echo in>>b.cmd\n\nC:\\w>b.cmd\nin\n\nC:\\w>echo x\nx\n\nC:\\w>", 0,
		},
		{
			"for_shows_its_body", "cmd", "for %i in (1 2) do echo %i\n",
			banner + "\nC:\\w>for %i in (1 2) do echo %i\n\nC:\\w>echo 1 \n1\n\nC:\\w>echo 2 \n2\n\nC:\\w>", 0,
		},
		{"windows_are_not_waited_for", "cmd /q", "window\necho b\n", banner + "b\n", 0},
	} {
		t.Run(tt.name, func(t *testing.T) { check(t, prompt(t, tt.line, tt.input, nil), result{tt.out, "", tt.code}) })
	}
}

// TestInterrupt has the word of a Ctrl+C come after the command that it ended: the next one runs.
func TestInterrupt(t *testing.T) {
	var late atomic.Bool
	late.Store(true)
	got := prompt(t, "cmd /q", "echo a\nexit 5\n", func() bool { return late.Swap(false) })
	check(t, got, result{"Microsoft Windows [Version 10.0.20348.2565]\na\n", "", 5})

	var asked atomic.Int64
	got = prompt(t, "cmd /q", "for /l %i in (1,0,2) do rem\nexit 6\n", func() bool { return asked.Add(1) == 100 })
	check(t, got, result{"Microsoft Windows [Version 10.0.20348.2565]\n", "", 6})

	asked.Store(0) // in a batch file that has turned ECHO off: at the prompt it is on as before
	const batch = "echo @echo off^&for /l %%i in (1,0,2) do rem>b.cmd"
	got = prompt(t, "cmd", batch+"\nb\nwhat?\nyes\nexit 7\n", func() bool { return asked.Add(1) == 100 })
	const question = "^CTerminate batch job (Y/N)? "
	const shown = "\nC:\\w>" + batch + "\n\nC:\\w>b\n" + question + "what?\n" + question + "yes\n\nC:\\w>exit 7\n"
	check(t, got, result{"Microsoft Windows [Version 10.0.20348.2565]\n" + shown, "", 7})
}

// TestTerminateBatchJob: a batch file asks before Ctrl+C ends it. What ends as a program does that Ctrl+C has ended
// counts as such; who says no goes on with the next command, and no more input is a yes.
func TestTerminateBatchJob(t *testing.T) {
	const ended = -1073741510
	const question = "^CTerminate batch job (Y/N)? "
	const ctrlC = "prog -1073741510"
	for _, tt := range []struct {
		name, batch, input, out string
		code                    int32
	}{
		{"yes", ctrlC + "\necho x", "y\n", question + "y\n", ended},
		{"yes_in_a_word", ctrlC + "\necho x", "  Yes, do\n", question + "  Yes, do\n", ended},
		{"no", ctrlC + "\necho x", "n\n", question + "n\nx\n", ended},
		{"no_in_a_line", ctrlC + " & echo x %errorlevel%\n", "N\n", question + "N\nx 0\n", ended},
		{"no_in_a_loop", "for %%i in (1 2) do (\n" + ctrlC + "\necho %%i\n)\n", "n\nno\n", question + "n\n1\n" + question + "no\n2\n", ended},
		{"no_answer", ctrlC + "\necho x", "\nwhat\n", question + "\n" + question + "what\n" + question + "\n", ended},
		{"no_input", ctrlC + "\necho x", "", question + "\n", ended},
		{"nul", ctrlC + " <nul\necho x", "n\n", question + "n\nx\n", ended}, // nul is the program's alone
		{"the_last_command", "echo x\n" + ctrlC, "y\n", "x\n" + question + "y\n", ended},
		{"yes_ends_callers", "call :sub\necho x\nexit /b\n:sub\n" + ctrlC + "\necho y", "y\n", question + "y\n", ended},
		{"no_goes_on_in_it", "call :sub\necho x\nexit /b 3\n:sub\n" + ctrlC + "\necho y", "n\n", question + "n\ny\nx\n", 3},
		{"a_side_of_a_pipe", "echo a | " + ctrlC + "\necho x", "y\n", question + "y\n", ended},
		{"command_of_for", "for /f %%i in ('" + ctrlC + " ^& echo a') do echo %%i\necho x", "y\n", question + "y\n", ended},
		{"another_code", "prog 130\necho x", "y\n", "x\n", 130},
	} {
		t.Run(tt.name, func(t *testing.T) {
			check(t, promptFile(t, "cmd /q /c b.cmd", tt.input, tt.batch, nil), result{tt.out, "", tt.code})
		})
	}

	// A line that is no batch file's ends without a question.
	check(t, prompt(t, "cmd /q /c \""+ctrlC+" & echo x\"", "n\n", nil), result{"", "", ended})
}
