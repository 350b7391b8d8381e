package storage

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/words"
	"mullion.dev/mullion/internal/windows/wire/hostiscsi"
)

// The cmdlets of Windows' module iSCSI that read (https://learn.microsoft.com/en-us/powershell/module/iscsi); those that
// change are in iscsichange.go. The host's agent is the initiator.

// The kinds of the objects that are portals, targets, sessions, connections and the port of the initiator.
const (
	portalKind     = "iSCSI target portal"
	targetKind     = "iSCSI target"
	sessionKind    = "iSCSI session"
	connectionKind = "iSCSI connection"
	portKind       = "initiator port"
)

// Properties that scripts do not see, by which objects belong to one another.
const (
	ofSession = "iscsi.session" // a session's identifier
	ofPortal  = "iscsi.portal"  // its address and port
	ofTargets = "iscsi.targets" // names of targets
)

// initiatorInstance is what Windows calls its own initiator.
const initiatorInstance = `ROOT\ISCSIPRT\0000_0`

// iscsi is what the initiator has, as objects.
type iscsi struct {
	portals, targets, sessions, connections []*object.Object
	port                                    *object.Object
}

// askISCSI asks the host's agent, and returns what there is then.
func askISCSI(c *cmdlet.Call, request hostiscsi.Request) (iscsi, hostiscsi.Answer, error) {
	if err := hostiscsi.Call().Valid(&request); err != nil {
		return iscsi{}, hostiscsi.Answer{}, err
	}
	answer, err := c.State.System.ISCSI(c.State.Context, request)
	return iscsiOf(answer), answer, err
}

// iscsiOf makes the objects (https://learn.microsoft.com/previous-versions/windows/desktop/iscsidisc, MSFT_iSCSI…).
func iscsiOf(a hostiscsi.Answer) iscsi {
	found := map[string]bool{} // targets, and whether each has a session
	var is iscsi
	for _, p := range a.Portals {
		is.portals = append(is.portals, portalObject(p))
		for _, t := range p.Targets {
			found[t] = found[t] || false
		}
	}

	for _, s := range a.Sessions {
		found[s.Target] = true
		is.sessions = append(is.sessions, sessionObject(a.Initiator, s))
		is.connections = append(is.connections, connectionObject(s))
	}

	for _, name := range slices.Sorted(maps.Keys(found)) {
		o := object.New(targetKind).Set("IsConnected", found[name]).Set("NodeAddress", name)
		o.Props[ofTargets] = []object.Value{name}
		is.targets = append(is.targets, o)
	}

	is.port = object.New(portKind).Set("InstanceName", initiatorInstance).Set("NodeAddress", a.Initiator).
		Set("PortAddress", "ISCSI ANY PORT").Set("ConnectionType", "iSCSI")
	return is
}

func portalObject(p hostiscsi.Portal) *object.Object {
	o := object.New(portalKind).Set("InitiatorInstanceName", nil).Set("InitiatorPortalAddress", nil).
		Set("IsDataDigest", false).Set("IsHeaderDigest", false).Set("TargetPortalAddress", p.Address).
		Set("TargetPortalPortNumber", int64(p.Port))
	targets := []object.Value{}
	for _, t := range p.Targets {
		targets = append(targets, t)
	}
	o.Props[ofTargets], o.Props[ofPortal] = targets, portalName(p.Address, p.Port)
	return o
}

func portalName(address string, port uint16) string { return fmt.Sprintf("%s %d", address, port) }

func sessionObject(initiator string, s hostiscsi.Session) *object.Object {
	o := object.New(sessionKind).Set("AuthenticationType", s.Authentication).
		Set("InitiatorInstanceName", initiatorInstance).
		Set("InitiatorNodeAddress", initiator).Set("InitiatorPortalAddress", cmp.Or(s.LocalAddress, "0.0.0.0")).
		Set("InitiatorSideIdentifier", s.ISID).Set("IsConnected", s.Connected).Set("IsDataDigest", false).
		Set("IsDiscovered", true).Set("IsHeaderDigest", false).Set("IsPersistent", s.Persistent).
		Set("NumberOfConnections", int64(1)).Set("SessionIdentifier", s.ID).Set("TargetNodeAddress", s.Target).
		Set("TargetSideIdentifier", s.TSIH)
	link(o, s)
	return o
}

func connectionObject(s hostiscsi.Session) *object.Object {
	o := object.New(connectionKind).Set("ConnectionIdentifier", s.Connection).Set("InitiatorAddress", s.LocalAddress).
		Set("InitiatorPortNumber", int64(s.LocalPort)).Set("TargetAddress", s.Address).
		Set("TargetPortNumber", int64(s.Port))
	link(o, s)
	return o
}

func link(o *object.Object, s hostiscsi.Session) {
	o.Props[ofSession] = s.ID
	o.Props[ofPortal] = portalName(s.Address, s.Port)
	o.Props[ofTargets] = []object.Value{s.Target}
}

// belongs reports whether two objects of the initiator belong together: they are of one session, of one portal, or of a
// target that both have.
func belongs(a, b *object.Object) bool {
	for _, property := range []string{ofSession, ofPortal} {
		if a.Has(property) && b.Has(property) {
			return object.Text(a.Props[property]) == object.Text(b.Props[property])
		}
	}

	for name := range object.Each(a.Props[ofTargets]) {
		for other := range object.Each(b.Props[ofTargets]) {
			if object.Text(name) == object.Text(other) {
				return true
			}
		}
	}

	return a.Kind == portKind || b.Kind == portKind
}

