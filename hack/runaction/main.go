// Command runaction runs the steps of one of this repository's GitHub actions as a runner does, without GitHub: the
// scripts are real, and steps that use other actions are only named. Expressions are those that the actions need, and
// any other is an error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

// inputs is a flag that may be given several times.
type inputs map[string]string

func (i inputs) String() string { return "" }

func (i inputs) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return errors.New("an input is NAME=VALUE")
	}
	i[name] = value
	return nil
}

func main() {
	r := runner{
		Inputs:  inputs{},
		Environ: os.Environ(),
		Out:     os.Stdout,
	}

	flag.Var(inputs(r.Inputs), "input", "NAME=VALUE of an input of the action, several times")
	flag.StringVar(&r.Repository, "repository", "THE_OWNER/mullion", "the action's repository")
	flag.StringVar(&r.Ref, "ref", "", "the tag or branch at which the action is used")
	flag.StringVar(&r.Temp, "temp", os.TempDir(), "the runner's folder for the job")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: runaction [-input NAME=VALUE]… FOLDER-OF-ACTION")
		os.Exit(2)
	}

	r.Action = flag.Arg(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	got, err := r.Run(ctx)
	stop()
	for name, value := range got.Outputs {
		fmt.Printf("output %s=%s\n", name, value)
	}

	fmt.Print(got.Summary)
	if err != nil {
		fmt.Fprintln(os.Stderr, "runaction:", err)
		os.Exit(1)
	}
}
