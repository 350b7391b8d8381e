package cmdlet

import (
	"fmt"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/provider"
)

// Wanted reports whether a parameter of the call allows a value; names may have wild cards. Each value that it names
// without them, and that is met, is marked in met.
func (c *Call) Wanted(parameter string, v object.Value, met map[string]bool) (bool, error) {
	given, there := c.Values[parameter]
	if !there {
		return true, nil
	}

	found := false
	for want := range object.Each(given) {
		re, err := pattern.Wildcard(object.Text(want))
		if err != nil {
			return false, err
		}
		if re.MatchString(object.Text(v)) {
			found = true
			met[parameter+" "+object.Text(want)] = true
		}
	}

	return found, nil
}

// Unmet reports the values of parameters without wild cards that nothing has.
func (c *Call) Unmet(class string, names map[string]string, met map[string]bool) error {
	for _, parameter := range c.Cmdlet.Values {
		given, there := c.Values[parameter]
		if !there || names[parameter] == "" {
			continue
		}

		for want := range object.Each(given) {
			if met[parameter+" "+object.Text(want)] || provider.HasWildcard(object.Text(want)) {
				continue
			}
			err := &object.Exception{
				Class:    "Microsoft.PowerShell.Cmdletization.Cim.CimJobException",
				ID:       object.FromCIM + "NotFound_" + names[parameter],
				Category: object.ObjectNotFound,
				Target:   object.Plain(want),
				Message: fmt.Sprintf("No %s objects found with property '%s' equal to '%s'.  "+
					"Verify the value of the property and retry.", class, names[parameter], object.Text(want)),
			}
			if err := c.Fail(err); err != nil {
				return err
			}
		}
	}

	return nil
}
