package security

import (
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
)

// policyCmdlets returns the cmdlets of execution policies.
func policyCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		{
			Name:      "Set-ExecutionPolicy",
			About:     "accepts policies that allow scripts, which all run here; others are refused, and none is kept",
			Run:       cmdlet.Nothing,
			Values:    []string{"executionpolicy", "scope"},
			Flags:     []string{"force"},
			Positions: []string{"executionpolicy", "scope"},
			Also:      map[string]string{"ep": "executionpolicy"},
			Needs:     []string{"executionpolicy"},
			Allowed:   map[string][]string{"executionpolicy": {"bypass", "unrestricted", "remotesigned"}},
		},
		{
			Name:  "Get-ExecutionPolicy",
			About: "Bypass, since all scripts run",
			Run:   getPolicy,
			Flags: []string{"list"},
		},
	}
}

// getPolicy outputs the policy that holds, with -List that of each scope: none is set but for the process, where it
// allows all
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.security/get-executionpolicy).
func getPolicy(c *cmdlet.Call) error {
	if !c.Flags["list"] {
		return c.Out.Put("Bypass")
	}
	for _, scope := range []string{"MachinePolicy", "UserPolicy", "Process", "CurrentUser", "LocalMachine"} {
		policy := "Undefined"
		if scope == "Process" {
			policy = "Bypass"
		}
		if err := c.Output(object.New(object.Custom).Set("Scope", scope).Set("ExecutionPolicy", policy)); err != nil {
			return err
		}
	}
	return nil
}
