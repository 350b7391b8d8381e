package security

import (
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/object"
)

// convertToSecureString makes a password of a text, which -AsPlainText and -Force have to ask for, or opens one that
// ConvertFrom-SecureString has sealed.
func convertToSecureString(c *cmdlet.Call) error {
	for _, v := range c.Items("string") {
		text := object.Text(v)
		if !c.Flags["asplaintext"] {
			opened, err := c.State.System.Seals.Open(text)
			if err != nil {
				if err := c.Fail(&object.Exception{
					Class: "System.FormatException", Category: "InvalidArgument", ID: "ImportSecureString_InvalidArgument",
					Message: err.Error(),
				}); err != nil {
					return err
				}
				continue
			}
			text = opened
		} else if !c.Flags["force"] && !c.State.Core {
			return c.Fail(&object.Exception{
				Class: object.ArgumentException, Category: "InvalidArgument", ID: "ImportSecureString_ForceRequired",
				Message: "The system cannot protect plain text input. To suppress this warning and convert the plain text to a " +
					"SecureString, reissue the command specifying the Force parameter.",
			})
		}
		if err := c.Out.Put(&object.Instance{Of: dotnet.SecureClass(), V: text}); err != nil {
			return err
		}
	}
	return nil
}

// secureCmdlets returns the cmdlets of passwords.
func secureCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{{
		Name:      "ConvertTo-SecureString",
		About:     "a password of a text (-AsPlainText -Force), or of what ConvertFrom-SecureString has sealed; it is not encrypted",
		Run:       convertToSecureString,
		Values:    []string{"string"},
		Flags:     []string{"asplaintext", "force"},
		Positions: []string{"string"},
		Takes:     "string",
		Needs:     []string{"string"},
	}}
}
