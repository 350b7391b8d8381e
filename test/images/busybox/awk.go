package main

import (
	"context"
	"os"
	"strings"

	"github.com/benhoyt/goawk/interp"
	"github.com/benhoyt/goawk/parser"
)

// awk is POSIX' language (GoAWK). It knows -F, -v and -f; system() and pipes to commands are errors.
func awk(_ context.Context, c *call) int {
	o, err := c.parse("", "F v f")
	if err != nil {
		return c.usage("%v", err)
	}

	args := o.args()
	var source string
	switch {
	case o.has("f"):
		text, err := os.ReadFile(c.path(o.get("f")))
		if err != nil {
			return c.fail(err)
		}
		source = string(text)

	case len(args) > 0:
		source, args = args[0], args[1:]
	default:
		return c.usage("no program")
	}

	program, err := parser.ParseProgram([]byte(source), nil)
	if err != nil {
		return c.usage("%v", err)
	}

	config := &interp.Config{
		Argv0:   c.args[0],
		Stdin:   c.stdin,
		Output:  c.stdout,
		Error:   c.stderr,
		Environ: variables(c.env),
		NoExec:  true,
	}

	if o.has("F") {
		config.Vars = append(config.Vars, "FS", o.get("F"))
	}
	for _, v := range o.all["v"] {
		name, value, _ := strings.Cut(v, "=")
		config.Vars = append(config.Vars, name, value)
	}

	for _, a := range args {
		if a != "-" && !strings.Contains(a, "=") { // neither standard input nor a variable
			a = c.path(a)
		}
		config.Args = append(config.Args, a)
	}

	code, err := interp.ExecProgram(program, config)
	if err != nil {
		c.fail(err)
		return 2
	}

	return code
}

// variables cuts NAME=VALUE into names and values, one after the other.
func variables(env []string) []string {
	all := make([]string, 0, 2*len(env))
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		all = append(all, name, value)
	}
	return all
}
