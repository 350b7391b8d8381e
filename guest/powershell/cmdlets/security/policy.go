package security

import "mullion.dev/mullion/guest/powershell/cmdlet"

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
			Run:   func(c *cmdlet.Call) error { return c.Out.Put("Bypass") },
		},
	}
}
