package powershell

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

func writeOutput(c *call) error {
	for v := range each(c.values["inputobject"]) {
		if err := c.out.put(v); err != nil {
			return err
		}
	}
	for _, v := range c.input {
		if err := c.out.put(v); err != nil {
			return err
		}
	}
	return nil
}

func writeHost(c *call) error {
	end := c.f.in.session.Newline
	if c.flags["nonewline"] {
		end = ""
	}
	var v value = c.input
	if !c.piped {
		v = c.values["object"]
	}
	separator := " "
	if given, ok := c.values["separator"]; ok {
		separator = text(given)
	}
	var parts []string
	for item := range each(v) {
		parts = append(parts, text(item))
	}
	return c.f.in.message(informationStream, strings.Join(parts, separator), end)
}

func writeError(c *call) error { return c.fail(fmt.Errorf("%s", text(one(c.items(messageName))))) }

// writes returns a cmdlet that prints a message if the preference for its kind says so.
func writes(kind, mark string) func(c *call) error {
	return func(c *call) error {
		what := c.f.preference(kind + "preference")
		if on, given := c.flags[kind]; given {
			what = "silentlycontinue"
			if on {
				what = "continue"
			}
		}
		if what == "silentlycontinue" {
			return nil
		}
		message := text(one(c.items(messageName)))
		shown := message
		stream := map[string]rune{"warning": warningsStream, "verbose": verboseStream, "debug": debugStream}[kind]
		if c.f.in.messages[stream] == nil {
			shown = mark + ": " + message
		}
		err := c.f.in.message(stream, shown, c.f.in.session.Newline)
		if err == nil && what == "stop" {
			return fatal("The running command stopped because its preference is Stop: %s", message)
		}
		return err
	}
}

func outString(c *call) error {
	f := &formatter{newline: c.f.in.session.Newline}
	if v, ok := c.values["width"]; ok {
		n, err := integer(v)
		if err != nil || n < 2 {
			return thrown("%s : -Width is a number, 2 or more, not %s.", c.name, text(v))
		}
		f.width = int(n)
	}
	s, err := f.text(c.items(objectName))
	switch {
	case err != nil:
		return err
	case !c.flags["stream"]:
		return c.out.put(s)
	case s == "":
		return nil
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(s, f.newline), f.newline) {
		if err := c.out.put(line); err != nil {
			return err
		}
	}
	return nil
}

func startSleep(c *call) error {
	seconds, err := floating(c.values["seconds"])
	if err != nil {
		return err
	}
	millis, err := floating(c.values["milliseconds"])
	if err != nil {
		return err
	}
	if len(c.values) == 0 || seconds < 0 || millis < 0 {
		return thrown("Start-Sleep : a number of seconds or milliseconds, 0 or more, is missing.")
	}
	t := time.NewTimer(time.Duration(seconds*float64(time.Second) + millis*float64(time.Millisecond)))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-c.f.in.ctx.Done():
		return c.f.in.ctx.Err()
	}
}

// with runs a cmdlet's script block with an object as $_, in the scope of the cmdlet's caller.
func (c *call) with(name string, item value, out *sink) error {
	b, ok := c.values[name].(*scriptBlock)
	if !ok {
		return thrown("%s : a script block is missing.", c.name)
	}
	return c.withBlock(b, item, out)
}

// withBlock runs a script block with an object as $_.
func (c *call) withBlock(b *scriptBlock, item value, out *sink) error {
	if b.script.sections {
		return thrown("%s : a script block with begin, process or end is not part of Mullion's PowerShell here.", c.name)
	}
	if len(b.script.params) > 0 {
		return thrown("%s : a script block with parameters is not part of Mullion's PowerShell here.", c.name)
	}
	before, had := c.f.vars["_"]
	c.f.vars["_"] = item
	leave := c.f.in.enter(b.script)
	err := b.script.body.run(c.f, out)
	c.f.in.mark(err)
	leave()
	delete(c.f.vars, "_")
	if had {
		c.f.vars["_"] = before
	}
	if left, ok := errors.AsType[*leaving](err); ok && left.word == "return" {
		return nil
	}
	return err
}

func whereObject(c *call) error {
	if _, ok := c.values["filterscript"].(*scriptBlock); !ok {
		return compared(c)
	}
	for _, item := range c.input {
		var got []value
		if err := c.with("filterscript", item, collect(&got)); err != nil {
			return err
		}
		if truth(one(got)) {
			if err := c.out.put(item); err != nil {
				return err
			}
		}
	}
	return nil
}

func forEachObject(c *call) error {
	if name, ok := c.values["process"].(string); ok {
		return c.members(name)
	}
	for _, item := range c.input {
		if err := c.with("process", item, c.out); err != nil {
			return err
		}
	}
	return nil
}

// members outputs a property of each object, or what a method of that name returns.
func (c *call) members(name string) error {
	for _, item := range c.input {
		var v value
		var err error
		if class := classOf(item); class != nil && find(class.methods, name).takes(0) {
			v, err = c.f.method(item, name, nil)
		} else {
			v, err = property(item, lower(name))
		}
		if err != nil {
			return err
		}
		for one := range each(v) {
			if err := c.out.put(one); err != nil {
				return err
			}
		}
	}
	return nil
}
