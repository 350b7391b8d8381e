package winserver

import (
	"errors"
	"fmt"
	"strings"

	"mullion.dev/mullion/internal/windows/wire/services"
	"mullion.dev/mullion/internal/winserver/journal"
)

// Names of the services.
const (
	containerd = "containerd"
	kubelet    = "kubelet"
	kubeProxy  = "kube-proxy"
)

// serviceRights are those with which services are opened.
const serviceRights = services.QueryConfig | services.ChangeConfig | services.QueryStatus | services.StartRight |
	services.StopRight | services.EnumerateDep | services.DeleteRight

// A service that fails is started again after these times in milliseconds, the last of them from then on; after a day
// without a failure the first one counts again.
const failuresReset = 86_400

func failureActions() []services.Action {
	var all []services.Action
	for _, delay := range []uint32{5_000, 10_000, 30_000} {
		all = append(all, services.Action{Type: services.ActionRestart, Delay: delay})
	}
	return all
}

// service is a service as it is to be.
type service struct {
	name, about string
	command     []string
	needs       []string
}

// line returns a command line. No argument has a quotation mark in it: they are paths, names and addresses that are
// checked.
func line(args []string) string {
	var all []string
	for _, a := range args {
		if strings.ContainsAny(a, " \t") {
			a = `"` + a + `"`
		}
		all = append(all, a)
	}
	return strings.Join(all, " ")
}

// mine returns an error if there is a service of that name that is not the node's.
func (c change) mine(name string) error {
	h, err := c.Services.Open(name, services.QueryStatus)
	if errors.Is(err, services.DoesNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for service %s: %w", name, err)
	}
	_ = h.Close() // it was only looked for
	if _, ok := c.journal.Find(journal.Service, name); !ok {
		return fmt.Errorf("service %s: %w: somebody else has made it", name, ErrConflict)
	}
	return nil
}

// serve makes a service and starts it. fresh says that what it reads at its start has changed: it is started anew.
func (c change) serve(s service, fresh bool) error {
	changed, err := c.register(s)
	if err != nil {
		return fmt.Errorf("make service %s: %w", s.name, err)
	}
	h, err := c.Services.Open(s.name, serviceRights)
	if err != nil {
		return fmt.Errorf("open service %s: %w", s.name, err)
	}
	defer h.Close() // nothing is lost

	if fresh || changed {
		if err := c.stop(s.name); err != nil {
			return err
		}
	}

	return startService(s.name, h)
}

func startService(name string, h services.Life) error {
	is, err := h.Status()
	if err == nil && is.State == services.Running {
		return nil
	}
	if err := h.Start(nil); err != nil && !errors.Is(err, services.AlreadyRunning) {
		return fmt.Errorf("start service %s: %w", name, err)
	}

	if is, err = services.Await(h, services.StartPending); err != nil {
		return fmt.Errorf("start service %s: %w", name, err)
	}
	if is.State != services.Running {
		return fmt.Errorf("start service %s: %w: it ended with %d", name, ErrNotReady, is.Exit)
	}

	return nil
}

// register makes a service, or changes it to what it is to be. It reports whether its command line has changed.
func (c change) register(s service) (changed bool, err error) {
	if err := c.mine(s.name); err != nil {
		return false, err
	}
	if err := c.journal.Add(journal.Entry{Kind: journal.Service, Name: s.name}); err != nil {
		return false, err
	}

	binary, account := line(s.command), "LocalSystem"
	settings := services.Change{
		Type: services.OwnProcess, Start: services.StartAuto, ErrorControl: services.ErrorNormal,
		Binary: &binary, Account: &account, Needs: s.needs,
	}
	if settings.Needs == nil {
		settings.Needs = []string{}
	}

	if err := c.Services.Create(s.name, settings); err != nil && !errors.Is(err, services.Exists) {
		return false, err
	}
	h, err := c.Services.Open(s.name, serviceRights)
	if err != nil {
		return false, err
	}
	is, err := h.Config()
	return is.Binary != binary, errors.Join(err, h.Change(settings), h.Describe(s.about),
		h.SetFailure(services.Failure{Reset: failuresReset, Actions: failureActions()}),
		h.SetNumber(services.LevelFailureFlag, 1), // a program that ends with an error has failed too
		h.Close())
}

// stop stops a service and those that need it. One that is not there is stopped.
func (h Host) stop(name string) error {
	s, err := h.Services.Open(name, services.QueryStatus|services.StopRight|services.EnumerateDep)
	if errors.Is(err, services.DoesNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("stop service %s: %w", name, err)
	}
	defer s.Close() // nothing is lost
	needing, err := s.Dependents(services.StateActive)
	if err != nil {
		return fmt.Errorf("stop what needs service %s: %w", name, err)
	}

	for _, n := range needing {
		if err := h.stop(n.Name); err != nil {
			return err
		}
	}

	_, err = s.Control(services.ControlStop)
	if errors.Is(err, services.NotActive) {
		return nil
	}

	if err == nil {
		var is services.Status
		if is, err = services.AwaitStop(s); err == nil && is.State != services.Stopped {
			err = ErrNotReady
		}
	}
	if err != nil {
		return fmt.Errorf("stop service %s: %w", name, err)
	}

	return nil
}

// remove stops a service and deletes it. One that is not there is no error.
func (h Host) remove(name string) error {
	if err := h.stop(name); err != nil {
		return err
	}
	s, err := h.Services.Open(name, services.DeleteRight)
	if errors.Is(err, services.DoesNotExist) {
		return nil
	}

	if err != nil {
		return err
	}
	defer s.Close() // nothing is lost
	if err := s.Delete(); err != nil && !errors.Is(err, services.MarkedForDelete) {
		return err
	}
	return nil
}

// running reports whether a service runs.
func (h Host) running(name string) (there, runs bool, err error) {
	s, err := h.Services.Open(name, services.QueryStatus)
	if errors.Is(err, services.DoesNotExist) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	defer s.Close() // nothing is lost
	is, err := s.Status()
	return true, is.State == services.Running, err
}
