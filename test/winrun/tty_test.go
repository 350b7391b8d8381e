//go:build wine

package winrun

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/test/tty"
)

// testLateSize starts a program on a terminal that has no size yet: a container engine makes it so, and hears later how
// large its user's window is.
func testLateSize(t *testing.T, p prefix) {
	t.Helper()
	cmd := p.command(t, "--", "prog", "size", "2")
	term := tty.Open(t, cmd, unix.Winsize{})
	term.Expect(t, " rows") // whatever the console takes it for
	term.Resize(t, 100, 30)
	term.Expect(t, "100 columns, 30 rows")
	if code := exitCode(t, cmd.Wait()); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// testTerminal types at a command prompt that is the main program of a container's first process.
func testTerminal(t *testing.T, p prefix) {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report")
	inner := p.command(t, "--report", report, "--", "cmd")
	cmd := exec.CommandContext(t.Context(), buildInit(t), append([]string{"--"}, inner.Args...)...)
	cmd.Env, cmd.Dir = append(inner.Env, "TERM=xterm"), inner.Dir
	term := tty.Open(t, cmd, unix.Winsize{Row: 30, Col: 100})
	term.Expect(t, `C:\>`)
	term.Send(t, "ver\r")
	term.Expect(t, "Microsoft Windows [Version 10.0.20348.2565]")
	term.Expect(t, `C:\>`)
	term.Send(t, "echo hello\x1b[D\x1b[D\x1b[DX\r") // the left arrow moves, typing inserts
	term.Expect(t, "\nheXllo\r")
	term.Expect(t, `C:\>`)
	term.Send(t, "\x1b[A") // the up arrow brings the last command back
	term.Expect(t, "echo heXllo")
	term.Send(t, "\r")
	term.Expect(t, `C:\>`)
	term.Send(t, "prog size 3\r")
	term.Expect(t, "100 columns, 30 rows")
	term.Resize(t, 132, 40)
	term.Expect(t, "132 columns, 40 rows")
	term.Resize(t, 60, 20)
	term.Expect(t, "60 columns, 20 rows")
	term.Expect(t, `C:\>`)
	term.Send(t, "echo äöü €\r")
	term.Expect(t, "äöü €\r")
	term.Expect(t, `C:\>`)
	term.Send(t, "prog sleep\r")
	term.Expect(t, "ready")
	term.Send(t, "\x03") // interrupts the program, not the prompt
	term.Expect(t, `C:\>`)
	term.Send(t, "echo code %errorlevel%\r") // STATUS_CONTROL_C_EXIT
	term.Expect(t, "\ncode -1073741510\r")
	term.Expect(t, `C:\>`)
	pressKeys(t, term)
	leaveUnread(t, term)
	interruptBatch(t, p, term)
	term.Send(t, "exit 5\r")
	if code := exitCode(t, cmd.Wait()); code != 5 {
		t.Errorf("exit code %d, want 5", code)
	}

	if lines, err := os.ReadFile(report); err != nil || !strings.Contains(string(lines), "\nexited 5\n") {
		t.Errorf("report %q, %v", lines, err)
	}
}

// pressKeys presses single keys for programs that wait for one: the prompt has its lines again after each.
func pressKeys(t *testing.T, term *tty.Terminal) {
	t.Helper()
	term.Send(t, "choice /c äbc /m which\r")
	term.Expect(t, "which [Ä,B,C]?")
	term.Send(t, "\x1b[A") // no character: it waits on
	term.Send(t, "ä")
	term.Expect(t, "Ä")
	term.Expect(t, `C:\>`)
	term.Send(t, "echo chosen %errorlevel%& pause\r")
	term.Expect(t, "\nchosen 1\r")
	term.Expect(t, "Press any key to continue")
	term.Send(t, "\x1b[Ax")
	term.Expect(t, `C:\>`)

	term.Send(t, "timeout /t 60\r")
	term.Expect(t, "press a key to continue")
	term.Send(t, "q")
	term.Expect(t, `C:\>`)

	term.Send(t, "copy con typed.txt\r")
	term.Send(t, "first\rsecond\r\x1b[17~\r") // F6: Wine's console has no key for the Ctrl+Z of a Linux terminal
	term.Expect(t, "1 file(s) copied.")
	term.Expect(t, `C:\>`)
	term.Send(t, "findstr /n . typed.txt\r")
	term.Expect(t, "\n1:first\r")
	term.Expect(t, "\n2:second\r")
	term.Expect(t, `C:\>`)

	term.Send(t, "copy con none.txt\r")
	term.Send(t, "given up\x03")
	term.Expect(t, `C:\>`)
	term.Send(t, "if not exist none.txt echo no file\r")
	term.Expect(t, "\nno file\r")
	term.Expect(t, `C:\>`)

	term.Send(t, "cls & (for /l %i in (1,1,60) do @echo row-%i)|more\r") // of 20 rows
	term.Expect(t, "row-19")
	term.Expect(t, "-- More  --")
	term.Send(t, " ")
	term.Expect(t, "row-38")
	term.Expect(t, "-- More  --")
	term.Send(t, "q")
	term.Expect(t, `C:\>`)
}

// leaveUnread has programs end while they read the console: what is typed next is the prompt's.
func leaveUnread(t *testing.T, term *tty.Terminal) {
	t.Helper()
	for i, how := range []string{"line", "keys", "file"} {
		term.Send(t, "prog unread "+how+"\r")
		term.Expect(t, "mode 0x")
		term.Expect(t, `C:\>`)
		term.Send(t, fmt.Sprintf("echo next-%d & echo.%d\r", i, 40+i))
		term.Expect(t, fmt.Sprintf("\nnext-%d", i))
		term.Expect(t, fmt.Sprintf("\n%d", 40+i))
		term.Expect(t, `C:\>`)
	}
}

// interruptBatch presses Ctrl+C while a batch file runs: the program ends, and the rest if that is wanted.
func interruptBatch(t *testing.T, p prefix, term *tty.Terminal) {
	t.Helper()
	const question = "Terminate batch job (Y/N)?"
	p.Write(t, "ctrlc.cmd", "@prog sleep\r\n@echo on>went.txt\r\n")
	p.Write(t, "pausing.cmd", "@pause\r\n@echo on>not-reached.txt\r\n")
	term.Send(t, "ctrlc\r")
	term.Expect(t, "ready")
	term.Send(t, "\x03")
	term.Expect(t, question)
	term.Send(t, "y\r")
	term.Send(t, "cls & echo cleared\r") // a console draws what is on it again: nothing of this is left to be taken for news
	term.Expect(t, "\ncleared")
	if _, err := os.Stat(p.Path("went.txt")); err == nil {
		t.Error("the batch file goes on after its end")
	}

	term.Send(t, "pausing\r")
	term.Expect(t, "Press any key to continue")
	term.Send(t, "\x03")
	term.Expect(t, question)
	term.Send(t, "y\r")
	term.Expect(t, `C:\>`)
	if _, err := os.Stat(p.Path("not-reached.txt")); err == nil {
		t.Error("the batch file goes on after its end")
	}
}

// buildNodestats builds the program from the module that kubelet.exe is built from.
func buildNodestats(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	cmd := exec.CommandContext(t.Context(), "go", "-C", "../../upstream/cluster/kubernetes", "build", "-trimpath", "-o", out, "./nodestats")
	cmd.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build nodestats: %v\n%s", err, text)
	}
	return out
}

