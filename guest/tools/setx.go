package tools

import (
	"fmt"
	"strings"
)

// maxVariable is the length to which setx cuts a value, in characters
// (https://learn.microsoft.com/windows-server/administration/windows-commands/setx).
const maxVariable = 1024

// setx writes a variable to the user's or the machine's environment in the registry. Programs that run do not see it.
func setx(e Env, args []string) int {
	words, machine, key, code := parseSetx(e, args)
	if code >= 0 {
		return code
	}
	if key == "" {
		return setVariable(e, machine, words[0], words[1])
	}
	i := strings.LastIndexByte(key, '\\')
	value, err := e.System.Value(key[:max(i, 0)], key[i+1:])
	if err != nil {
		e.complain("ERROR: The specified registry key or value does not exist.")
		return 1
	}
	fmt.Fprintf(e.Stdout, "Extracted value is: %s. \r\n", value)
	return setVariable(e, machine, words[0], value)
}

// parseSetx reads the arguments: the variable, and its value or the registry key that holds the value. The code is
// negative if there is something to do.
func parseSetx(e Env, args []string) (words []string, machine bool, key string, code int) {
	for i := 0; i < len(args); i++ {
		name, is := option(args[i])
		switch {
		case is && name == "?":
			e.print("SETX [/M] variable value\r\nSETX [/M] variable /K registry-path")
			return nil, false, "", 0
		case is && name == "m":
			machine = true
		case is && name == "k" && i+1 < len(args):
			i++
			key = args[i]
		case is && len(words) != 1: // otherwise it is a value that looks like an option
			e.unknown("setx", args[i])
			return nil, false, "", 1
		default:
			words = append(words, args[i])
		}
	}
	if len(words) == 2 && key == "" || len(words) == 1 && key != "" {
		return words, machine, key, -1
	}
	e.invalid("setx", "")
	return nil, false, "", 1
}

func setVariable(e Env, machine bool, name, value string) int {
	if runes := []rune(value); len(runes) > maxVariable {
		e.print("\r\nWARNING: The data being saved is truncated to 1024 characters.")
		value = string(runes[:maxVariable])
	}
	if err := e.System.SetVariable(machine, name, value); err != nil {
		e.complain("ERROR: %v", err)
		return 1
	}
	e.print("\r\nSUCCESS: Specified value was saved.")
	return 0
}
