package utility

import (
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
)

// verbs returns the verbs that commands may have, by their groups
// (https://learn.microsoft.com/en-us/powershell/scripting/developer/cmdlet/approved-verbs-for-windows-powershell-commands,
// those of Windows PowerShell 5.1).
func verbs() [][2]string {
	return [][2]string{
		{"Common", "Add Clear Close Copy Enter Exit Find Format Get Hide Join Lock Move New Open Optimize Pop Push Redo Remove Rename Reset " +
			"Resize Search Select Set Show Skip Split Step Switch Undo Unlock Watch"},
		{"Data", "Backup Checkpoint Compare Compress Convert ConvertFrom ConvertTo Dismount Edit Expand Export Group Import Initialize Limit " +
			"Merge Mount Out Publish Restore Save Sync Unpublish Update"},
		{"Lifecycle", "Approve Assert Complete Confirm Deny Disable Enable Install Invoke Register Request Restart Resume Start Stop Submit " +
			"Suspend Uninstall Unregister Wait"},
		{"Diagnostic", "Debug Measure Ping Repair Resolve Test Trace"},
		{"Communications", "Connect Disconnect Read Receive Send Write"},
		{"Security", "Block Grant Protect Revoke Unblock Unprotect"},
		{"Other", "Use"},
	}
}

// getVerb outputs the verbs, or those that some names fit
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/get-verb).
func getVerb(c *cmdlet.Call) error {
	names := c.Items("verb")
	if len(names) == 0 && !c.Piped {
		names = []object.Value{"*"}
	}

	for _, group := range verbs() {
		for verb := range strings.FieldsSeq(group[1]) {
			for _, name := range names {
				re, err := pattern.Wildcard(object.Text(name))
				if err != nil {
					return err
				}
				if !re.MatchString(verb) {
					continue
				}

				if err := c.Out.Put(object.New(object.Custom).Set("Verb", verb).Set("Group", group[0])); err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}

func getVerbCmdlet() cmdlet.Cmdlet {
	return cmdlet.Cmdlet{
		Name:      "Get-Verb",
		About:     "the verbs that commands may have",
		Run:       getVerb,
		Values:    []string{"verb"},
		Positions: []string{"verb"},
		Takes:     "verb",
	}
}
