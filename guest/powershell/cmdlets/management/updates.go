package management

import (
	"context"
	"time"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/format"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/system"
)

// updatesQuery asks WMI for the updates of Windows.
const updatesQuery = "SELECT * FROM Win32_QuickFixEngineering"

// wineCaption is the caption of the update that Wine's WMI has so that programs find one: none is installed.
const wineCaption = "http://winehq.org"

// getHotFix outputs the updates of Windows
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.management/get-hotfix).
func getHotFix(c *cmdlet.Call) error {
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(c.State.Context, patience)
	defer cancel()
	found, err := c.State.System.WMI(ctx, `root\cimv2`, updatesQuery)
	if err != nil {
		return c.Fail(err)
	}

	met, shown := map[string]bool{}, 0
	for _, one := range found {
		o := update(c, one)
		if object.Text(o.Props["caption"]) == wineCaption {
			continue
		}

		wanted, err := c.Wanted("id", o.Props["hotfixid"], met)
		if err == nil && wanted {
			wanted, err = c.Wanted("description", o.Props["description"], met)
		}
		if err != nil {
			return err
		}
		if !wanted {
			continue
		}
		shown++
		if err := c.Output(o); err != nil {
			return err
		}
	}

	if _, asked := c.Values["id"]; asked && shown == 0 {
		return c.Fail(&object.Exception{
			Class: object.ArgumentException, Category: object.ObjectNotFound, ID: "GetHotFixNoEntriesFound",
			Message: "Cannot find the requested hotfix on the 'localhost' computer. Verify the input and run the command again.",
		})
	}
	return nil
}

// update returns an update as Get-HotFix shows it. What WMI does not know of it is empty.
func update(c *cmdlet.Call, of system.WMIObject) *object.Object {
	o := object.New(format.UpdateKind).Set("Source", c.State.Env["COMPUTERNAME"])
	for _, name := range []string{"Description", "HotFixID", "InstalledBy", "InstalledOn"} {
		o.Set(name, of.Value(name))
	}
	if m, is := of.Value("InstalledOn").(time.Time); is {
		o.Props["installedon"] = object.DateTime{At: m}
	}
	o.Props["caption"], o.Props["csname"] = of.Value("Caption"), c.State.Env["COMPUTERNAME"]
	o.Props["pscomputername"] = c.State.Env["COMPUTERNAME"]
	return o
}

// updateCmdlets returns the cmdlets of Windows' updates.
func updateCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{{
		Name:      "Get-HotFix",
		About:     "the updates that WMI knows; there are none, as nothing updates Wine's Windows",
		Run:       getHotFix,
		Values:    []string{"id", "description"},
		Also:      map[string]string{"hfid": "id"},
		Positions: []string{"id"},
	}}
}
