// Command shells prints the page about powershell.exe and cmd.exe (docs/compat/shells.md), from the tables that the two
// programs run by, the tables of their languages' constructs, and the scripts of their tests.
package main

import (
	"fmt"
	"os"
)

func main() {
	text, err := page(os.DirFS("guest/powershell/testdata"))
	if err == nil {
		_, err = os.Stdout.WriteString(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
