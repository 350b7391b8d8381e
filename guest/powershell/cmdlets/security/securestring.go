package security

import (
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/object"
)

// convertToSecureString makes a password of a text, which -AsPlainText and -Force have to ask for.
func convertToSecureString(c *cmdlet.Call) error {
	for _, v := range c.Items("string") {
		if err := c.Out.Put(&object.Instance{Of: dotnet.SecureClass(), V: object.Text(v)}); err != nil {
			return err
		}
	}
	return nil
}

// secureCmdlets returns the cmdlets of passwords.
func secureCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{{
		Name:      "ConvertTo-SecureString",
		About:     "a password of a text (-AsPlainText -Force); it is not encrypted",
		Run:       convertToSecureString,
		Values:    []string{"string"},
		Flags:     []string{"asplaintext", "force"},
		Positions: []string{"string"},
		Takes:     "string",
		Needs:     []string{"string", "asplaintext"},
	}}
}
