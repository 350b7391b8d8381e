//go:build linux

package wine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/base/testrun"
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

// TestMachineVariablesOfALink: a link that a program puts in the hive's place leads to no file of the machine, of which
// some are read at a cost, as those of /proc.
func TestMachineVariablesOfALink(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	other := filepath.Join(t.TempDir(), MachineHive)
	text := "WINE REGISTRY Version 2\n\n[" + strings.ReplaceAll(environmentKey, `\`, `\\`) + "] 1\n\"HTTP_PROXY\"=\"other\"\n"
	if err := os.WriteFile(other, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := MachineVariables(other, "HTTP_PROXY"); got["HTTP_PROXY"] != "other" || err != nil {
		t.Fatalf("the test says nothing: %v, %v", got, err)
	}
	hive := filepath.Join(t.TempDir(), MachineHive)
	if err := os.Symlink(other, hive); err != nil {
		t.Fatal(err)
	}
	if got, err := MachineVariables(hive, "HTTP_PROXY"); err == nil {
		t.Errorf("of another host it reads %v", got)
	}
}
