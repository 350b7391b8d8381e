package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
)

// report is what `mullion docker status -o json` prints.
type report struct {
	Name string `json:"name"`
	// State is ready, or degraded if the engine answers and a part of it does not work, or down.
	State      string `json:"state"`
	DockerHost string `json:"dockerHost"`
	DataDir    string `json:"dataDir"`
	// Engine is what the API says; nil if it does not answer, as Problem says.
	Engine  *engine `json:"engine,omitempty"`
	Problem string  `json:"problem,omitempty"`
	// Parts are those of the engine and its host; root alone sees them.
	Parts []supervisor.UnitStatus `json:"parts,omitempty"`
}

// engine is what is printed of Docker's own answer to /info
// (https://docs.docker.com/reference/api/engine/version/v1.51/, SystemInfo).
type engine struct {
	ServerVersion     string
	OperatingSystem   string
	OSVersion         string
	Driver            string
	Containers        int
	ContainersRunning int
	Images            int
}

// States of an engine.
const (
	stateReady    = "ready"
	stateDegraded = "degraded"
	stateDown     = "down"
)

// answerWithin is how long an engine may take for an answer.
const answerWithin = 10 * time.Second

func (a *commands) status() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show how the engine is, and how it is reached",
		Long: `Prints whether the engine's API answers, what it says of itself, and which ports of this machine lead to containers. Who
is not root sees what the socket answers. The exit code is 0 for an engine that answers and whose parts work, 5 for
another, and 6 if there is none.`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			paths, err := a.paths(cmd)
			if err != nil {
				return err
			}
			if output != "text" && output != "json" {
				return exit.Misuse(fmt.Errorf("--output %q is neither text nor json", output), "for example: -o json")
			}
			return a.printStatus(cmd, paths, output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	cmdline.Complete(cmd, "output", []string{"text", "json"})

	return cmd
}

func (a *commands) printStatus(cmd *cobra.Command, paths layout.Paths, output string) error {
	_, socketErr := os.Stat(paths.Docker())
	_, specErr := kept(paths)
	if exit.Code(specErr) == exit.Conflict {
		return specErr
	}
	// Who is not root cannot look into the data folder.
	if socketErr != nil && specErr != nil && (errors.Is(specErr, fs.ErrNotExist) || a.Reads()) {
		return a.notUp(cmd, paths)
	}

	s := a.look(cmd.Context(), paths)
	if output == "json" {
		if err := json.NewEncoder(a.Env.Out).Encode(s); err != nil {
			return err
		}
	} else if err := s.print(a.Env.Out); err != nil {
		return err
	}

	if s.State == stateReady {
		return nil
	}
	return &exit.Error{
		Code:   exit.NotReady,
		Err:    fmt.Errorf("Docker's engine in %s is %s", paths.Data, s.State), //nolint:staticcheck // a name
		Remedy: fmt.Sprintf("`%s` brings back what is gone; see %s", a.command(cmd, "up"), paths.Logs()),
	}
}

// look asks the engine, and the supervisor of its parts, how they are.
func (a *commands) look(ctx context.Context, paths layout.Paths) report {
	s := report{
		Name:       a.name,
		State:      stateReady,
		DockerHost: address(paths),
		DataDir:    paths.Data,
	}
	if c, err := kept(paths); err == nil {
		s.Name = c.Name
	}

	info, err := ask(ctx, paths.Docker())
	if err != nil {
		s.State, s.Problem = stateDown, err.Error()
	} else {
		s.Engine = &info
	}
	if a.Reads() {
		return s
	}

	now, err := supervisor.NewClient(paths.Socket()).Health(ctx)
	if err != nil && s.State == stateReady {
		s.State, s.Problem = stateDegraded, "its supervisor does not answer: "+err.Error()
	}

	for _, u := range now.Units {
		s.Parts = append(s.Parts, u)
		if (u.State != component.Ready || u.Problem != "") && s.State == stateReady {
			s.State = stateDegraded
		}
	}

	return s
}

// ask asks the engine at a socket what it is.
func ask(ctx context.Context, socket string) (engine, error) {
	var info engine
	if err := unixsocket.NewClient(socket, answerWithin).Call(ctx, http.MethodGet, "/info", &info); err != nil {
		return info, fmt.Errorf("ask the engine: %w", err)
	}
	return info, nil
}

func (s report) print(w io.Writer) error {
	p := printer{w: w}
	p.line("engine    %s: %s", s.Name, s.State)
	p.line("socket    %s", s.DockerHost)
	if e := s.Engine; e != nil {
		p.line("docker    %s on %s %s, %s", e.ServerVersion, e.OperatingSystem, e.OSVersion, e.Driver)
		p.line("has       %d container(s), of which %d run, and %d image(s)", e.Containers, e.ContainersRunning, e.Images)
	}

	if s.Problem != "" {
		p.line("problem   %s", s.Problem)
	}

	for _, u := range s.Parts {
		switch {
		case u.State != component.Ready:
			p.line("part      %s is %s: %s", u.ID, u.State, u.Error)
		case u.Problem != "":
			p.line("part      %s: %s", u.ID, u.Problem)
		case u.Note != "" && u.ID.Part == "ports":
			p.line("ports     %s", u.Note)
		}
	}

	return p.err
}

// printer prints lines until one cannot be printed.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.w, plaintext.OneLine(fmt.Sprintf(format, args...)))
	}
}
