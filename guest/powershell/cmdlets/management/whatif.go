package management

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
)

// withWhatIf gives the cmdlets of this package that change something what they say with -WhatIf, in the words of
// Windows PowerShell
// (https://learn.microsoft.com/en-us/powershell/scripting/learn/deep-dives/everything-about-shouldprocess).
func withWhatIf(all []cmdlet.Cmdlet) []cmdlet.Cmdlet {
	says := map[string]func(c *cmdlet.Call) ([]cmdlet.Deed, error){
		"Remove-Item":      itemDeeds("Remove", ""),
		"Clear-Content":    itemDeeds("Clear Content", "Item: "),
		"Set-Content":      itemDeeds("Set Content", "Path: "),
		"Add-Content":      itemDeeds("Add Content", "Path: "),
		"Copy-Item":        wayDeeds("Copy", "destination"),
		"Move-Item":        wayDeeds("Move", "destination"),
		"Rename-Item":      wayDeeds("Rename", "newname"),
		"New-Item":         newDeeds,
		"Stop-Process":     processDeeds,
		"Start-Service":    serviceDeeds("Start-Service"),
		"Stop-Service":     serviceDeeds("Stop-Service"),
		"Restart-Service":  serviceDeeds("Restart-Service"),
		"Remove-Service":   serviceDeeds("Remove-Service"),
		"Restart-Computer": computerDeeds("Enable the Local shutdown access rights and restart the computer."),
		"Stop-Computer":    computerDeeds("Turn off the computer."),
	}
	for i, c := range all {
		all[i].WhatIf = says[c.Name]
	}
	return all
}

// itemDeeds says what is done to each item; a verb alone is followed by File, Directory or Key.
func itemDeeds(what, before string) func(c *cmdlet.Call) ([]cmdlet.Deed, error) {
	return func(c *cmdlet.Call) (deeds []cmdlet.Deed, err error) {
		return deeds, c.ForEach(func(t cmdlet.Target) error {
			one, err := ofItem(t, what, before == "")
			if one.On = before + one.On; err == nil {
				deeds = append(deeds, one)
			}
			return err
		})
	}
}

// ofItem returns what is done to an item. kind says that what is followed by the item's kind, and that it has to be
// there.
func ofItem(t cmdlet.Target, what string, kind bool) (cmdlet.Deed, error) {
	if _, is := t.Key(); is {
		return cmdlet.Deed{What: what + " Key", On: "Item: " + t.Name}, nil
	}
	if _, is := provider.EnvironmentItem(t.Name); is {
		return cmdlet.Deed{What: what + " Item", On: "Item: " + t.Name}, nil
	}
	if !kind {
		return cmdlet.Deed{What: what, On: t.Full}, nil
	}

	info, err := os.Lstat(t.Full)
	if err != nil {
		return cmdlet.Deed{}, err
	}
	if info.IsDir() {
		return cmdlet.Deed{What: what + " Directory", On: t.Full}, nil
	}
	return cmdlet.Deed{What: what + " File", On: t.Full}, nil
}

// wayDeeds says from where to where items go.
func wayDeeds(verb, parameter string) func(c *cmdlet.Call) ([]cmdlet.Deed, error) {
	return func(c *cmdlet.Call) (deeds []cmdlet.Deed, err error) {
		return deeds, c.ForEach(func(t cmdlet.Target) error {
			to := c.State.Dir
			switch name := c.Text(parameter); {
			case parameter == "newname":
				to = filepath.Join(filepath.Dir(t.Full), name)
			case name != "":
				to = c.State.Path(name)
			}
			if info, err := os.Stat(to); err == nil && info.IsDir() && parameter != "newname" {
				to = filepath.Join(to, filepath.Base(t.Full))
			}

			one, err := ofItem(t, verb, true)
			if one.On = "Item: " + one.On + " Destination: " + to; err == nil {
				deeds = append(deeds, one)
			}
			return err
		})
	}
}

// newDeeds says what New-Item makes.
func newDeeds(c *cmdlet.Call) (deeds []cmdlet.Deed, err error) {
	what := "Create File"
	switch strings.ToLower(c.Text("itemtype") + c.Text("type")) {
	case "directory":
		what = "Create Directory"
	case symbolicLink:
		what = "Create Symbolic Link"
	}
	if err := joinName(c); err != nil {
		return nil, err
	}
	return deeds, c.ForEach(func(t cmdlet.Target) error {
		one := cmdlet.Deed{What: what, On: "Destination: " + t.Full}
		if _, is := t.Key(); is {
			one = cmdlet.Deed{What: "Create Key", On: "Item: " + t.Name}
		}
		deeds = append(deeds, one)
		return nil
	})
}

func processDeeds(c *cmdlet.Call) (deeds []cmdlet.Deed, err error) {
	found, err := chosenProcesses(c)
	for _, p := range found {
		deeds = append(deeds, cmdlet.Deed{What: "Stop-Process", On: fmt.Sprintf("%s (%d)", shortName(p), p.ID)})
	}
	return deeds, err
}

func serviceDeeds(what string) func(c *cmdlet.Call) ([]cmdlet.Deed, error) {
	return func(c *cmdlet.Call) (deeds []cmdlet.Deed, err error) {
		found, err := chosen(c)
		for _, s := range found {
			o := serviceObject(s)
			on := object.Text(o.Value("displayname")) + " (" + s.Name + ")"
			deeds = append(deeds, cmdlet.Deed{What: what, On: on})
		}
		return deeds, err
	}
}

func computerDeeds(what string) func(c *cmdlet.Call) ([]cmdlet.Deed, error) {
	return func(c *cmdlet.Call) ([]cmdlet.Deed, error) {
		return []cmdlet.Deed{{What: what, On: "localhost (" + c.State.Env["COMPUTERNAME"] + ")"}}, nil
	}
}
