package hcs

import (
	"path/filepath"

	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/hostpipes"
	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/wire/piperelay"
)

// mappedPipe is a named pipe of the host in a container. Its name in the container is without the prefix.
type mappedPipe struct {
	ContainerPipeName string
	HostPath          string
	HostPathType      string // of virtual machines
}

// pipes returns the named pipes of the host that the container has.
func (c *container) pipes() (pipes []hostpipes.Pipe) {
	for _, p := range c.MappedPipes {
		pipes = append(pipes, hostpipes.Pipe{Host: p.HostPath, Container: piperelay.Prefix + p.ContainerPipeName})
	}
	return pipes
}

// checkPipes refuses what is no named pipe.
func (c *container) checkPipes() error {
	for _, p := range c.MappedPipes {
		if p.HostPathType != "" {
			return refuse(NotSupported, "the HostPathType %q of a mapped pipe is not supported", p.HostPathType)
		}
	}
	if err := hostpipes.Check(c.pipes()); err != nil {
		return refuse(InvalidArg, "%v", err)
	}
	return nil
}

// pipesDir has the sockets of the container's pipes.
func (c *computeSystem) pipesDir() string { return filepath.Join(c.dir(), "pipes") }

// mountPipes makes what the container sees of its pipes; nothing without pipes.
func (c *computeSystem) mountPipes() ([]engine.BindMount, error) {
	if len(c.doc.Container.MappedPipes) == 0 {
		return nil, nil
	}
	mount, err := hostpipes.Mount(c.pipesDir())
	return []engine.BindMount{mount}, err
}

// openPipes serves the container's pipes until closePipes, or until the service ends.
func (c *computeSystem) openPipes(user string) error {
	pipes := c.doc.Container.pipes()
	if len(pipes) == 0 {
		return nil
	}
	as := piperelay.Unprivileged
	if user == wine.AdminUser {
		as = piperelay.Administrator
	}

	server := hostpipes.Server{Connect: c.service.cfg.HostPipe, Go: c.service.background.Go}
	end, err := server.Serve(c.service.life, c.pipesDir(), as, pipes)
	if err != nil {
		return err
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	c.endPipes = end
	return nil
}

// reopenPipes serves the pipes of a container that an earlier service has started. One that cannot have them goes on.
func (c *computeSystem) reopenPipes() {
	user, err := c.scratch.userOf()
	if err == nil {
		err = c.openPipes(user)
	}
	if err != nil {
		c.service.cfg.Log.Error("compute system has lost its pipes", "id", c.id, "error", err)
	}
}

// closePipes ends what openPipes has begun.
func (c *computeSystem) closePipes() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.endPipes != nil {
		c.endPipes()
		c.endPipes = nil
	}
}
