package powershell

import (
	"strings"

	"mullion.dev/mullion/internal/windows/wire/hostiscsi"
)

// The cmdlets of Windows' module iSCSI that change something. The host's agent does it.

// chap fills in how the initiator proves who it is. What a session has of Windows that is not here is refused.
func (c *call) chap(r *hostiscsi.Request) {
	r.Authentication, r.User, r.Secret = strings.ToUpper(c.text("authenticationtype")), c.text("chapusername"), c.text("chapsecret")
}

// newPortal asks a portal for its targets, and keeps it.
func newPortal(c *call) error {
	port, err := c.port("targetportalportnumber")
	if err != nil {
		return c.fail(err)
	}
	r := hostiscsi.Request{Do: hostiscsi.AddPortal, Address: c.text("targetportaladdress"), Port: port}
	c.chap(&r)
	is, _, err := c.askISCSI(r)
	if err != nil {
		return c.fail(err)
	}
	_ = r.Check() // as it was asked for
	for _, o := range is.portals {
		if o.props[ofPortal] == portalName(r.Address, r.Port) {
			return c.show(o)
		}
	}
	return nil
}

// onPortals asks for something of each portal that the call names.
func onPortals(do hostiscsi.Do) func(*call) error {
	return func(c *call) error {
		is, answer, err := c.askISCSI(hostiscsi.Request{Do: hostiscsi.Get})
		if err != nil {
			return c.fail(err)
		}
		chosen, err := c.chooseISCSI("MSFT_iSCSITargetPortal", is.portals)
		if err != nil {
			return err
		}
		for _, p := range answer.Portals {
			for _, o := range chosen {
				if o.props[ofPortal] != portalName(p.Address, p.Port) {
					continue
				}
				if _, _, err := c.askISCSI(hostiscsi.Request{Do: do, Address: p.Address, Port: p.Port}); err != nil {
					return c.fail(err)
				}
			}
		}
		return nil
	}
}

