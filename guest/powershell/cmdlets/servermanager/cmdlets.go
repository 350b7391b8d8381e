package servermanager

import (
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
)

// named returns the features whose names a pattern matches.
func named(wanted string, name func(f feature) string) ([]feature, error) {
	re, err := pattern.Wildcard(wanted)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(features(), func(f feature) bool { return name(f) == "" || !re.MatchString(name(f)) }), nil
}

func serverName(f feature) string   { return f.name }
func optionalName(f feature) string { return f.optional }

// get outputs the features that a call names, all without a name.
func get(
	parameter string, name func(f feature) string, show func(f feature, here bool) *object.Object,
) func(c *cmdlet.Call) error {
	return func(c *cmdlet.Call) error {
		here, err := installed(c.State)
		if err != nil {
			return c.Fail(err)
		}

		names := c.Names(parameter, parameter)
		if len(names) == 0 {
			names = []string{"*"}
		}

		for _, one := range names {
			found, err := named(one, name)
			if err != nil {
				return err
			}
			for _, f := range found {
				if err := c.Out.Put(show(f, here(f))); err != nil {
					return err
				}
			}
		}

		return nil
	}
}

// failed reports an error of these modules, as Windows has it.
func failed(c *cmdlet.Call, id, category, target, message string) error {
	return c.Fail(&object.Exception{
		Class: "System.Exception", ID: id, Category: category, Target: target, Message: message,
	})
}

// noSource returns what Windows says of a feature that is not here and whose files nobody has (0x800f081f,
// CBS_E_SOURCE_MISSING,
// https://learn.microsoft.com/en-us/windows-hardware/manufacture/desktop/configure-a-windows-repair-source).
func noSource(f feature) string {
	text := "The source files could not be found. Error: 0x800f081f. In Mullion: there are no files of " + f.display + " to add."
	if f.hint != "" {
		text += " But " + f.hint + "."
	}
	return text
}

// change returns the run of Install-WindowsFeature: what is here already is done, what is not cannot be added. With
// remove it returns that of Uninstall-WindowsFeature, the other way around.
func change(remove bool) func(c *cmdlet.Call) error {
	return func(c *cmdlet.Call) error {
		here, err := installed(c.State)
		if err != nil {
			return c.Fail(err)
		}

		for _, one := range c.Names("name", "name") {
			found, err := named(one, serverName)
			if err != nil {
				return err
			}

			if len(found) == 0 {
				err := failed(c, "NameDoesNotExist", "InvalidArgument", one, fmt.Sprintf(
					"ArgumentNotValid: The role, role service, or feature name is not valid: '%s'. The name was not found.", one))
				if err != nil {
					return err
				}
				continue
			}

			for _, f := range found {
				if here(f) == remove {
					text := "The request to add or remove features on the specified server failed. "
					if remove {
						text += "In Mullion: " + f.display + " is a part of this Windows, and cannot be removed."
					} else {
						text += "Installation of one or more roles, role services, or features failed. " + noSource(f)
					}
					if err := failed(c, "DISMAPI_Error__Cbs_Download_Failure", "InvalidOperation", f.name, text); err != nil {
						return err
					}
					continue
				}

				if err := c.Out.Put(object.New("feature change").Set("Success", true).Set("RestartNeeded", "No").
					Set("ExitCode", "NoChangeNeeded").Set("FeatureResult", []object.Value{})); err != nil {
					return err
				}
			}
		}

		return nil
	}
}

// enable returns the run of Enable-WindowsOptionalFeature, and with disable that of Disable-WindowsOptionalFeature.
func enable(disable bool) func(c *cmdlet.Call) error {
	return func(c *cmdlet.Call) error {
		here, err := installed(c.State)
		if err != nil {
			return c.Fail(err)
		}

		for _, one := range c.Names("featurename", "featurename") {
			i := slices.IndexFunc(features(), func(f feature) bool {
				return f.optional != "" && strings.EqualFold(f.optional, one)
			})

			text := ""
			switch {
			case i < 0:
				text = "Feature name " + one + " is unknown."
			case here(features()[i]) == disable && disable:
				text = "In Mullion: " + features()[i].display + " is a part of this Windows, and cannot be disabled."
			case here(features()[i]) == disable:
				text = noSource(features()[i])
			}

			if text != "" {
				if err := failed(c, "Microsoft.Dism.Commands."+strings.ReplaceAll(c.Name, "-", "")+"Command", "NotSpecified", one,
					text); err != nil {
					return err
				}
				continue
			}

			o := object.New("image change").Set("Path", "").Set("Online", true).Set("RestartNeeded", false)
			if err := c.Out.Put(o); err != nil {
				return err
			}
		}

		return nil
	}
}

// Cmdlets returns the cmdlets of this package.
func Cmdlets() []cmdlet.Cmdlet {
	server := func(c cmdlet.Cmdlet) cmdlet.Cmdlet {
		c.Values = []string{"name", "computername"}
		c.Allowed = map[string][]string{"computername": {"localhost", "."}}
		c.Positions, c.Takes = []string{"name"}, "name"
		return c
	}

	optional := func(c cmdlet.Cmdlet) cmdlet.Cmdlet {
		c.Values = []string{"featurename"}
		c.Flags = append([]string{"online"}, c.Flags...)
		c.Takes = "featurename"
		c.Needs = append([]string{"online"}, c.Needs...)
		return c
	}

	changes := []string{"includemanagementtools", "includeallsubfeature", "restart"}
	return []cmdlet.Cmdlet{
		server(cmdlet.Cmdlet{
			Name: "Get-WindowsFeature", Run: get("name", serverName, serverObject),
			About: "Windows Server's features that scripts ask for: Installed if what they bring is here, otherwise Removed",
		}),
		server(cmdlet.Cmdlet{
			Name: "Install-WindowsFeature", Aliases: []string{"add-windowsfeature"}, Run: change(false), Flags: changes,
			Needs: []string{"name"},
			About: "succeeds for a feature that is here; for another one its source files could not be found",
		}),
		server(cmdlet.Cmdlet{
			Name: "Uninstall-WindowsFeature", Aliases: []string{"remove-windowsfeature"}, Run: change(true),
			Flags: []string{"includemanagementtools", "remove", "restart"}, Needs: []string{"name"},
			About: "succeeds for a feature that is not here; another one cannot be removed",
		}),
		optional(cmdlet.Cmdlet{
			Name: "Get-WindowsOptionalFeature", Run: get("featurename", optionalName, optionalObject),
			About: "the optional features that scripts ask for: Enabled if what they bring is here",
		}),
		optional(cmdlet.Cmdlet{
			Name: "Enable-WindowsOptionalFeature", Run: enable(false), Flags: []string{"all", "norestart", "limitaccess"},
			Needs: []string{"featurename"},
			About: "succeeds for a feature that is here; for another one the source files could not be found",
		}),
		optional(cmdlet.Cmdlet{
			Name: "Disable-WindowsOptionalFeature", Run: enable(true), Flags: []string{"norestart", "remove"},
			Needs: []string{"featurename"},
			About: "succeeds for a feature that is not here; another one cannot be disabled",
		}),
	}
}
