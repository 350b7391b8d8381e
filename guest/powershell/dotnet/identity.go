package dotnet

import (
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/token"
)

// roleName is the enumeration of the groups that Windows always has.
const roleName = "Security.Principal.WindowsBuiltInRole"

// identityClass returns the class WindowsIdentity: who runs the session
// (https://learn.microsoft.com/en-us/dotnet/api/system.security.principal.windowsidentity).
func identityClass() *object.Class {
	of := func(name string, get func(i *token.Identity) object.Value) object.Field {
		return object.Field{Name: name, Get: func(_ *session.State, v object.Value) (object.Value, error) {
			return get(object.Own[*token.Identity](v)), nil
		}}
	}

	account := func(sid string) object.Value {
		return &object.Instance{Of: accountClass("SecurityIdentifier"), V: sid}
	}

	return &object.Class{
		Name: "System.Security.Principal.WindowsIdentity",
		Text: func(v any) string { return "System.Security.Principal.WindowsIdentity" },
		Calls: []object.Method{{Name: "GetCurrent", Most: 1, Do: func(c *object.Call) (object.Value, error) {
			i, err := c.State.System.Identity()
			return &object.Instance{Of: identityClass(), V: &i}, err
		}}},
		ByProperties: true,
		Props: []object.Field{
			of("AuthenticationType", func(*token.Identity) object.Value { return "NTLM" }),
			of("ImpersonationLevel", func(*token.Identity) object.Value { return "None" }),
			of("IsAuthenticated", func(*token.Identity) object.Value { return true }),
			of("IsGuest", func(*token.Identity) object.Value { return false }),
			of("IsSystem", func(i *token.Identity) object.Value { return i.SID == "S-1-5-18" }),
			of("IsAnonymous", func(*token.Identity) object.Value { return false }),
			of("Name", func(i *token.Identity) object.Value { return i.User }),
			of("Owner", func(i *token.Identity) object.Value { return account(i.SID) }),
			of("User", func(i *token.Identity) object.Value { return account(i.SID) }),
			of("Groups", func(i *token.Identity) object.Value {
				out := []object.Value{}
				for _, g := range i.Groups {
					out = append(out, account(g.SID))
				}
				return out
			}),
		},
		Methods: []object.Method{{Name: "Dispose", Do: func(*object.Call) (object.Value, error) { return nil, nil }}},
	}
}

// principalClass returns the class WindowsPrincipal: which groups an identity is in.
func principalClass() *object.Class {
	return &object.Class{
		Name: "System.Security.Principal.WindowsPrincipal",
		Make: &object.Method{Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
			i := object.Own[*token.Identity](c.Arg(0))
			if i == nil {
				return nil, object.CannotConvert(c.Arg(0), "System.Security.Principal.WindowsIdentity")
			}
			return &object.Instance{Of: principalClass(), V: i}, nil
		}},
		Props: []object.Field{{Name: "Identity", Get: func(_ *session.State, v object.Value) (object.Value, error) {
			return &object.Instance{Of: identityClass(), V: object.Own[*token.Identity](v)}, nil
		}}},
		Methods: []object.Method{{Name: "IsInRole", Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
			return inRole(object.Own[*token.Identity](c.On), c.Arg(0)), nil
		}}},
	}
}

// inRole reports whether an identity is in a group: a role, its number, a SID, or a name.
func inRole(i *token.Identity, role object.Value) bool {
	sid := object.Text(role)
	if e, ok := object.EnumOf(roleName).Parsed(object.Plain(role)); ok {
		sid = roleSID(e.N)
	}
	if sid == "S-1-5-32-544" && i.SID == "S-1-5-18" { // LocalSystem is one of them
		return true
	}
	return slices.ContainsFunc(i.Groups, func(g token.Group) bool {
		return strings.EqualFold(g.SID, sid) || strings.EqualFold(g.Name, sid)
	})
}

// roleSID returns the SID of a group that Windows always has, by its number in WindowsBuiltInRole.
func roleSID(n int64) string { return "S-1-5-32-" + object.Text(n) }
