package dotnet

import (
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// secureKind is the type of passwords, CredentialKind that of a user's name with one. The text of a password is not
// encrypted here, and is not shown.
const (
	secureKind     = "System.Security.SecureString"
	CredentialKind = "System.Management.Automation.PSCredential"
)

// Credential is a PSCredential.
type Credential struct {
	User     string
	Password *object.Instance // of SecureClass
}

// SecureClass returns the class SecureString.
func SecureClass() *object.Class {
	return &object.Class{
		Name:   secureKind,
		Others: []string{"securestring"},
		Text:   func(any) string { return secureKind },
		Props: []object.Field{{
			Name: "Length",
			Get: func(_ *session.State, of object.Value) (object.Value, error) {
				return int64(len([]rune(object.Own[string](of)))), nil
			},
		}},
	}
}

// NewCredential returns a PSCredential; the password is an object of SecureClass.
func NewCredential(user string, password *object.Instance) *object.Instance {
	return &object.Instance{Of: credentialClass(), V: Credential{user, password}}
}

func credentialClass() *object.Class {
	return &object.Class{
		Name:   CredentialKind,
		Others: []string{"pscredential", "management.automation.pscredential"},
		Make: &object.Method{
			Least: 2,
			Most:  2,
			Do: func(c *object.Call) (object.Value, error) {
				password, ok := c.Arg(1).(*object.Instance)
				if !ok || password.Of.Name != secureKind || c.Text(0) == "" {
					return nil, object.Raise("System.Management.Automation.PSArgumentException",
						`Cannot process argument because the value of argument "userName" or "password" is not valid.`)
				}
				return NewCredential(c.Text(0), password), nil
			},
		},
		Props: []object.Field{
			{
				Name: "UserName",
				Get: func(_ *session.State, of object.Value) (object.Value, error) {
					return object.Own[Credential](of).User, nil
				},
			},
			{
				Name: "Password",
				Get: func(_ *session.State, of object.Value) (object.Value, error) {
					return object.Own[Credential](of).Password, nil
				},
			},
		},
		Methods: []object.Method{{
			Name: "GetNetworkCredential",
			Do: func(c *object.Call) (object.Value, error) {
				is := object.Own[Credential](c.On)
				domain, user, two := strings.Cut(is.User, `\`)
				if !two {
					domain, user = "", is.User
				}
				return object.New(object.Custom).Set("UserName", user).Set("Password", object.Own[string](is.Password)).
					Set("Domain", domain), nil
			},
		}},
	}
}
