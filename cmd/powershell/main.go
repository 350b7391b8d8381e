// Command powershell is powershell.exe and pwsh.exe of Windows hosts and containers: a small, checked part of
// PowerShell (see package powershell). It is built for Windows.
package main

import (
	"context"
	"os"
	"runtime"

	"mullion.dev/mullion/internal/windows/powershell"
)

func main() {
	newline := "\n"
	if runtime.GOOS == "windows" {
		newline = "\r\n"
	}
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	s := powershell.Session{
		Args:    os.Args[1:],
		Environ: os.Environ(),
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Self:    self,
		Newline: newline,
	}
	os.Exit(s.Run(context.Background()))
}
