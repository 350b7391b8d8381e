package containerinit

import (
	"errors"
	"path"
	"strings"
)

// launcher is the program that starts Windows programs in a container and can deliver control events to them.
const launcher = "mullion-run.exe"

// ErrUsage is Parse's error for arguments that name no program.
var ErrUsage = errors.New("usage: mullion-init [--explain FILE] [--] PROGRAM [ARGUMENT...]")

// Config is what a container's first process is to run.
type Config struct {
	// Argv is the path of the main program, which is not searched in PATH, and its arguments.
	Argv []string
	// Env is the environment handed to it, entries being NAME=value.
	Env []string
	// Explain is the file into which Wine's diagnostic lines are counted, which the main program is to write to
	// descriptor 3; "": there is no such descriptor.
	Explain string
}

// Parse makes a Config from the arguments after the program's own name.
func Parse(args, env []string) (Config, error) {
	c := Config{Env: env}
	if len(args) > 1 && args[0] == "--explain" {
		c.Explain, args = args[1], args[2:]
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 || args[0] == "" {
		return Config{}, ErrUsage
	}
	c.Argv = args
	return c, nil
}

// windows reports whether the main program is a Windows program.
func (c Config) windows() bool {
	return len(c.Argv) > 1 && path.Base(strings.ReplaceAll(c.Argv[1], `\`, "/")) == launcher
}

// endMillis bounds the end of the container's services: the 3 minutes of PRESHUTDOWN and the time of SHUTDOWN
// (shim/hooks/svcstop.c). In milliseconds.
const endMillis = "240000"

// endArgv is the command that ends the container's Windows services, or nil if the main program is no Windows program.
func (c Config) endArgv() []string {
	if !c.windows() {
		return nil
	}
	return []string{c.Argv[0], c.Argv[1], "--end-services", endMillis}
}

// ctrlArgv is the command that delivers a control event to the container's Windows programs, or nil if the main program
// is no Windows program: then signals are passed on as they are.
func (c Config) ctrlArgv(event string) []string {
	if !c.windows() {
		return nil
	}
	return []string{c.Argv[0], c.Argv[1], "--ctrl", event}
}
