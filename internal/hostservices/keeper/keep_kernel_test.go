//go:build kernel

package keeper_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/hostservices/keeper"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
)

// command is the first argument of the process that is started, and how it behaves the second.
const command = "keep-test"

// TestMain is the program that is started, too.
func TestMain(m *testing.M) {
	if len(os.Args) < 3 || os.Args[1] != command {
		os.Exit(m.Run())
	}
	if err := behave(filepath.Base(os.Args[2])); err != nil {
		os.Exit(1)
	}
}

// behave is what a process does that finds out how long a text is, or one that is broken into.
func behave(how string) error {
	switch how {
	case "says nothing":
		time.Sleep(time.Hour)
	case "says no JSON":
		fmt.Println("found: yes")
		time.Sleep(time.Hour)

	case "never ends":
		fmt.Print(`{"found": "`)
		for {
			if _, err := fmt.Print(strings.Repeat("a", 1<<16)); err != nil {
				return err
			}
		}
	case "ends":
		return nil
	}

	var text string
	return keeper.Told(os.Stdin, os.Stdout, &text, func() (int, error) {
		switch how {
		case "refuses":
			return 0, fmt.Errorf("%w: the cause", hostcall.Refusef(53, "The network path\nwas not found."))
		case "fails":
			return 0, errors.New("it failed")
		}
		return len(text), nil
	})
}

// TestAsk asks processes that behave well, and others. None is left.
func TestAsk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	for how, want := range map[string]string{
		"finds":        "",
		"refuses":      "The network path·was not found.",
		"fails":        "it failed",
		"says nothing": "timeout",
		"says no JSON": "invalid character",
		"never ends":   "unexpected EOF",
		"ends":         "EOF",
	} {
		t.Run(how, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), how)
			within := 30 * time.Second
			if how == "says nothing" {
				within = time.Second
			}

			found, err := keeper.Ask[int](t.Context(), keeper.Process{
				Program: program,
				Command: command,
				Name:    name,
			}, within, "four")
			if (want == "" && (err != nil || found != 4)) || (want != "" && (err == nil || !strings.Contains(err.Error(), want))) {
				t.Errorf("%d, %v, want %q", found, err, want)
			}

			if refusal, ok := errors.AsType[*hostcall.Refusal](err); ok != (how == "refuses" || how == "fails") ||
				(how == "refuses" && refusal.Code != 53) {
				t.Errorf("refused by %+v", refusal)
			}

			for deadline := time.Now().Add(10 * time.Second); running(t, name); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the process is left")
				}
			}
		})
	}
}

// running reports whether there is a process with an argument.
func running(t *testing.T, arg string) bool {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		if data, err := os.ReadFile(file); err == nil && strings.Contains(string(data), arg) {
			return true
		}
	}
	return false
}
