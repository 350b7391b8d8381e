// Package bitstransfer has Start-BitsTransfer of the module BitsTransfer: files from the web or from folders, at once
// and in the foreground. There is no service BITS, so nothing goes on when the script ends.
package bitstransfer

import (
	"errors"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/words"
)

// start fetches each source to its destination, or to the one folder or file for all
// (https://learn.microsoft.com/en-us/powershell/module/bitstransfer/start-bitstransfer).
func start(c *cmdlet.Call) error {
	sources, targets := c.Items("source"), object.Items(c.Values["destination"])
	if len(targets) > 1 && len(targets) != len(sources) {
		return c.Fail(words.Errorf("The number of files that are specified in the Source and Destination parameters must match."))
	}

	for i, source := range sources {
		to := c.State.Dir
		switch {
		case len(targets) == 1:
			to = c.State.Path(object.Text(targets[0]))
		case len(targets) > 1:
			to = c.State.Path(object.Text(targets[i]))
		}
		if err := transfer(c, object.Text(source), to); err != nil {
			if c.State.Context.Err() != nil {
				return err
			}
			if err := c.Fail(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// transfer fetches one file. A destination that is a folder takes the source's name.
func transfer(c *cmdlet.Call, source, to string) error {
	remote := strings.Contains(source, "://")
	name := filepath.Base(c.State.Path(source))
	if remote {
		u, err := url.Parse(source)
		if err != nil {
			return words.Errorf("The URL %s is not valid.", source)
		}
		name = path.Base(u.Path)
	}
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		to = filepath.Join(to, name)
	}

	if !remote {
		return copyFile(c.State.Path(source), to)
	}
	client, err := dotnet.Construct(c.State, "System.Net.WebClient", nil)
	if err != nil {
		return err
	}
	_, err = c.Scope.Method(client, "DownloadFile", []object.Value{source, to})
	return err
}

// copyFile copies a file to a new one beside its place, which then takes it: a copy that fails leaves nothing.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return words.Errorf("Cannot find path '%s' because it does not exist.", from)
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		return words.Errorf("'%s' is not a file.", from)
	}

	out, err := os.CreateTemp(filepath.Dir(to), "BIT*.tmp") // as BITS names them
	if err != nil {
		return err
	}
	_, err = out.ReadFrom(in)
	err = errors.Join(err, out.Close())
	if err == nil {
		err = os.Rename(out.Name(), to)
	}
	if err != nil {
		_ = os.Remove(out.Name()) // it is a part of a file
	}
	return err
}

// Cmdlets returns the cmdlets of this package.
func Cmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{{
		Name:      "Start-BitsTransfer",
		About:     "fetches files from the web or from folders, at once; -Asynchronous is refused: there is no service BITS",
		Run:       start,
		Values:    []string{"source", "destination", "description", "displayname", "priority", "transfertype"},
		Positions: []string{"source", "destination"},
		Takes:     "source",
		Needs:     []string{"source"},
		Allowed: map[string][]string{
			"priority": {"foreground", "high", "normal", "low"}, "transfertype": {"download"},
		},
	}}
}
