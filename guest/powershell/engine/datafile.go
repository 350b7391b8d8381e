package engine

import (
	"path/filepath"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/module"
	"mullion.dev/mullion/guest/powershell/object"
)

// dataFile returns the hash table of a .psd1 file.
func (in *Interpreter) dataFile(path string) (*object.Hashtable, error) {
	table, err := module.Data(path)
	if err != nil {
		return nil, late(err)
	}

	at := in.Top.child()
	at.Vars["psscriptroot"] = filepath.Dir(path)
	v, err := at.value(table)
	if err != nil {
		return nil, err
	}
	t, _ := v.(*object.Hashtable)
	return t, nil
}

// importDataFile carries out Import-PowerShellDataFile.
func importDataFile(c *cmdlet.Call) error {
	targets, _, err := c.Targets()
	if err != nil {
		return err
	}
	for _, t := range targets {
		table, err := frameOf(c).in.dataFile(t.Full)
		if err != nil {
			return c.Unbound(err)
		}
		if err := c.Out.Put(table); err != nil {
			return err
		}
	}

	return c.ReportMissed()
}