// connectTarget makes a session with each target.
func connectTarget(c *call) error {
	for _, flag := range []string{"IsMultipathEnabled", "IsDataDigest", "IsHeaderDigest", "ReportToPnP"} {
		if v, given := c.values[lower(flag)]; given && truth(v) != (flag == "ReportToPnP") {
			return thrown("%s : -%s $%t is %s.", c.name, flag, truth(v), notHereWords)
		}
	}
	port, err := c.port("targetportalportnumber")
	if err != nil {
		return c.fail(err)
	}
	names := []value{c.values["nodeaddress"]}
	if _, given := c.values["nodeaddress"]; !given {
		names = nil
		for _, v := range c.items(objectName) {
			o, is := v.(*object)
			if !is || o.kind != targetKind {
				return thrown("%s : the input object %s is %s.", c.name, text(v), notHereWords)
			}
			names = append(names, o.props["nodeaddress"])
		}
	}
	for _, name := range names {
		r := hostiscsi.Request{
			Do: hostiscsi.Connect, Target: text(name), Address: c.text("targetportaladdress"), Port: port,
			Persistent: truth(c.values["ispersistent"]),
		}
		c.chap(&r)
		is, answer, err := c.askISCSI(r)
		if err != nil {
			if err := c.fail(err); err != nil {
				return err
			}
			continue
		}
		for _, o := range is.sessions {
			if o.props[ofSession] == answer.Session {
				if err := c.show(o); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// onSessions asks for something of each session of the targets, or of the sessions, that the call names.
func onSessions(do hostiscsi.Do, class string, of func(iscsi) []*object) func(*call) error {
	return func(c *call) error {
		is, answer, err := c.askISCSI(hostiscsi.Request{Do: hostiscsi.Get})
		if err != nil {
			return c.fail(err)
		}
		chosen, err := c.chooseISCSI(class, of(is))
		if err != nil {
			return err
		}
		for _, s := range answer.Sessions {
			for _, o := range chosen {
				if !belongs(o, sessionObject("", s)) {
					continue
				}
				if _, _, err := c.askISCSI(hostiscsi.Request{Do: do, Session: s.ID}); err != nil {
					return c.fail(err)
				}
				break
			}
		}
		return nil
	}
}

// disconnectTarget ends the sessions of targets, or a session.
func disconnectTarget(c *call) error {
	if _, given := c.values["sessionidentifier"]; given {
		return onSessions(hostiscsi.Disconnect, "MSFT_iSCSISession", func(is iscsi) []*object { return is.sessions })(c)
	}
	return onSessions(hostiscsi.Disconnect, "MSFT_iSCSITarget", func(is iscsi) []*object { return is.targets })(c)
}

// setChapSecret sets the secret by which targets prove who they are.
func setChapSecret(c *call) error {
	if _, _, err := c.askISCSI(hostiscsi.Request{Do: hostiscsi.SetSecret, Secret: c.text("chapsecret")}); err != nil {
		return c.fail(err)
	}
	return nil
}

func iscsiChanges() []cmdlet {
	types := map[string][]string{"authenticationtype": {"none", "onewaychap", "mutualchap"}}
	portal := []string{"targetportaladdress", "targetportalportnumber"}
	sessions := func(is iscsi) []*object { return is.sessions }
	return []cmdlet{
		{
			name: "New-IscsiTargetPortal", about: "asks a portal of iSCSI for its targets, and keeps it", run: newPortal,
			values:    []string{"targetportaladdress", "targetportalportnumber", "authenticationtype", "chapusername", "chapsecret"},
			positions: portal[:1], needs: portal[:1], allowed: types,
		},
		{
			name: "Update-IscsiTargetPortal", about: "asks a portal for its targets anew", run: onPortals(hostiscsi.UpdatePortal),
			values: append([]string{objectName}, portal...), positions: portal[:1], takes: objectName,
		},
		{
			name: "Remove-IscsiTargetPortal", about: "forgets a portal; sessions with its targets stay", run: onPortals(hostiscsi.RemovePortal),
			values: append([]string{objectName}, portal...), positions: portal[:1], takes: objectName,
			needs: []string{"targetportaladdress|" + objectName},
		},
		{
			name: "Connect-IscsiTarget", about: "logs in to a target, by CHAP where that is asked for, and gives the host its disks",
			run: connectTarget,
			values: []string{
				"nodeaddress", "targetportaladdress", "targetportalportnumber", "authenticationtype", "chapusername", "chapsecret",
				"ispersistent", "ismultipathenabled", "reporttopnp", "isdatadigest", "isheaderdigest",
			},
			positions: []string{"nodeaddress"}, takes: objectName, needs: []string{"nodeaddress|" + objectName}, allowed: types,
		},
		{
			name: "Disconnect-IscsiTarget", about: "ends the sessions with a target; its disks are in use by nobody",
			run: disconnectTarget, values: []string{"nodeaddress", "sessionidentifier", objectName}, positions: []string{"nodeaddress"},
			takes: objectName,
		},
		{
			name: "Update-IscsiTarget", about: "looks at the disks of a target's sessions anew",
			run:    onSessions(hostiscsi.Rescan, "MSFT_iSCSITarget", func(is iscsi) []*object { return is.targets }),
			values: []string{"nodeaddress"}, positions: []string{"nodeaddress"}, takes: objectName,
		},
		{
			name: "Register-IscsiSession", about: "has a session made again when the host starts",
			run: onSessions(hostiscsi.Register, "MSFT_iSCSISession", sessions), values: []string{"sessionidentifier"},
			positions: []string{"sessionidentifier"}, takes: objectName, needs: []string{"sessionidentifier|" + objectName},
		},
		{
			name: "Unregister-IscsiSession", about: "undoes that",
			run: onSessions(hostiscsi.Unregister, "MSFT_iSCSISession", sessions), values: []string{"sessionidentifier"},
			positions: []string{"sessionidentifier"}, takes: objectName, needs: []string{"sessionidentifier|" + objectName},
		},
		{
			name: "Set-IscsiChapSecret", about: "the secret by which targets prove who they are, for mutual CHAP", run: setChapSecret,
			values: []string{"chapsecret"}, positions: []string{"chapsecret"}, needs: []string{"chapsecret"},
		},
	}
}
