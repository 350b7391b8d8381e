package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/windows/wire/localgroup"
)

// TestLocalGroups reads the list that programs of the host write, whatever they put in its place.
func TestLocalGroups(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func(put func(file string) error) (localgroup.Groups, error) {
		t.Helper()
		drive := t.TempDir()
		folder := filepath.Join(drive, "windows", "system32", "config")
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := put(filepath.Join(folder, filepath.Base(strings.ReplaceAll(localgroup.Path, `\`, "/")))); err != nil {
			t.Fatal(err)
		}

		type result struct {
			groups localgroup.Groups
			err    error
		}
		got := make(chan result, 1)
		go func() {
			a := &agent{config: agentconfig.Config{Drive: drive}}
			groups, err := a.localGroups()
			got <- result{groups, err}
		}()

		select {
		case r := <-got:
			return r.groups, r.err
		case <-time.After(10 * time.Second):
			return nil, errors.New("it holds the agent up")
		}
	}

	if groups, err := read(func(string) error { return nil }); err != nil || len(groups) != len(localgroup.BuiltIn()) {
		t.Errorf("of a new host: %v, %v", groups, err)
	}
	groups, err := read(func(file string) error { return os.WriteFile(file, []byte("Ours\tof us\tbob\n"), 0o600) })
	if _, is := groups.Find("ours"); !is || err != nil {
		t.Errorf("%v, %v", groups, err)
	}
	for name, put := range map[string]func(file string) error{
		"pipe": func(file string) error { return unix.Mkfifo(file, 0o600) },
		"huge": func(file string) error { return errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, 1<<40)) },
	} {
		if groups, err := read(put); !errors.Is(err, beneath.ErrUnfit) {
			t.Errorf("%s: %v, %v", name, groups, err)
		}
	}
	for name, put := range map[string]func(file string) error{
		"link": func(file string) error { return os.Symlink(secret, file) },
		"line": func(file string) error { return os.WriteFile(file, []byte(strings.Repeat("x", 1<<19)), 0o600) },
	} {
		groups, err := read(put)
		if err == nil || strings.Contains(err.Error(), "secret:1") || len(err.Error()) > 1000 {
			t.Errorf("%s: %v, %v", name, groups, err)
		}
	}
}
