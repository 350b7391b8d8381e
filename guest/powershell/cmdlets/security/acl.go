package security

import (
	"os"
	"slices"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/system"
)

func getACL(c *cmdlet.Call) error {
	of := func(t cmdlet.Target) error {
		if _, err := os.Stat(t.Full); err != nil {
			return err
		}
		a, err := c.State.System.ACL(t.Full)
		if err != nil {
			return err
		}
		return c.Output(dotnet.ACLObject(a, t.Full))
	}

	if len(c.Values) == 0 && !c.Piped {
		return of(cmdlet.Target{Name: c.State.Dir, Full: c.State.Dir})
	}
	return c.ForEach(of)
}

// setACL carries out Set-Acl: the descriptor of -AclObject or of the pipeline for each path, or for the file that it is
// of.
func setACL(c *cmdlet.Call) error {
	descriptors := c.Input
	if v, byName := c.Values["aclobject"]; byName {
		descriptors = []object.Value{v}
	} else {
		c.Input = nil
	}
	if len(descriptors) == 0 {
		return object.Raise(object.BindingException,
			"Cannot process command because of one or more missing mandatory parameters: AclObject.")
	}

	for _, v := range descriptors {
		o, ok := v.(*object.Object)
		var a *system.ACL
		if ok {
			a, ok = o.Own.(*system.ACL)
		}
		if !ok {
			return object.Raise(object.BindingException,
				"Cannot bind parameter 'AclObject': it is no descriptor of Get-Acl.")
		}

		set := func(t cmdlet.Target) error {
			if _, err := os.Stat(t.Full); err != nil {
				return err
			}
			return c.State.System.SetACL(t.Full, *a)
		}

		err := c.ForEach(set)
		if c.Values[cmdlet.PathName] == nil && c.Values[cmdlet.LiteralName] == nil && len(c.Input) == 0 {
			err = set(cmdlet.Target{Name: a.Path, Full: a.Path})
		}
		if err != nil {
			return err
		}
	}

	return nil
}

// Cmdlets returns the cmdlets of this package.
func Cmdlets() []cmdlet.Cmdlet {
	return slices.Concat(aclCmdlets(), secureCmdlets(), credentialCmdlets(), policyCmdlets())
}

func aclCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:  "Get-Acl",
			Run:   getACL,
			About: "the owner, group and access rules of a file or folder, without wild cards",
		}),
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:      "Set-Acl",
			Run:       setACL,
			Values:    []string{"aclobject"},
			Positions: []string{"aclobject"},
			Takes:     "aclobject|path",
			Needs:     []string{"aclobject|path"},
			About:     "gives a file or folder the owner and the access rules of a descriptor of Get-Acl, without wild cards",
		}),
	}
}
