package critest

import (
	"maps"
	"os"
	"slices"

	"mullion.dev/mullion/internal/runtime/engine"
)

// Process returns a container's process, running or ended; nil if the container is not there or was not started.
func (e *Engine) Process(id string) *Process {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.containers[id]; c != nil {
		return c.task
	}
	return nil
}

// Container returns what Create was given for a container, as updated since, and whether its process runs.
func (e *Engine) Container(id string) (c engine.Container, running bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	found := e.containers[id]
	if found == nil {
		return engine.Container{}, false
	}
	return found.Container, found.task != nil && found.task.running()
}

// Containers returns the ids of all containers.
func (e *Engine) Containers() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(maps.Keys(e.containers))
}

// Size returns the last size of a container's terminal.
func (e *Engine) Size(id string) (width, height uint16) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sizes[id][0], e.sizes[id][1]
}

// SetUsage sets what Usage answers for a container.
func (e *Engine) SetUsage(id string, usage engine.Usage) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.usage[id] = usage
}

// Reboot does what a reboot of the machine does: the containers' processes are gone and were not seen to end.
func (e *Engine) Reboot() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.containers {
		if c.task != nil {
			c.task.End(exitKilled)
			c.task = nil
		}
	}
}

// Lose removes a container behind the server's back.
func (e *Engine) Lose(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.containers[id]; c != nil && c.task != nil {
		c.task.End(exitKilled)
	}
	delete(e.containers, id)
}

// SetUnread sets what waits in the sockets of a network namespace.
func (e *Engine) SetUnread(netns string, bytes int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unread[netns] = bytes
}

// Listening reports whether a server has called OutOfMemory and waits for its events.
func (e *Engine) Listening() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.outOfMem) > 0
}

// RunOutOfMemory does what the kernel does to a container that reaches its memory limit: it tells the listeners and
// kills the process.
func (e *Engine) RunOutOfMemory(id string) {
	e.mu.Lock()
	listeners := slices.Collect(maps.Values(e.outOfMem))
	e.mu.Unlock()
	for _, seen := range listeners {
		seen(id)
	}
	if p := e.Process(id); p != nil {
		p.End(exitKilled)
	}
}

// MakeWorkDir makes a plain folder: a test without root cannot mount.
func (*Engine) MakeWorkDir(dir string) error { return os.MkdirAll(dir, 0o755) }

// RemoveWorkDir removes the folder.
func (*Engine) RemoveWorkDir(dir string) error { return os.RemoveAll(dir) }
