// Package critest owns the fakes of the parts below the CRI server, for tests without root and Wine: a fake engine,
// fake images and a fake network, a node that runs a server on them, and the suite that both the fake and the real
// engine pass. It runs no program: a container's process is a value whose output and end the test writes. Only tests
// import it.
package critest

import (
	"slices"
	"strings"
	"sync"
)

// Calls records what a server asks of the fakes, in order, and lets a test step in. A call is named after the fake and
// the method, for example "Engine.Create".
type Calls struct {
	mu            sync.Mutex
	made          []string
	before, after map[string]func(id string) error
}

// NewCalls returns a record without calls.
func NewCalls() *Calls {
	return &Calls{before: map[string]func(string) error{}, after: map[string]func(string) error{}}
}

// Before runs step at the beginning of each call of that name. id is what the call is about: a container, a pod, an
// image. If step returns an error, the call returns it and has no effect.
func (c *Calls) Before(name string, step func(id string) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before[name] = step
}

// After runs step at the end of each call of that name. If step returns an error, the call returns it although it had
// its effect.
func (c *Calls) After(name string, step func(id string) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.after[name] = step
}

// Fail makes each call of that name return err without effect.
func (c *Calls) Fail(name string, err error) {
	c.Before(name, func(string) error { return err })
}

// Forget clears the record of calls.
func (c *Calls) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = nil
}

// Reset clears the steps and the record of calls.
func (c *Calls) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = nil
	clear(c.before)
	clear(c.after)
}

// Made returns the calls since the last Reset, with details as in "Engine.Signal killed all". Calls whose names begin
// with one of ignored are left out.
func (c *Calls) Made(ignored ...string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var made []string
	for _, call := range c.made {
		if !slices.ContainsFunc(ignored, func(i string) bool { return strings.HasPrefix(call, i) }) {
			made = append(made, call)
		}
	}
	return made
}

// do records a call and runs it between its steps.
func (c *Calls) do(name, detail, id string, effect func() error) error {
	c.mu.Lock()
	c.made = append(c.made, strings.TrimSpace(name+" "+detail))
	before, after := c.before[name], c.after[name]
	c.mu.Unlock()
	if before != nil {
		if err := before(id); err != nil {
			return err
		}
	}

	if err := effect(); err != nil {
		return err
	}
	if after != nil {
		return after(id)
	}
	return nil
}
