package logging

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"mullion.dev/mullion/internal/base/atomicfile"
)

// Load reads the level that Save wrote: Info, if there is no such file, and also with an error.
func Load(path string) (Level, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return Info, nil
	}
	if err != nil {
		return Info, fmt.Errorf("read the log level: %w", err)
	}

	level, err := Parse(strings.TrimSuffix(string(text), "\n"))
	if err != nil {
		return Info, fmt.Errorf("read %q: %w", path, err)
	}
	return level, nil
}

// Save writes a level to a file, whole or not at all.
func Save(path string, level Level) error {
	return atomicfile.Write(path, []byte(level.String()+"\n"), 0o600)
}
