package powershell

func computerCmdlets() []cmdlet {
	of := func(name, about string, restart bool) cmdlet {
		return cmdlet{
			name:  name,
			about: about,
			flags: []string{"force"},
			run: func(c *call) error {
				if err := c.f.in.session.system().end(restart); err != nil {
					return c.fail(itsWords("Failed to end the computer localhost with the following error message: %v", err))
				}
				return nil
			},
		}
	}
	return []cmdlet{
		of("Restart-Computer", "restarts the host, or ends the container", true),
		of("Stop-Computer", "switches the host off, or ends the container", false),
		{
			name:      "Get-ComputerInfo",
			aliases:   []string{"gin"},
			about:     "the computer's name, and the version of Windows that the registry names; no other property",
			values:    []string{"property"},
			positions: []string{"property"},
			run:       computerInfo,
		},
	}
}

// computerInfo outputs what is known of Get-ComputerInfo's properties, or those that -Property names
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.management/get-computerinfo).
func computerInfo(c *call) error {
	_, values, err := c.f.in.session.system().registry.read(
		`HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion`)
	if err != nil {
		return c.fail(err)
	}
	registry := func(name string) string {
		v, _ := findValue(values, name)
		return v.text()
	}
	product, build := registry("ProductName"), registry("CurrentBuildNumber")
	revision, _ := findValue(values, "UBR")
	const version = "10.0." // since Windows Server 2016
	o := newObject(custom)
	for _, p := range [][2]string{
		{"WindowsBuildLabEx", registry("BuildLabEx")},
		{"WindowsCurrentVersion", registry("CurrentVersion")},
		{"WindowsEditionId", registry("EditionID")},
		{"WindowsInstallationType", registry("InstallationType")},
		{"WindowsProductName", product},
		{"WindowsVersion", registry("ReleaseId")},
		{"CsName", c.f.in.env["COMPUTERNAME"]},
		{"OsName", "Microsoft " + product},
		{"OsVersion", version + build},
		{"OsBuildNumber", build},
		{"OsHardwareAbstractionLayer", version + build + "." + text(revision.number())},
	} {
		wanted := c.values["property"] == nil
		for pattern := range each(c.values["property"]) {
			re, err := wildcard(text(pattern))
			if err != nil {
				return err
			}
			wanted = wanted || re.MatchString(lower(p[0]))
		}
		if wanted {
			o.set(p[0], p[1])
		}
	}
	return c.out.put(o)
}
