package machine

import (
	"fmt"
	"strings"

	"mullion.dev/mullion/guest/tools/program"
)

// maxVariable is the length to which setx cuts a value, in characters
// (https://learn.microsoft.com/windows-server/administration/windows-commands/setx).
const maxVariable = 1024

// Setx writes a variable to the user's or the machine's environment in the registry. Programs that run do not see it.
func Setx(e program.Env, sys System, args []string) int {
	words, machine, key, code := parseSetx(e, args)
	if code >= 0 {
		return code
	}
	if key == "" {
		return setVariable(e, sys, machine, words[0], words[1])
	}

	i := strings.LastIndexByte(key, '\\')
	value, err := sys.Value(key[:max(i, 0)], key[i+1:])
	if err != nil {
		e.Complain("ERROR: The specified registry key or value does not exist.")
		return 1
	}
	fmt.Fprintf(e.Stdout, "Extracted value is: %s. \r\n", value)
	return setVariable(e, sys, machine, words[0], value)
}

// parseSetx reads the arguments: the variable, and its value or the registry key that holds the value. The code is
// negative if there is something to do.
func parseSetx(e program.Env, args []string) (words []string, machine bool, key string, code int) {
	for i := 0; i < len(args); i++ {
		name, is := program.Option(args[i])
		switch {
		case is && name == "?":
			e.Print("SETX [/M] variable value\r\nSETX [/M] variable /K registry-path")
			return nil, false, "", 0
		case is && name == "m":
			machine = true
		case is && name == "k" && i+1 < len(args):
			i++
			key = args[i]

		case is && len(words) != 1: // otherwise it is a value that looks like an option
			e.Unknown("setx", args[i])
			return nil, false, "", 1
		default:
			words = append(words, args[i])
		}
	}
	if (len(words) == 2 && key == "") || (len(words) == 1 && key != "") {
		return words, machine, key, -1
	}

	e.Invalid("setx", "")
	return nil, false, "", 1
}

func setVariable(e program.Env, sys System, machine bool, name, value string) int {
	if runes := []rune(value); len(runes) > maxVariable {
		e.Print("\r\nWARNING: The data being saved is truncated to 1024 characters.")
		value = string(runes[:maxVariable])
	}
	if err := sys.SetVariable(machine, name, value); err != nil {
		e.Complain("ERROR: %v", err)
		return 1
	}
	e.Print("\r\nSUCCESS: Specified value was saved.")
	return 0
}
