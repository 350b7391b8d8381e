package security

import (
	"cmp"
	"context"
	"errors"
	"io"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/object"
)

// getCredential asks for a name and a password, or gives back the credential that it is called with
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.security/get-credential). There are no
// windows here: it asks at the console, as Windows PowerShell does with ConsolePrompting. Where nobody answers it fails
// as a host that is not interactive does.
func getCredential(c *cmdlet.Call) error {
	user := c.Text("username")
	switch v := object.Plain(c.Values["credential"]).(type) {
	case *object.Instance:
		if v.Of.Name == dotnet.CredentialKind {
			return c.Out.Put(v)
		}
	case string:
		user = v
	}

	c.Scope.Settle()
	nl := c.State.Newline
	title := nl + "Windows PowerShell credential request" + nl + cmp.Or(c.Text(cmdlet.MessageName), "Enter your credentials.") + nl
	if _, err := io.WriteString(c.State.Stdout, title); err != nil {
		return err
	}

	if user == "" {
		if _, err := io.WriteString(c.State.Stdout, "User: "); err != nil {
			return err
		}
		name, err := dotnet.ReadLine(c.State.Stdin)
		if err != nil {
			return nobodyAnswers(c)
		}
		user = name
	}
	password, err := dotnet.AskSecret(c.State, "Password for user "+user+": ")
	if errors.Is(err, context.Canceled) {
		return err
	}
	if err != nil {
		return nobodyAnswers(c)
	}
	if user == "" {
		return c.Fail(&object.Exception{
			Class: object.ArgumentException, Category: "InvalidArgument", ID: "Argument",
			Message: "Cannot process argument because the value of argument \"userName\" is not valid.",
		})
	}

	secret := &object.Instance{Of: dotnet.SecureClass(), V: password}
	return c.Out.Put(dotnet.NewCredential(user, secret))
}

// nobodyAnswers reports that there is nobody to ask.
func nobodyAnswers(c *cmdlet.Call) error {
	return c.Fail(&object.Exception{
		Class: "System.Management.Automation.PSInvalidOperationException", Category: object.InvalidOperating,
		ID:      "InvalidOperation",
		Message: "Windows PowerShell is in NonInteractive mode. Read and Prompt functionality is not available.",
	})
}

// convertFromSecureString seals passwords for a file.
func convertFromSecureString(c *cmdlet.Call) error {
	for _, v := range c.Items("securestring") {
		secret, is := v.(*object.Instance)
		if !is || secret.Of.Name != dotnet.SecureClass().Name {
			return object.Raise(object.BindingException, "Cannot bind parameter 'SecureString'. Cannot convert the \""+object.Text(v)+
				"\" value of type \""+object.TypeName(v)+"\" to type \"System.Security.SecureString\".")
		}
		sealed, err := c.State.System.Seals.Seal(object.Own[string](secret))
		if err != nil {
			return c.Fail(err)
		}
		if err := c.Out.Put(sealed); err != nil {
			return err
		}
	}
	return nil
}

// credentialCmdlets returns the cmdlets of credentials.
func credentialCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		{
			Name:      "Get-Credential",
			About:     "asks for a name and a password at the console; where nobody answers it fails as a host that is not interactive",
			Run:       getCredential,
			Values:    []string{"credential", cmdlet.MessageName, "username"},
			Positions: []string{"credential"},
		},
		{
			Name:      "ConvertFrom-SecureString",
			About:     "seals a password by CryptProtectData; Wine's seal keeps it from mistakes, not from who has the text",
			Run:       convertFromSecureString,
			Values:    []string{"securestring"},
			Positions: []string{"securestring"},
			Takes:     "securestring",
			Needs:     []string{"securestring"},
		},
	}
}
