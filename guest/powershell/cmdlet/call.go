package cmdlet

import (
	"errors"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/words"
)

// WithBlock runs a script block with an object as $_.
func (c *Call) WithBlock(b *object.ScriptBlock, item object.Value, out *object.Sink) error {
	return c.Scope.RunOn(c.Name, b, item, out)
}

// missed reports patterns that match nothing, for cmdlets that need a file.
func (c *Call) missed(patterns []string) error {
	for _, p := range patterns {
		if err := c.Fail(words.Errorf("An object at the specified path %s does not exist.", p)); err != nil {
			return err
		}
	}
	return nil
}

// ForEach calls do for each of the cmdlet's targets. An error with one target does not stop the others.
func (c *Call) ForEach(do func(t Target) error) error {
	targets, _, err := c.Targets()
	if err != nil {
		return err
	}

	for _, t := range targets {
		err := do(t)
		var left *object.Leaving
		if err != nil && !errors.As(err, &left) && c.State.Context.Err() == nil {
			err = c.Fail(provider.Because(t.shown(), err))
		}
		if err != nil {
			return err
		}
	}

	return nil
}

// shown returns how errors name the target: a file by its whole path.
func (t Target) shown() string {
	if _, isKey := t.Key(); isKey {
		return t.Name
	}
	if _, variable := provider.EnvironmentItem(t.Name); variable {
		return t.Name
	}
	return t.Full
}

// ReportMissed reports the patterns of paths that match nothing.
func (c *Call) ReportMissed() error {
	_, missed, err := c.Targets()
	if err != nil {
		return err
	}
	return c.missed(missed)
}

// Output passes an object to the next command, whose errors do not count as this command's.
func (c *Call) Output(v object.Value) error {
	if err := c.Out.Put(v); err != nil {
		if _, left := errors.AsType[*object.Leaving](err); left {
			return err
		}
		return object.Thrown("%s : %v", c.Name, err)
	}
	return nil
}

// Nothing runs a cmdlet that has nothing to do: what it asks for is so already.
func Nothing(*Call) error { return nil }
