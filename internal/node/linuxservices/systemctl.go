package linuxservices

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"mullion.dev/mullion/internal/base/unixsocket"
)

// patience is how long systemctl waits for an answer. To stop a kubelet takes ten seconds at most.
const patience = 30 * time.Second

// Exit codes of systemctl: https://www.freedesktop.org/software/systemd/man/254/systemctl.html#Exit%20status
const (
	codeFailed   = 1
	codeInactive = 3
	codeUnknown  = 4
	codeNotFound = 5
)

// ExitError is the exit code of a systemctl that has said all that is to be said.
type ExitError int

func (e ExitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// answer is what Serve says of the service after a request.
type answer struct {
	// State is active, activating or inactive.
	State   string `json:"state"`
	PID     int    `json:"pid,omitempty"`
	Enabled bool   `json:"enabled"`
	// Why says what the kubelet ended with, or why the service was not started.
	Why string `json:"why,omitempty"`
}

// ask asks Serve for something.
type ask func(ctx context.Context, verb string) (answer, error)

// Systemctl is the program systemctl of the host. args are its arguments without its name. The error is an ExitError
// where the program has said why it fails.
func Systemctl(ctx context.Context, args []string, out, errOut io.Writer) error {
	return command{out: out, err: errOut, ask: func(ctx context.Context, verb string) (answer, error) {
		var a answer
		err := unixsocket.NewClient(Socket, patience).Call(ctx, http.MethodPost, "/"+verb, &a)
		return a, err
	}}.run(ctx, args)
}

type command struct {
	out, err io.Writer
	ask      ask
}

func (c command) run(ctx context.Context, args []string) error {
	var words []string
	now := false
	for _, a := range args {
		switch a {
		case "--now":
			now = true
		case "-q", "--quiet", "-l", "--full", "--no-pager", "--system":
		default:
			if strings.HasPrefix(a, "-") {
				return c.refuse("option " + a)
			}
			words = append(words, a)
		}
	}
	if len(words) == 0 {
		return c.refuse("a command line without a command")
	}

	verb := words[0]
	switch verb {
	case "daemon-reload":
		return nil // nothing is kept of the service's files
	case "start", "stop", "restart", "enable", "disable", "status", "is-active", "is-enabled":
	default:
		return c.refuse("command " + verb)
	}

	if len(words) == 1 {
		return c.refuse(verb + " without a unit")
	}
	var worst error
	for _, unit := range words[1:] {
		if err := c.one(ctx, verb, strings.TrimSuffix(unit, ".service"), now); err != nil {
			worst = err
		}
	}

	return worst
}

func (c command) refuse(what string) error {
	fmt.Fprintf(c.err, "systemctl: this host has no systemd but a stand-in, which does not know %s. It knows daemon-reload, "+
		"start, stop, restart, enable and disable (with --now), status, is-active and is-enabled, and the unit kubelet.\n",
		what)
	return ExitError(codeFailed)
}

// one carries out a command for one unit.
func (c command) one(ctx context.Context, verb, unit string, now bool) error {
	if unit != Kubelet {
		return c.unknown(verb, unit)
	}
	request := verb
	switch verb {
	case "status", "is-active", "is-enabled":
		request = "look"
	}

	a, err := c.ask(ctx, request)
	if err == nil && now && verb == "enable" {
		a, err = c.ask(ctx, "start")
	}
	if err == nil && now && verb == "disable" {
		a, err = c.ask(ctx, "stop")
	}
	if err != nil {
		return fmt.Errorf("%s the service %s: %w", verb, unit, err)
	}

	return c.tell(verb, a)
}

// tell prints what was asked for.
func (c command) tell(verb string, a answer) error {
	switch verb {
	case "is-active":
		fmt.Fprintln(c.out, a.State)
		if a.State != stateActive {
			return ExitError(codeInactive)
		}

	case "is-enabled":
		fmt.Fprintln(c.out, enabledText(a.Enabled))
		if !a.Enabled {
			return ExitError(codeFailed)
		}

	case "status":
		fmt.Fprintf(c.out, "kubelet.service - kubelet: The Kubernetes Node Agent\n     Loaded: loaded (%s; %s)\n     Active: %s\n",
			flagsFile, enabledText(a.Enabled), a.State)
		if a.PID != 0 {
			fmt.Fprintf(c.out, "   Main PID: %d (kubelet)\n", a.PID)
		}
		if a.Why != "" {
			fmt.Fprintf(c.out, "     Status: %q\n", a.Why)
		}

		fmt.Fprintf(c.out, "        Log: %s\n", Log)
		if a.State != stateActive {
			return ExitError(codeInactive)
		}

	case "start", "restart":
		if a.State == stateInactive && a.Why != "" {
			fmt.Fprintf(c.err, "systemctl: kubelet.service was not started: %s\n", a.Why)
		}
	}

	return nil
}

func enabledText(yes bool) string {
	if yes {
		return "enabled"
	}
	return "disabled"
}

// unknown answers for a unit that the host has not, as systemctl does.
func (c command) unknown(verb, unit string) error {
	switch verb {
	case "is-active":
		fmt.Fprintln(c.out, stateInactive)
		return ExitError(codeUnknown)
	case "status":
		fmt.Fprintf(c.err, "Unit %s.service could not be found.\n", unit)
		return ExitError(codeUnknown)
	case "is-enabled":
		fmt.Fprintf(c.err, "Failed to get unit file state for %s.service: No such file or directory\n", unit)
		return ExitError(codeFailed)
	}
	fmt.Fprintf(c.err, "Failed to %s %s.service: Unit %s.service not found.\n", verb, unit, unit)
	return ExitError(codeNotFound)
}

// Code returns the exit code that an error of Systemctl asks for.
func Code(err error) (int, bool) {
	exit, ok := errors.AsType[ExitError](err)
	return int(exit), ok
}
