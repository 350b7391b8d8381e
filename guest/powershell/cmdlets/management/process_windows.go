package management

import (
	"os/exec"
	"syscall"
)

// setArguments gives a program its arguments as one text, which it takes apart itself.
func setArguments(cmd *exec.Cmd, text string) {
	line := syscall.EscapeArg(cmd.Path)
	if text != "" {
		line += " " + text
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: line}
}
