package clustertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// script is a program in mullion's place.
const script = `#!/bin/sh
dir=%q
echo "$*" >> "$dir/asked"
case "$*" in
*" kubeconfig") echo "apiVersion: v1" ;;
*" up "*) mkdir -p "$2" ;;
*" down "*) rmdir "$2" ;;
esac
`

// TestNew makes a cluster for a test, and takes it down with it.
func TestNew(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs the program without sudo")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "mullion")
	if err := os.WriteFile(program, fmt.Appendf(nil, script, dir), 0o755); err != nil {
		t.Fatal(err)
	}

	var made *Cluster
	t.Run("inner", func(t *testing.T) {
		made = New(t, Program(program), Folder(filepath.Join(dir, "clusters")), Windows("ltsc2022"))
		text, err := os.ReadFile(made.KubeConfigPath())
		if err != nil || string(text) != "apiVersion: v1\n" {
			t.Errorf("the kubeconfig is %q (%v)", text, err)
		}
		if all, err := made.Provider().List(); err != nil || len(all) != 1 || all[0] != made.Name() {
			t.Errorf("there are %q (%v)", all, err)
		}
	})

	if all, err := made.Provider().List(); err != nil || len(all) > 0 {
		t.Errorf("there still are %q (%v)", all, err)
	}
	if _, err := os.Stat(made.KubeConfigPath()); err == nil {
		t.Error("the kubeconfig is left")
	}

	asked, err := os.ReadFile(filepath.Join(dir, "asked"))
	if err != nil || !strings.Contains(string(asked), "--kubeconfig none") {
		t.Errorf("it was asked for %s (%v): a test's cluster has no context in a person's kubeconfig", asked, err)
	}
}

// TestSkips where there is no mullion.
func TestSkips(t *testing.T) {
	t.Setenv(RequiredVariable, "")
	t.Run("inner", func(t *testing.T) {
		defer func() {
			if !t.Skipped() {
				t.Error("it is not skipped")
			}
		}()
		New(t, Program("/none/mullion"))
	})
}