// iscsiNames returns the properties of the parameters that name portals, targets, sessions and connections.
func iscsiNames() map[string]string {
	return map[string]string{
		"targetportaladdress": "TargetPortalAddress", "targetportalportnumber": "TargetPortalPortNumber",
		"nodeaddress": "NodeAddress", "sessionidentifier": "SessionIdentifier",
		"connectionidentifier": "ConnectionIdentifier", "targetaddress": "TargetAddress",
		"instancename": "InstanceName",
	}
}

// chooseISCSI gives those of the objects that belong to those of the pipeline or of a parameter, and that the
// parameters name.
func chooseISCSI(c *cmdlet.Call, class string, all []*object.Object) ([]*object.Object, error) {
	given, by, err := givenISCSI(c)
	if err != nil {
		return nil, err
	}
	if by {
		all = slices.DeleteFunc(slices.Clone(all), func(one *object.Object) bool {
			return !slices.ContainsFunc(given, func(o *object.Object) bool { return belongs(o, one) })
		})
	}
	return namedBy(c, iscsiNames(), class, all)
}

// givenISCSI returns the objects of the pipeline and of parameters; by is false where the call has none.
func givenISCSI(c *cmdlet.Call) (given []*object.Object, by bool, err error) {
	all := slices.Clone(c.Input)
	by = c.Piped
	for _, parameter := range c.Cmdlet.Values {
		v, there := c.Values[parameter]
		takes := strings.HasPrefix(parameter, "iscsi") || parameter == cmdlet.ObjectName || parameter == "initiatorport"
		if !there || !takes {
			continue
		}

		items := slices.Collect(object.Each(v))
		if len(items) == 0 {
			return nil, false, object.Thrown("%s : Cannot validate argument on parameter '%s'. The argument is null or empty.",
				c.Name, parameter)
		}

		all, by = append(all, items...), true
	}

	for _, v := range all {
		o, is := v.(*object.Object)
		if !is || (!o.Has(ofSession) && !o.Has(ofTargets) && o.Kind != portKind) {
			return nil, false, object.Thrown("%s : the input object %s is %s.", c.Name, object.Text(v), words.NotHere)
		}
		given = append(given, o)
	}

	return given, by, nil
}

// readsISCSI returns a cmdlet that shows the objects that are chosen.
func readsISCSI(class string, of func(iscsi) []*object.Object) func(*cmdlet.Call) error {
	return func(c *cmdlet.Call) error {
		is, _, err := askISCSI(c, hostiscsi.Request{Do: hostiscsi.Get})
		if err != nil {
			return c.Fail(err)
		}

		chosen, err := chooseISCSI(c, class, of(is))
		if err != nil {
			return err
		}

		for _, o := range chosen {
			if err := c.Output(o); err != nil {
				return err
			}
		}

		return nil
	}
}

// port returns a port that a parameter gives, 0 without one.
func port(c *cmdlet.Call, parameter string) (uint16, error) {
	v, given := c.Values[parameter]
	if !given {
		return 0, nil
	}
	n, err := object.Integer(v)
	if err == nil && (n < 1 || n > math.MaxUint16) {
		err = words.Errorf("Invalid Parameter: %s is no port.", object.Text(v))
	}
	return uint16(n), err // a port
}

func iscsiCmdlets() []cmdlet.Cmdlet {
	return append([]cmdlet.Cmdlet{
		{
			Name:  "Get-IscsiTargetPortal",
			About: "the portals of iSCSI where the host looks for targets",
			Run:   readsISCSI("MSFT_iSCSITargetPortal", func(is iscsi) []*object.Object { return is.portals }),
			Values: []string{
				"targetportaladdress", "targetportalportnumber",
				"iscsitarget",
			},
			Positions: []string{"targetportaladdress"},
			Takes:     cmdlet.ObjectName,
		},
		{
			Name:  "Get-IscsiTarget",
			About: "the targets that were found there, and those with a session",
			Run:   readsISCSI("MSFT_iSCSITarget", func(is iscsi) []*object.Object { return is.targets }),
			Values: []string{
				"nodeaddress", "iscsitargetportal", "iscsisession", "iscsiconnection",
				"initiatorport",
			},
			Positions: []string{"nodeaddress"},
			Takes:     cmdlet.ObjectName,
		},
		{
			Name:  "Get-IscsiSession",
			About: "the sessions of the host with targets of iSCSI",
			Run:   readsISCSI("MSFT_iSCSISession", func(is iscsi) []*object.Object { return is.sessions }),
			Values: []string{
				"sessionidentifier", "iscsitarget", "iscsitargetportal", "iscsiconnection",
				"initiatorport",
			},
			Positions: []string{"sessionidentifier"},
			Takes:     cmdlet.ObjectName,
		},
		{
			Name:  "Get-IscsiConnection",
			About: "the connection of each session",
			Run:   readsISCSI("MSFT_iSCSIConnection", func(is iscsi) []*object.Object { return is.connections }),
			Values: []string{
				"connectionidentifier", "targetaddress", "iscsitarget", "iscsitargetportal",
				"iscsisession", "initiatorport",
			},
			Positions: []string{"connectionidentifier"},
			Takes:     cmdlet.ObjectName,
		},
		{
			Name:  "Get-InitiatorPort",
			About: "the host's initiator of iSCSI, with its name",
			Run: readsISCSI("MSFT_InitiatorPort",
				func(is iscsi) []*object.Object { return []*object.Object{is.port} }),
			Values: []string{
				"nodeaddress",
				"instancename",
			},
			Positions: []string{"nodeaddress"},
			Takes:     cmdlet.ObjectName,
		},
	}, iscsiChanges()...)
}
