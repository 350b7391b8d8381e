package utility

import (
	"time"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/object"
)

// getDate outputs now or a given time, with -Format as text.
func getDate(c *cmdlet.Call) error {
	items := c.Items("date")
	if len(items) == 0 && !c.Piped {
		items = []object.Value{object.DateTime{At: time.Now()}}
	}
	for _, item := range items {
		v, err := dotnet.ToDate(item)
		if err != nil {
			return err
		}
		if format, given := c.Values["format"]; given {
			m, _ := v.(object.DateTime)
			if v, err = m.Format(object.Text(format)); err != nil {
				return err
			}
		}
		if err := c.Out.Put(v); err != nil {
			return err
		}
	}
	return nil
}
