package bringup

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/windows/wine"
)

// WineFlag is the flag that names the folder of a Wine.
func WineFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "wine", "",
		"folder with the Wine that the Windows nodes run on: where you installed your own build, or unpacked packages (default: the Wine that is installed)")
}

// WineFolder returns the absolute path of a folder that somebody named. An error says that no Wine is in it.
func WineFolder(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if _, err := wine.Find(dir); err != nil {
		return "", exit.Misuse(fmt.Errorf("wine: %w", err), "name another folder: --wine, or wine in the file; or leave it out")
	}
	return dir, nil
}