func buildInit(t *testing.T) string {
	t.Helper()
	return build(t, "mullion.dev/mullion/cmd/mullion-init", "linux")
}

// testInit ends a Windows program with a Linux signal to the container's first process.
func testInit(t *testing.T, p prefix) {
	t.Helper()
	for _, tt := range []struct {
		name string
		sig  syscall.Signal
		line string
	}{{"sigterm", syscall.SIGTERM, "got terminated"}, {"sigint", syscall.SIGINT, "got interrupt"}} {
		t.Run(tt.name, func(t *testing.T) {
			// By the report the first process knows whom to tell.
			report := filepath.Join(t.TempDir(), "report")
			inner := p.command(t, "--report", report, "--", "prog", "signal")
			cmd := exec.CommandContext(t.Context(), buildInit(t), append([]string{"--"}, inner.Args...)...)
			cmd.Env, cmd.Dir = inner.Env, inner.Dir
			r := startReady(t, cmd)
			if err := cmd.Process.Signal(tt.sig); err != nil {
				t.Fatal(err)
			}

			if line := r.next(); line != tt.line {
				t.Errorf("the program said %q, want %q", line, tt.line)
			}
			if code := exitCode(t, cmd.Wait()); code != 42 {
				t.Errorf("exit code %d, want 42", code)
			}
		})
	}
}

