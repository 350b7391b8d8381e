package winserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"mullion.dev/mullion/internal/node/nodeconfig"
	"mullion.dev/mullion/internal/winserver/bundle"
	"mullion.dev/mullion/internal/winserver/journal"
)

// formerEnding is put after the name of a program that a new one has replaced, until the new one works.
const formerEnding = ".former"

// Upgrade replaces the programs of the services by those of bundles, one service after the other. If a service does not
// work with its new programs within wait, it gets the former ones back, and Upgrade ends with an error; those before it
// keep the new ones.
func (h Host) Upgrade(ctx context.Context, bundles []string, wait time.Duration, say Say) (err error) {
	j, err := h.Journal()
	if err != nil {
		return err
	}
	c := change{h, j, say}
	staging := h.file(stagingDir)
	if err := os.RemoveAll(staging); err != nil {
		return err
	}

	if err := os.MkdirAll(staging, 0o755); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(staging)) }()
	o := Join{Network: j.Network, Endpoint: j.Endpoint}
	if j.Network == "" {
		o.Network = NetworkNone
	}

	if j.Runtime {
		o.Endpoint = ""
	}
	required, optional := o.programs()
	names, err := bundle.Extract(bundles, staging, nil, append(required, optional...))
	if err != nil {
		return err
	}

	if len(names) == 0 {
		return fmt.Errorf("%w: none of %v", bundle.ErrMissing, required)
	}
	server, err := c.ownServerVersion(ctx)
	if err != nil {
		return err
	}

	if err := c.skew(ctx, server, names); err != nil {
		return err
	}
	for _, of := range []string{containerd, "", kubelet, kubeProxy} { // "": CNI plugins, which no service keeps open
		if err := c.replace(ctx, of, names, wait); err != nil {
			return err
		}
	}

	return nil
}

// replace replaces the programs of one service.
func (c change) replace(ctx context.Context, of string, names []string, wait time.Duration) error {
	if err := c.resumeSwap(ctx, of, names); err != nil {
		return err
	}

	other, err := c.different(of, names)
	if err != nil || len(other) == 0 {
		return err
	}

	var needing []string
	if of != "" {
		if _, ok := c.journal.Find(journal.Service, of); !ok {
			return fmt.Errorf("service %s: %w", of, journal.ErrNone)
		}
		needing = c.allRunning()
		if err := c.stop(of); err != nil {
			return err
		}
	}

	if err := c.swap(ctx, other); err != nil {
		return errors.Join(err, c.swapBack(ctx, other), c.startAll(needing))
	}

	err = c.works(ctx, of, wait)
	if err == nil {
		err = c.startAll(needing)
	}
	if err != nil {
		err = fmt.Errorf("service %s does not work with the new programs: %w", of, err)
		back := errors.Join(c.stop(of), c.swapBack(ctx, other), c.works(ctx, of, wait), c.startAll(needing))
		if back != nil {
			return errors.Join(err, fmt.Errorf("put the former programs back: %w", back))
		}
		return fmt.Errorf("%w; it has the former ones again", err)
	}

	for _, name := range other {
		c.say("replaced %s", windows(place(name)))
		if err := c.removeAll(ctx, place(name)+formerEnding); err != nil {
			return err
		}
	}

	return nil
}

// allRunning returns the services of the node that run, those first that others need.
func (c change) allRunning() []string {
	var all []string
	for _, s := range []string{containerd, kubelet, kubeProxy} {
		if _, runs, err := c.running(s); err == nil && runs {
			all = append(all, s)
		}
	}

	return all
}

// different returns those programs of a service that are others than the staged ones.
func (c change) different(of string, names []string) ([]string, error) {
	var other []string
	for _, name := range names {
		if serviceOf(name) != of {
			continue
		}
		d, err := differs(c.file(path.Join(stagingDir, name)), c.file(place(name)))
		if err != nil {
			return nil, err
		}

		if d {
			other = append(other, name)
		} else {
			c.say("%s is the same", windows(place(name)))
		}
	}

	return other, nil
}

// resumeSwap puts the former programs of a service back, where an upgrade was interrupted before it knew whether the
// new ones work.
func (c change) resumeSwap(ctx context.Context, of string, names []string) error {
	var halfway []string
	for _, name := range names {
		if _, err := os.Lstat(c.file(place(name) + formerEnding)); err == nil && serviceOf(name) == of {
			halfway = append(halfway, name)
		}
	}
	if len(halfway) == 0 {
		return nil
	}

	c.say("an upgrade was interrupted: %v have their former programs back", halfway)
	if of != "" {
		if err := c.stop(of); err != nil {
			return err
		}
	}
	if err := c.swapBack(ctx, halfway); err != nil || of == "" {
		return err
	}

	return c.startAll([]string{of})
}

// swap puts new programs in the place of those that are there, which are kept beside them.
func (c change) swap(ctx context.Context, names []string) error {
	for _, name := range names {
		to := place(name)
		if err := c.removeAll(ctx, to+formerEnding); err != nil {
			return err
		}
		if err := c.keep(to); err != nil {
			return err
		}

		err := c.rename(ctx, to, to+formerEnding)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.Rename(c.file(path.Join(stagingDir, name)), c.file(to)); err != nil {
			return err
		}
	}

	return nil
}

// swapBack undoes swap, also one that failed halfway.
func (c change) swapBack(ctx context.Context, names []string) error {
	for _, name := range names {
		to := place(name)
		if _, err := os.Lstat(c.file(to + formerEnding)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := c.removeAll(ctx, to); err != nil {
			return err
		}
		if err := c.rename(ctx, to+formerEnding, to); err != nil {
			return err
		}
	}
	return nil
}

// rename renames a file. One that is in use is tried again.
func (c change) rename(ctx context.Context, from, to string) error {
	var last error
	err := c.wait(ctx, removePatience, func(context.Context) error {
		last = os.Rename(c.file(from), c.file(to))
		if errors.Is(last, fs.ErrNotExist) {
			return nil
		}
		return last
	})
	if last != nil {
		return last
	}
	return err
}

// startAll starts services again.
func (c change) startAll(names []string) error {
	var errs []error
	for _, name := range names {
		s, err := c.Services.Open(name, serviceRights)
		if err == nil {
			err = errors.Join(startService(name, s), s.Close())
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// works starts a service and waits until it answers.
func (c change) works(ctx context.Context, of string, wait time.Duration) error {
	if of == "" {
		return nil
	}
	if err := c.startAll([]string{of}); err != nil {
		return err
	}
	return c.wait(ctx, wait, func(ctx context.Context) error {
		if _, runs, err := c.running(of); err != nil || !runs {
			return errors.Join(err, fmt.Errorf("service %s does not run", of))
		}
		switch of {
		case kubelet:
			return c.Healthy(ctx, nodeconfig.KubeletHealthPort)
		case kubeProxy:
			return c.Healthy(ctx, nodeconfig.ProxyHealthPort)
		}

		return nil
	})
}
