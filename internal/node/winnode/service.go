package winnode

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wire/services/keeper"
)

// Folders on C: of the services' logs, where SIG Windows' tools have them, and of what is known of their state.
const (
	logsFolder  = "/var/log/"
	stateFolder = "/ProgramData/Mullion/services/"
)

// keeper says how mullion-service.exe keeps one of upstream's programs as a service of the same name.
func (c Config) keeper(part string) keeper.Options {
	n := c.node()
	return keeper.Options{
		Name:        part,
		Description: "Upstream's " + part + ", which Mullion starts",
		Log:         n.Path(logsFolder + part + "/" + part + ".log"),
		State:       n.Path(stateFolder + part),
	}
}

// service has the process that keeps a service say when somebody has stopped that. own reports whether a process with
// the service's program is this host's.
func (c Config) service(part string, p *kubenode.Process, own func(proc.Leftover) bool) *kubenode.Process {
	p.Halted = func() error {
		text, err := c.node().ReadFile(stateFolder + part)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case keeper.ReadState(text):
			return &component.ReasonError{
				Reason: component.Halted,
				Err:    fmt.Errorf("it was stopped by hand: the service %s of host %s does not run", part, c.Name),
			}
		}

		return nil
	}

	p.Kept = func() ([]int, error) {
		all, err := proc.Leftovers(proc.Mark{Pins: filepath.Dir(c.Netns)})
		var pids []int
		for _, l := range all {
			if len(l.Args) > 0 && strings.HasSuffix(l.Args[0], `\`+kubenode.ProgramName(part, spec.Windows)) && own(l) {
				pids = append(pids, l.PID)
			}
		}

		return pids, err
	}

	return p
}
