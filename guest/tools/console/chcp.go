package console

import (
	"errors"
	"strconv"

	"mullion.dev/mullion/guest/tools/program"
)

// defaultCodePage is the code page of the console on Windows Server in English.
const defaultCodePage = 437

// Chcp shows or sets the console's code page
// (https://learn.microsoft.com/windows-server/administration/windows-commands/chcp). Programs of containers often have
// no console here, where Windows gives them one: then the code page is Windows' first one, and what is set is taken and
// has no effect.
func Chcp(e program.Env, sys System, args []string) int {
	if len(args) == 0 {
		page, err := sys.CodePage()
		if err != nil {
			page = defaultCodePage
		}
		e.Print("Active code page: %d", page)
		return 0
	}

	if name, is := program.Option(args[0]); is && name == "?" {
		e.Print("Displays or sets the active code page number.\r\n\r\nCHCP [nnn]\r\n\r\n  nnn   Specifies a code page number.\r\n\r\n" +
			"Type CHCP without a parameter to display the active code page number.")
		return 0
	}

	page, err := strconv.ParseUint(args[0], 10, 32)
	if err != nil || len(args) > 1 {
		e.Print("Parameter format not correct - %s", args[len(args)-1])
		return 1
	}
	if err := sys.SetCodePage(uint32(page)); err != nil && !errors.Is(err, ErrNoConsole) {
		e.Print("Invalid code page")
		return 1
	}

	e.Print("Active code page: %d", page)
	return 0
}
