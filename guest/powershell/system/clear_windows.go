package system

import (
	"io"
	"os/exec"
)

// clearScreen clears the console by cmd's own cls, which works on every kind of console.
func clearScreen(w io.Writer) error {
	cmd := exec.Command("cmd.exe", "/c", "cls")
	cmd.Stdout = w
	return cmd.Run()
}
