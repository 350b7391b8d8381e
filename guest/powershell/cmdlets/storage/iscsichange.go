package storage

import (
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/words"
	"mullion.dev/mullion/internal/windows/wire/hostiscsi"
)

// The cmdlets of Windows' module iSCSI that change something. The host's agent does it.

// chap fills in how the initiator proves who it is. What a session has of Windows that is not here is refused.
func chap(c *cmdlet.Call, r *hostiscsi.Request) {
	r.Authentication = strings.ToUpper(c.Text("authenticationtype"))
	r.User, r.Secret = c.Text("chapusername"), c.Text("chapsecret")
}

// newPortal asks a portal for its targets, and keeps it.
func newPortal(c *cmdlet.Call) error {
	port, err := port(c, "targetportalportnumber")
	if err != nil {
		return c.Fail(err)
	}

	r := hostiscsi.Request{
		Do:      hostiscsi.AddPortal,
		Address: c.Text("targetportaladdress"),
		Port:    port,
	}
	chap(c, &r)

	is, _, err := askISCSI(c, r)
	if err != nil {
		return c.Fail(err)
	}

	_ = r.Check() // as it was asked for
	for _, o := range is.portals {
		if o.Props[ofPortal] == portalName(r.Address, r.Port) {
			return c.Output(o)
		}
	}

	return nil
}

// onPortals asks for something of each portal that the call names.
func onPortals(do hostiscsi.Do) func(*cmdlet.Call) error {
	return func(c *cmdlet.Call) error {
		is, answer, err := askISCSI(c, hostiscsi.Request{Do: hostiscsi.Get})
		if err != nil {
			return c.Fail(err)
		}

		chosen, err := chooseISCSI(c, "MSFT_iSCSITargetPortal", is.portals)
		if err != nil {
			return err
		}

		for _, p := range answer.Portals {
			for _, o := range chosen {
				if o.Props[ofPortal] != portalName(p.Address, p.Port) {
					continue
				}

				r := hostiscsi.Request{
					Do:      do,
					Address: p.Address,
					Port:    p.Port,
				}
				if _, _, err := askISCSI(c, r); err != nil {
					return c.Fail(err)
				}
			}
		}

		return nil
	}
}

// connectTarget makes a session with each target.
func connectTarget(c *cmdlet.Call) error {
	for _, flag := range []string{"IsMultipathEnabled", "IsDataDigest", "IsHeaderDigest", "ReportToPnP"} {
		if v, given := c.Values[strings.ToLower(flag)]; given && object.Truth(v) != (flag == "ReportToPnP") {
			return object.Thrown("%s : -%s $%t is %s.", c.Name, flag, object.Truth(v), words.NotHere)
		}
	}

	port, err := port(c, "targetportalportnumber")
	if err != nil {
		return c.Fail(err)
	}

	names := []object.Value{c.Values["nodeaddress"]}
	if _, given := c.Values["nodeaddress"]; !given {
		names = nil
		for _, v := range c.Items(cmdlet.ObjectName) {
			o, is := v.(*object.Object)
			if !is || o.Kind != targetKind {
				return object.Thrown("%s : the input object %s is %s.", c.Name, object.Text(v), words.NotHere)
			}
			names = append(names, o.Props["nodeaddress"])
		}
	}

	for _, name := range names {
		r := hostiscsi.Request{
			Do:         hostiscsi.Connect,
			Target:     object.Text(name),
			Address:    c.Text("targetportaladdress"),
			Port:       port,
			Persistent: object.Truth(c.Values["ispersistent"]),
		}
		chap(c, &r)

		is, answer, err := askISCSI(c, r)
		if err != nil {
			if err := c.Fail(err); err != nil {
				return err
			}
			continue
		}

		for _, o := range is.sessions {
			if o.Props[ofSession] == answer.Session {
				if err := c.Output(o); err != nil {
					return err
				}
			}
		}
	}

	return nil
}

// onSessions asks for something of each session of the targets, or of the sessions, that the call names.
func onSessions(do hostiscsi.Do, class string, of func(iscsi) []*object.Object) func(*cmdlet.Call) error {
	return func(c *cmdlet.Call) error {
		is, answer, err := askISCSI(c, hostiscsi.Request{Do: hostiscsi.Get})
		if err != nil {
			return c.Fail(err)
		}

		chosen, err := chooseISCSI(c, class, of(is))
		if err != nil {
			return err
		}

		for _, s := range answer.Sessions {
			for _, o := range chosen {
				if !belongs(o, sessionObject("", s)) {
					continue
				}
				if _, _, err := askISCSI(c, hostiscsi.Request{Do: do, Session: s.ID}); err != nil {
					return c.Fail(err)
				}
				break
			}
		}

		return nil
	}
}

