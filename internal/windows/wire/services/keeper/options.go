// Package keeper owns the program that keeps a host's kubelet or kube-proxy as a service: it makes the service, starts
// it, copies what the service writes to its log to standard output, and says in a file whether somebody has stopped it.
// What is done when the service fails is for the service control manager to do.
package keeper

import (
	"errors"
	"flag"
	"io"
)

// Options say which service.
type Options struct {
	// Name of the service, and the text that describes it.
	Name, Description string
	// Log is the file that the service writes to, State the one that says how it is.
	Log, State string
	// Environment is a file with variables, a line NAME=value each, that the service has beside the machine's; empty:
	// the service's stay as they are. They may have passwords, which a command line would show to everybody.
	Environment string
	// Command is the service's program with its arguments.
	Command []string
}

// Contents of the state file: Starting is what the file has before the service is started, Stopped what it has once
// somebody has stopped the service. That of a service that runs, or that the service control manager starts again, is
// empty.
const (
	Starting = "starting"
	Stopped  = "stopped"
)

// Args returns the arguments that Parse reads.
func (o Options) Args() []string {
	args := []string{"--name", o.Name, "--description", o.Description, "--log", o.Log, "--state", o.State}
	if o.Environment != "" {
		args = append(args, "--environment", o.Environment)
	}
	return append(append(args, "--"), o.Command...)
}

// Parse reads the program's arguments.
func Parse(args []string) (Options, error) {
	var o Options
	flags := flag.NewFlagSet("mullion-service", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.Name, "name", "", "")
	flags.StringVar(&o.Description, "description", "", "")
	flags.StringVar(&o.Log, "log", "", "")
	flags.StringVar(&o.State, "state", "", "")
	flags.StringVar(&o.Environment, "environment", "", "")
	if err := flags.Parse(args); err != nil {
		return o, err
	}

	o.Command = flags.Args()
	if o.Name == "" || o.Log == "" || o.State == "" || len(o.Command) == 0 {
		return o, errors.New("usage: mullion-service --name NAME --description TEXT --log FILE --state FILE [--environment FILE] -- PROGRAM [ARG…]")
	}
	return o, nil
}
