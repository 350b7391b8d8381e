//go:build !windows

package management

import (
	"os/exec"
	"strings"
)

// setArguments gives a program its arguments as one text, taken apart at its blanks.
func setArguments(cmd *exec.Cmd, text string) {
	cmd.Args = append(cmd.Args[:1], strings.Fields(text)...)
}