// disconnectTarget ends the sessions of targets, or a session.
func disconnectTarget(c *cmdlet.Call) error {
	if _, given := c.Values["sessionidentifier"]; given {
		return onSessions(hostiscsi.Disconnect, "MSFT_iSCSISession",
			func(is iscsi) []*object.Object { return is.sessions })(c)
	}
	return onSessions(hostiscsi.Disconnect, "MSFT_iSCSITarget",
		func(is iscsi) []*object.Object { return is.targets })(c)
}

// setChapSecret sets the secret by which targets prove who they are.
func setChapSecret(c *cmdlet.Call) error {
	if _, _, err := askISCSI(c, hostiscsi.Request{Do: hostiscsi.SetSecret, Secret: c.Text("chapsecret")}); err != nil {
		return c.Fail(err)
	}
	return nil
}

func iscsiChanges() []cmdlet.Cmdlet {
	types := map[string][]string{"authenticationtype": {"none", "onewaychap", "mutualchap"}}
	portal := []string{"targetportaladdress", "targetportalportnumber"}
	sessions := func(is iscsi) []*object.Object { return is.sessions }
	return []cmdlet.Cmdlet{
		{
			Name:  "New-IscsiTargetPortal",
			About: "asks a portal of iSCSI for its targets, and keeps it",
			Run:   newPortal,
			Values: []string{
				"targetportaladdress", "targetportalportnumber", "authenticationtype", "chapusername",
				"chapsecret",
			},
			Positions: portal[:1],
			Needs:     portal[:1],
			Allowed:   types,
		},
		{
			Name:      "Update-IscsiTargetPortal",
			About:     "asks a portal for its targets anew",
			Run:       onPortals(hostiscsi.UpdatePortal),
			Values:    append([]string{cmdlet.ObjectName}, portal...),
			Positions: portal[:1],
			Takes:     cmdlet.ObjectName,
		},
		{
			Name:      "Remove-IscsiTargetPortal",
			About:     "forgets a portal; sessions with its targets stay",
			Run:       onPortals(hostiscsi.RemovePortal),
			Values:    append([]string{cmdlet.ObjectName}, portal...),
			Positions: portal[:1],
			Takes:     cmdlet.ObjectName,
			Needs:     []string{"targetportaladdress|" + cmdlet.ObjectName},
		},
		{
			Name:  "Connect-IscsiTarget",
			About: "logs in to a target, by CHAP where that is asked for, and gives the host its disks",
			Run:   connectTarget,
			Values: []string{
				"nodeaddress", "targetportaladdress", "targetportalportnumber", "authenticationtype", "chapusername",
				"chapsecret",
				"ispersistent", "ismultipathenabled", "reporttopnp", "isdatadigest", "isheaderdigest",
			},
			Positions: []string{"nodeaddress"},
			Takes:     cmdlet.ObjectName,
			Needs: []string{"nodeaddress|" +
				cmdlet.ObjectName},
			Allowed: types,
		},
		{
			Name:  "Disconnect-IscsiTarget",
			About: "ends the sessions with a target; its disks are in use by nobody",
			Run:   disconnectTarget,
			Values: []string{
				"nodeaddress", "sessionidentifier",
				cmdlet.ObjectName,
			},
			Positions: []string{"nodeaddress"},
			Takes:     cmdlet.ObjectName,
		},
		{
			Name:  "Update-IscsiTarget",
			About: "looks at the disks of a target's sessions anew",
			Run: onSessions(hostiscsi.Rescan, "MSFT_iSCSITarget",
				func(is iscsi) []*object.Object { return is.targets }),
			Values:    []string{"nodeaddress"},
			Positions: []string{"nodeaddress"},
			Takes:     cmdlet.ObjectName,
		},
		{
			Name:      "Register-IscsiSession",
			About:     "has a session made again when the host starts",
			Run:       onSessions(hostiscsi.Register, "MSFT_iSCSISession", sessions),
			Values:    []string{"sessionidentifier"},
			Positions: []string{"sessionidentifier"},
			Takes:     cmdlet.ObjectName,
			Needs: []string{"sessionidentifier|" +
				cmdlet.ObjectName},
		},
		{
			Name:      "Unregister-IscsiSession",
			About:     "undoes that",
			Run:       onSessions(hostiscsi.Unregister, "MSFT_iSCSISession", sessions),
			Values:    []string{"sessionidentifier"},
			Positions: []string{"sessionidentifier"},
			Takes:     cmdlet.ObjectName,
			Needs: []string{"sessionidentifier|" +
				cmdlet.ObjectName},
		},
		{
			Name:      "Set-IscsiChapSecret",
			About:     "the secret by which targets prove who they are, for mutual CHAP",
			Run:       setChapSecret,
			Values:    []string{"chapsecret"},
			Positions: []string{"chapsecret"},
			Needs:     []string{"chapsecret"},
		},
	}
}
