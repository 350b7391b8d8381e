package shell

import (
	"context"
	"strings"

	"mullion.dev/mullion/guest/cmdexe/switches"
)

// help is what /? prints.
const help = "Starts a new instance of the Windows command interpreter\r\n\r\n" +
	"CMD [/A | /U] [/Q] [/D] [/E:ON | /E:OFF] [/F:ON | /F:OFF] [/V:ON | /V:OFF]\r\n    [[/S] [/C | /K] string]\r\n"

// Main runs cmd.exe with a command line, and returns its exit code.
func Main(ctx context.Context, o Options) int32 {
	asked := switches.Parse(o.CommandLine, New(o).isProgram)
	o.Quiet = asked.Quiet
	o.Delayed = asked.Delayed
	o.Extensions = !asked.NoExtensions
	s := New(o)
	s.complete()

	if asked.Help {
		s.print("%s", help)
		return 1
	}
	if !asked.Run {
		s.print("Microsoft Windows [Version %s]\r\n", o.System.Version())
		return s.Prompt(ctx)
	}

	code, ended := s.Line(ctx, asked.Command)
	if asked.Keep && !ended {
		return s.Prompt(ctx)
	}
	return code
}

// isProgram reports whether a name is one of a program's file.
func (s *Shell) isProgram(name string) bool {
	_, err := s.find(name)
	return err == nil
}

// complete adds the variables that cmd.exe sets if they are missing.
func (s *Shell) complete() {
	for name, value := range map[string]string{
		"PATHEXT": ".COM;.EXE;.BAT;.CMD;.VBS;.VBE;.JS;.JSE;.WSF;.WSH;.MSC", "PROMPT": "$P$G",
	} {
		if _, ok := s.env.get(name); !ok {
			s.env.set(name, value)
		}
	}

	if _, ok := s.env.get("COMSPEC"); !ok {
		if root, ok := s.env.get("SystemRoot"); ok {
			s.env.set("COMSPEC", strings.TrimRight(root, `\`)+`\system32\cmd.exe`)
		}
	}
}
