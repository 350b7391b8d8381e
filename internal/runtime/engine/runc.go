package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// writeRunc writes the program that containerd's shim calls as runc for a container, and returns its path. The program
// starts runc in the pod's network namespace, which the container then inherits.
//
// Naming the namespace in the container's specification instead works for the start, but not for a later exec: runc
// (1.1.5 of Debian 12) then enters the user namespace first, and from there a network namespace that belongs to the
// machine may not be entered ("error executing setns process: exit status 1").
func (e *Engine) writeRunc(c Container) (string, error) {
	if c.NetNS == "" {
		return e.opts.Runc, nil
	}
	runc := shellQuote(e.opts.Runc)
	// "delete" and "kill" must work when the pod's network namespace is gone. Every other command needs it: nothing may
	// be started in the machine's network namespace instead.
	script := fmt.Sprintf(
		"#!/bin/sh\ncase \" $* \" in *' delete '* | *' kill '*) exec %s \"$@\" ;; esac\nexec nsenter --net=%s -- %s \"$@\"\n",
		runc, shellQuote(c.NetNS), runc)
	return e.writeStarter(c.ID, script)
}

// ensureRunc makes sure that containerd's shim finds a program to call as runc to end a container, even if the folder
// of starters was lost.
func (e *Engine) ensureRunc(id string) error {
	if _, err := os.Stat(e.runcPath(id)); err == nil {
		return nil
	}
	_, err := e.writeStarter(id, fmt.Sprintf("#!/bin/sh\nexec %s \"$@\"\n", shellQuote(e.opts.Runc)))
	return err
}

func (e *Engine) writeStarter(id, script string) (string, error) {
	path := e.runcPath(id)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		return "", fmt.Errorf("write runc starter of container %q: %w", id, err)
	}
	return path, nil
}

func (e *Engine) runcPath(id string) string { return filepath.Join(e.opts.StarterDir, id) }

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
