package utility

import (
	"os"

	"mullion.dev/mullion/guest/powershell/cmdlet"
)

// assemblies returns the assemblies of .NET that Add-Type may load. Of their types those are here that dotnet.Classes
// has; a statement with another one fails.
func assemblies() []string {
	return []string{
		"microsoft.visualbasic", "system", "system.core", "system.data", "system.io.compression",
		"system.io.compression.filesystem", "system.net", "system.net.http", "system.numerics", "system.security",
		"system.serviceprocess", "system.web", "system.xml",
	}
}

// nothingCmdlets returns the cmdlets that have nothing to do here.
func nothingCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		addTypeCmdlet(),
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:  "Unblock-File",
			About: "nothing, since no file is marked as one from the internet",
			Run: func(c *cmdlet.Call) error {
				return c.ForEach(func(t cmdlet.Target) error { _, err := os.Stat(t.Full); return err })
			},
			Needs: []string{cmdlet.PathName},
		}),
	}
}
