package system

import (
	"errors"
	"os/exec"
	"strings"
)

// endWindows ends Windows as shutdown.exe does.
func endWindows(restart bool) error {
	verb := "/s"
	if restart {
		verb = "/r"
	}
	said, err := exec.Command("shutdown.exe", verb, "/t", "0").CombinedOutput() // it returns at once
	if text := strings.TrimSpace(string(said)); err != nil && text != "" {
		return errors.New(text)
	}
	return err
}
