package lineedit

import "strings"

// colour returns the number of a colour of a console, which is its place in System.ConsoleColor
// (https://learn.microsoft.com/en-us/dotnet/api/system.consolecolor).
func colour(name string) (number uint16, known bool) {
	for i, one := range []string{
		"black", "darkblue", "darkgreen", "darkcyan", "darkred", "darkmagenta", "darkyellow", "gray",
		"darkgray", "blue", "green", "cyan", "red", "magenta", "yellow", "white",
	} {
		if strings.EqualFold(one, name) {
			return uint16(i), true //nolint:gosec // there are 16
		}
	}
	return 0, false
}
