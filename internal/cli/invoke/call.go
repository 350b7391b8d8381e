// Package invoke owns what a command is called with: the environment of the process, the folder of the cluster's state,
// and how a person types the program. It knows no command.
package invoke

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/screen"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/spec"
)

// DefaultDataDir is the folder of the cluster's state, unless another is named.
const DefaultDataDir = "/var/lib/mullion"

// DataVariable is the environment variable that names another folder of the cluster's state.
const DataVariable = "MULLION_DATA_DIR"

// Call is one call of the program.
type Call struct {
	Env Env
	// DataDir is the folder of the cluster's state, as it was named.
	DataDir string
	// Failed is told of the error that ends the command; nil: nobody is.
	Failed func(error)
	// Lock takes the cluster's lock; nil: as package cluster does.
	Lock Lock
}

// To returns the call with another place for what is printed.
func (c *Call) To(out io.Writer) *Call {
	told := *c
	told.Env.Out = out
	return &told
}

// OfNoCluster returns the call for a command whose folder is not a cluster's: MULLION_DATA_DIR, which names the folder
// of a cluster alone, is not in its environment.
func (c *Call) OfNoCluster() *Call {
	apart := *c
	apart.Env.Environ = slices.DeleteFunc(slices.Clone(c.Env.Environ), func(line string) bool {
		return strings.HasPrefix(line, DataVariable+"=")
	})
	return &apart
}

// Reads reports whether the cluster is read by its socket: who is not root does so.
func (c *Call) Reads() bool { return c.Env.Euid != 0 }

// Folder returns where the data folder and the programs are, whatever the folder holds.
func (c *Call) Folder() (layout.Paths, error) {
	data, err := filepath.Abs(c.DataDir)
	if err != nil {
		return layout.Paths{}, err
	}
	return layout.Paths{Data: data, Bin: filepath.Dir(c.Env.Executable)}, nil
}

// Paths returns where the cluster and the programs are. A folder that holds Docker's engine is an error: commands for
// clusters would take the engine for one.
func (c *Call) Paths() (layout.Paths, error) {
	paths, err := c.Folder()
	if err != nil {
		return paths, err
	}
	if described, err := paths.LoadSpec(); err == nil && described.Docker != nil {
		return paths, &exit.Error{
			Code: exit.Conflict,
			Err: fmt.Errorf("data folder %q holds Docker's engine, and no cluster: `mullion docker status --data-dir %s`",
				paths.Data, quoted(paths.Data)),
		}
	}
	return paths, nil
}

// Cluster returns the cluster that the data folder describes, whether it is up or not.
func (c *Call) Cluster() (layout.Paths, spec.Cluster, error) {
	paths, err := c.Paths()
	if err != nil {
		return paths, spec.Cluster{}, err
	}
	described, err := paths.LoadSpec()
	if err != nil {
		return paths, described, c.StateError(paths.Data, err)
	}
	return paths, described, nil
}

// Size returns the terminal's.
func (c *Call) Size() screen.Size {
	if c.Env.Size == nil {
		return screen.Size{}
	}
	columns, rows := c.Env.Size()
	return screen.Size{Columns: columns, Rows: rows}
}

// Columns returns how wide what is printed may be.
func (c *Call) Columns() int {
	if n := c.Size().Columns; c.Env.Terminal && n > 0 {
		return n
	}
	return screen.DefaultColumns
}
