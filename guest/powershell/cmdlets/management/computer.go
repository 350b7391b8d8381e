package management

import (
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/words"
)

func computerCmdlets() []cmdlet.Cmdlet {
	of := func(name, about string, restart bool) cmdlet.Cmdlet {
		return cmdlet.Cmdlet{
			Name:  name,
			About: about,
			Flags: []string{"force"},
			Run: func(c *cmdlet.Call) error {
				if err := c.State.System.End(restart); err != nil {
					return c.Fail(words.Errorf("Failed to end the computer localhost with the following error message: %v", err))
				}
				return nil
			},
		}
	}

	return []cmdlet.Cmdlet{
		of("Restart-Computer", "restarts the host, or ends the container", true),
		of("Stop-Computer", "switches the host off, or ends the container", false),
		{
			Name:      "Get-ComputerInfo",
			Aliases:   []string{"gin"},
			About:     "the computer's name, and the version of Windows that the registry names; no other property",
			Values:    []string{"property"},
			Positions: []string{"property"},
			Run:       computerInfo,
		},
	}
}

// computerInfo outputs what is known of Get-ComputerInfo's properties, or those that -Property names
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.management/get-computerinfo).
func computerInfo(c *cmdlet.Call) error {
	_, values, err := c.State.System.Registry.Read(
		`HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion`)
	if err != nil {
		return c.Fail(err)
	}
	registry := func(name string) string {
		v, _ := provider.FindValue(values, name)
		return v.Text()
	}

	product, build := registry("ProductName"), registry("CurrentBuildNumber")
	revision, _ := provider.FindValue(values, "UBR")
	const version = "10.0." // since Windows Server 2016
	o := object.New(object.Custom)
	for _, p := range [][2]string{
		{"WindowsBuildLabEx", registry("BuildLabEx")},
		{"WindowsCurrentVersion", registry("CurrentVersion")},
		{"WindowsEditionId", registry("EditionID")},
		{"WindowsInstallationType", registry("InstallationType")},
		{"WindowsProductName", product},
		{"WindowsVersion", registry("ReleaseId")},
		{"CsName", c.State.Env["COMPUTERNAME"]},
		{"OsName", "Microsoft " + product},
		{"OsVersion", version + build},
		{"OsBuildNumber", build},
		{"OsHardwareAbstractionLayer", version + build + "." + object.Text(revision.Number())},
	} {
		wanted := c.Values["property"] == nil
		for one := range object.Each(c.Values["property"]) {
			re, err := pattern.Wildcard(object.Text(one))
			if err != nil {
				return err
			}
			wanted = wanted || re.MatchString(strings.ToLower(p[0]))
		}
		if wanted {
			o.Set(p[0], p[1])
		}
	}

	return c.Out.Put(o)
}
