package management

import (
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
)

// getPSDrive outputs the drives: those of files, and those of the registry, of the certificates and of the session
// (about_Providers).
func getPSDrive(c *cmdlet.Call) error {
	volumes, err := c.State.System.Volumes()
	if err != nil {
		return c.Fail(err)
	}

	var all []*object.Object
	drive := func(name, provider, root string) *object.Object {
		o := object.New(object.Custom).Set("Name", name).Set("Used", nil).Set("Free", nil).
			Set("Provider", `Microsoft.PowerShell.Core\`+provider).Set("Root", root)
		o.Props["psprovider"] = provider
		all = append(all, o)
		return o
	}
	for _, v := range volumes {
		if v.Letter == "" {
			continue
		}
		o := drive(strings.ToUpper(v.Letter), "FileSystem", strings.ToUpper(v.Letter)+`:\`)
		o.Props["used"], o.Props["free"] = v.Size-v.Free, v.Free
	}

	drive("Alias", "Alias", "")
	drive("Cert", "Certificate", `\`)
	drive("Env", "Environment", "")
	drive("Function", "Function", "")
	drive("HKCU", "Registry", "HKEY_CURRENT_USER")
	drive("HKLM", "Registry", "HKEY_LOCAL_MACHINE")
	drive("Variable", "Variable", "")
	slices.SortFunc(all, func(a, b *object.Object) int {
		return strings.Compare(object.Text(a.Props["name"]), object.Text(b.Props["name"]))
	})

	met := map[string]bool{}
	for _, o := range all {
		name, err := c.Wanted("name", o.Props["name"], met)
		if err != nil {
			return err
		}
		provider, err := c.Wanted("psprovider", o.Props["psprovider"], met)
		if err != nil {
			return err
		}
		if !name || !provider {
			continue
		}
		if err := c.Output(o); err != nil {
			return err
		}
	}

	for want := range object.Each(c.Values["name"]) {
		if text := object.Text(want); !met["name "+text] && !strings.ContainsAny(text, "*?[") {
			err := &object.Exception{
				Class: "System.Management.Automation.DriveNotFoundException", Category: object.ObjectNotFound, Target: text,
				ID:      "GetLocationNoMatchingDrive",
				Message: "Cannot find drive. A drive with the name '" + text + "' does not exist.",
			}
			if err := c.Fail(err); err != nil {
				return err
			}
		}
	}

	return nil
}

func driveCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{{
		Name:      "Get-PSDrive",
		Aliases:   []string{"gdr"},
		About:     "the drives of files, of the registry, of certificates and of the session; none can be made",
		Run:       getPSDrive,
		Values:    []string{"name", "psprovider"},
		Positions: []string{"name"},
	}}
}