// testCounters reads the node's statistics with the kubelet's own code and compares them with the kernel's.
func testCounters(t *testing.T, p prefix) {
	t.Helper()
	p.CopyIn(t, buildNodestats(t), "nodestats.exe")
	t.Run("statuses", func(t *testing.T) {
		want := []string{
			`\Memory\Committed Bytes 0x00000000`, `\MEMORY\% COMMITTED BYTES IN USE 0x00000000`, `\Process(_Total)\Working Set - Private 0x00000000`,
			`\Processor(_Total)\% Processor Time 0x00000000`, `\Network Adapter(*)\Packets Outbound Errors 0x00000000`, `\\host\System\Processes 0x00000000`,
			`\Memory\Nothing 0xc0000bb9`, `\Nothing\Committed Bytes 0xc0000bb8`, `nothing 0xc0000bc0`, `\Processor\% Idle Time 0x800007d1`,
		}
		args := []string{"--", "nodestats"}
		for _, line := range want {
			args = append(args, line[:strings.LastIndex(line, " ")])
		}

		if got := p.run(t, args...); got.out != strings.Join(want, "\n")+"\n" {
			t.Errorf("%+v", got)
		}
	})

	t.Run("figures", func(t *testing.T) {
		got := p.run(t, "--", "nodestats")
		var stats struct {
			CPU     struct{ Usage struct{ Total uint64 } }
			Memory  struct{ Usage, WorkingSet uint64 }
			Network struct{ Interfaces []struct{ Name string } }
		}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(got.out, "working_set", "WorkingSet")), &stats); err != nil {
			t.Fatalf("%+v: %v", got, err)
		}

		if stats.CPU.Usage.Total == 0 {
			t.Error("no processor time used")
		}
		checkNear(t, "memory usage", stats.Memory.Usage, meminfo(t, "MemTotal")-meminfo(t, "MemAvailable"))
		checkNear(t, "working set", stats.Memory.WorkingSet, meminfo(t, "AnonPages"))
		links, err := os.ReadDir("/sys/class/net")
		if err != nil {
			t.Fatal(err)
		}

		if len(stats.Network.Interfaces) == 0 || len(stats.Network.Interfaces) >= len(links)+5 {
			t.Errorf("interfaces %v, the kernel has %d", stats.Network.Interfaces, len(links))
		}
		for _, i := range stats.Network.Interfaces {
			if i.Name == "lo" {
				t.Error("the loopback is counted")
			}
		}
	})
}

// checkNear allows for what other programs do between two looks.
func checkNear(t *testing.T, what string, got, want uint64) {
	t.Helper()
	if got < want/2 || got > want*2 {
		t.Errorf("%s %d, the kernel says %d", what, got, want)
	}
}

// meminfo returns a line of /proc/meminfo in bytes.
func meminfo(t *testing.T, key string) uint64 {
	t.Helper()
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	var kb uint64
	if _, err := fmt.Sscanf(string(text)[strings.Index(string(text), key+":"):], key+": %d kB", &kb); err != nil {
		t.Fatal(err)
	}
	return kb * 1024
}

// testPrompts types at the prompts of both shells as a person does in `kubectl exec -it`: in the line k9s has for its
// shell, with completion, history, colours, Ctrl+C and a window that becomes smaller. Wine's console moves over a blank
// that it has to draw where there is one, so the test looks at what lines say, not at the lines.
func testPrompts(t *testing.T, p prefix) {
	t.Helper()
	p.Write(t, "typed words.txt", "of a file\r\n")
	report := filepath.Join(t.TempDir(), "report")
	inner := p.command(t, "--report", report, "--", "cmd", "/c", "where powershell >nul 2>&1 && powershell || cmd")
	cmd := exec.CommandContext(t.Context(), buildInit(t), append([]string{"--"}, inner.Args...)...)
	cmd.Env, cmd.Dir = append(inner.Env, "TERM=xterm"), inner.Dir
	term := tty.Open(t, cmd, unix.Winsize{Row: 30, Col: 100})
	term.Expect(t, `PS C:\>`)
	term.Send(t, "$planet = 'Ear' + 'th'\r")
	term.Expect(t, `PS C:\>`)
	term.Send(t, "$plan\t.Len\t + 1000\r") // a variable and a member of its value
	term.Expect(t, "1005")
	term.Expect(t, `PS C:\>`)
	term.Send(t, "get-cont\t .\\typed\t\r") // a cmdlet and a path
	term.Expect(t, "of a file")
	term.Expect(t, `PS C:\>`)
	term.Send(t, "\x1b[A\x1b[A\x7f\x7f\x7f\x7f3000\r") // up, twice, and backspace
	term.Expect(t, "3005")
	term.Expect(t, `PS C:\>`)

	term.Send(t, "half of a line\x03")
	term.Expect(t, "^C")
	term.Expect(t, `PS C:\>`)
	term.Send(t, "Start-Sleep 600; 'not ' + 'reached'\r")
	term.Expect(t, "reached'\r")
	term.Send(t, "\x03")
	term.Expect(t, `PS C:\>`)
	term.Send(t, "'still ' + 'here'\r")
	term.Expect(t, "still here")
	term.Expect(t, `PS C:\>`)

	term.Resize(t, 60, 20)
	term.Send(t, "while ([Console]::WindowWidth -ne 60) { Start-Sleep -Milliseconds 50 }; 'narrow' + 'er'\r")
	term.Expect(t, "narrower")
	term.Send(t, "cmd /k\r") // a shell in the shell has the same terminal
	term.Expect(t, `C:\>`)
	term.Send(t, "type typed\t\r")
	term.Expect(t, "of a file")
	term.Expect(t, `C:\>`)
	term.Send(t, "exit 5\r")
	term.Expect(t, `PS C:\>`)
	term.Send(t, "'code ' + $LASTEXITCODE\r")
	term.Expect(t, "code 5")
	term.Expect(t, `PS C:\>`)

	term.Send(t, "exit\r") // with another code than 0, the line would go on with cmd
	if code := exitCode(t, cmd.Wait()); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}
