package console

import (
	"strings"

	"mullion.dev/mullion/guest/cmdexe/synopsis"
	"mullion.dev/mullion/guest/tools/program"
)

// Help is help.exe (https://learn.microsoft.com/windows-server/administration/windows-commands/help): it lists the
// commands of the prompt, or has cmd.exe say what one of them does.
func Help(e program.Env, sys Commander, args []string) int {
	switch {
	case len(args) == 0:
		e.Print("For more information on a specific command, type HELP command-name")
		for _, c := range synopsis.Commands() {
			e.Print("%-15s%s", c.Name, c.Summary)
			if c.Other != "" {
				e.Print("%-15s%s", c.Other, c.Summary)
			}
		}
		e.Print("\r\nFor more information on tools see the command-line reference in the online help.")
		return 0
	case args[0] == "/?" || len(args) > 1:
		e.Print("Provides help information for Windows commands.\r\n\r\nHELP [command]\r\n\r\n" +
			"    command - displays help information on that command.")
		return 0
	}

	name := strings.ToUpper(args[0])
	if _, known := synopsis.Find(name); !known {
		e.Print("This command is not supported by the help utility.  Try \"%s /?\".", strings.ToLower(name))
		return 1
	}
	code, err := sys.Command(e, name+" /?")
	if err != nil {
		e.Complain("help: %v", err)
		return 1
	}
	return code
}
