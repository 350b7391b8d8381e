// Package kubenodetest describes as text what a node's programs are given: their command lines and their files. The
// tests of both systems compare that text with a golden. No node is up in them: the processes that they start fail.
package kubenodetest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
)

// Units describes the units of a node that is not up: what they wait for, and of a process how it is started. It starts
// each process, which writes its files and then fails, as there is no host to start it in.
func Units(t *testing.T, units []component.Unit) string {
	t.Helper()
	var b strings.Builder
	for _, u := range units {
		fmt.Fprintf(&b, "unit %s after %s\n", u.ID(), strings.Join(component.Texts(u.After), ", "))
		if _, ok := u.Component.(interface{ State() proc.State }); !ok {
			continue
		}
		// the field is private to package proc, and no other package has a use for it but this test
		spec := reflect.ValueOf(u.Component).Elem().FieldByName("Process").Elem().FieldByName("spec")
		for _, name := range []string{"Path", "Args", "Env", "Marker", "Dir", "LogPath", "Netns", "ReadyTimeout"} {
			fmt.Fprintf(&b, "  %s: %v\n", name, spec.FieldByName(name))
		}

		err := u.Start(t.Context())
		if err == nil {
			t.Fatalf("%s started without a host", u.ID())
		}
		if _, ok := errors.AsType[*kubenode.PrepareError](err); ok {
			fmt.Fprintf(&b, "  %v\n", err)
		}
	}

	return b.String()
}

// Tree describes everything below dir: names, modes and texts. The texts of the files named in hidden, which differ
// from run to run, are left out.
func Tree(t *testing.T, dir string, hidden ...string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}

		fmt.Fprintf(&b, "%s %s\n", info.Mode(), path)
		if d.IsDir() {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}

		for _, name := range hidden {
			if d.Name() == name {
				data = nil
			}
		}

		for line := range strings.Lines(string(data)) {
			fmt.Fprintf(&b, "  | %s\n", strings.TrimSuffix(line, "\n"))
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
