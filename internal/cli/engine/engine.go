// Package engine owns how commands ask the engine of single containers: the client of a call, what its errors are for a
// person, and the streams, terminal, signals and variables that a program has of this process. The engine is package
// single.
package engine

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/single"
)

// Client returns a client of the engine of single containers.
func Client(call *invoke.Call, cmd *cobra.Command) (*single.Client, error) {
	paths, err := Paths(call, cmd)
	return client(call, paths), err
}

// BuildClient returns a client of the engine that runs what a build runs. A folder of a cluster that --data-dir names
// is where the image goes, and never the engine's, which is in its own then.
func BuildClient(call *invoke.Call, cmd *cobra.Command) (*single.Client, error) {
	paths, err := Paths(call, cmd)
	if err == nil && paths.OfCluster() {
		paths.Data = single.DefaultData
	}
	return client(call, paths), err
}

func client(call *invoke.Call, paths single.Paths) *single.Client {
	return &single.Client{
		Paths:      paths,
		Executable: call.Env.Executable,
		Environ:    call.Env.Environ,
		Doing:      func(what string) { fmt.Fprintf(call.Env.Err, "mullion: %s\n", what) },
	}
}

// Paths returns the paths of single containers: in a folder of their own, unless another is given.
func Paths(call *invoke.Call, cmd *cobra.Command) (single.Paths, error) {
	data := single.DefaultData
	if cmd.Flags().Changed("data-dir") {
		data = call.DataDir
	}
	data, err := filepath.Abs(data)
	return single.At(data, filepath.Dir(call.Env.Executable)), err
}

// Refused is the error of what the engine does not do.
func Refused(err error) error {
	if refusal, ok := errors.AsType[*single.Refusal](err); ok {
		return &exit.Error{
			Code:   refusal.Code,
			Err:    err,
			Remedy: refusal.Remedy,
		}
	}
	return err
}

// RefusedRun is the error of a program that did not run.
func RefusedRun(err error) error {
	if refused, ok := errors.AsType[*exit.Error](Refused(err)); ok {
		return refused
	}
	return Failed(err, "")
}

// Failed is an error of Mullion's own, with Docker's exit code for it.
func Failed(err error, remedy string) error {
	return &exit.Error{
		Code:   single.CodeFailed,
		Err:    err,
		Remedy: remedy,
	}
}
