//go:build linux

package wine

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"mullion.dev/mullion/internal/base/beneath"
)

// TestMachineVariablesOfAPipe: what a program puts in the hive's place does not hold up who reads it.
func TestMachineVariablesOfAPipe(t *testing.T) {
	hive := filepath.Join(t.TempDir(), MachineHive)
	if err := syscall.Mkfifo(hive, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := MachineVariables(hive); !errors.Is(err, beneath.ErrUnfit) {
		t.Errorf("%v", err)
	}
}
