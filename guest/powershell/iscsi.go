package powershell

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

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
	portals, targets, sessions, connections []*object
	port                                    *object
}

// askISCSI asks the host's agent, and returns what there is then.
func (c *call) askISCSI(request hostiscsi.Request) (iscsi, hostiscsi.Answer, error) {
	if err := request.Check(); err != nil {
		return iscsi{}, hostiscsi.Answer{}, itsWords("Invalid Parameter: %v", err)
	}
	answer, err := c.f.in.session.system().iscsi(c.f.in.ctx, request)
	if err == nil && answer.Error != "" {
		err = itsWords("%s", answer.Error)
	}
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
		o := newObject(targetKind).set("IsConnected", found[name]).set("NodeAddress", name)
		o.props[ofTargets] = []value{name}
		is.targets = append(is.targets, o)
	}
	is.port = newObject(portKind).set("InstanceName", initiatorInstance).set("NodeAddress", a.Initiator).
		set("PortAddress", "ISCSI ANY PORT").set("ConnectionType", "iSCSI")
	return is
}

func portalObject(p hostiscsi.Portal) *object {
	o := newObject(portalKind).set("InitiatorInstanceName", nil).set("InitiatorPortalAddress", nil).
		set("IsDataDigest", false).set("IsHeaderDigest", false).set("TargetPortalAddress", p.Address).
		set("TargetPortalPortNumber", int64(p.Port))
	targets := []value{}
	for _, t := range p.Targets {
		targets = append(targets, t)
	}
	o.props[ofTargets], o.props[ofPortal] = targets, portalName(p.Address, p.Port)
	return o
}

func portalName(address string, port uint16) string { return fmt.Sprintf("%s %d", address, port) }

func sessionObject(initiator string, s hostiscsi.Session) *object {
	o := newObject(sessionKind).set("AuthenticationType", s.Authentication).set("InitiatorInstanceName", initiatorInstance).
		set("InitiatorNodeAddress", initiator).set("InitiatorPortalAddress", cmp.Or(s.LocalAddress, "0.0.0.0")).
		set("InitiatorSideIdentifier", s.ISID).set("IsConnected", s.Connected).set("IsDataDigest", false).
		set("IsDiscovered", true).set("IsHeaderDigest", false).set("IsPersistent", s.Persistent).
		set("NumberOfConnections", int64(1)).set("SessionIdentifier", s.ID).set("TargetNodeAddress", s.Target).
		set("TargetSideIdentifier", s.TSIH)
	o.link(s)
	return o
}

func connectionObject(s hostiscsi.Session) *object {
	o := newObject(connectionKind).set("ConnectionIdentifier", s.Connection).set("InitiatorAddress", s.LocalAddress).
		set("InitiatorPortNumber", int64(s.LocalPort)).set("TargetAddress", s.Address).set("TargetPortNumber", int64(s.Port))
	o.link(s)
	return o
}

func (o *object) link(s hostiscsi.Session) {
	o.props[ofSession], o.props[ofPortal], o.props[ofTargets] = s.ID, portalName(s.Address, s.Port), []value{s.Target}
}

// belongs reports whether two objects of the initiator belong together: they are of one session, of one portal, or of a
// target that both have.
func belongs(a, b *object) bool {
	for _, property := range []string{ofSession, ofPortal} {
		if a.has(property) && b.has(property) {
			return text(a.props[property]) == text(b.props[property])
		}
	}
	for name := range each(a.props[ofTargets]) {
		for other := range each(b.props[ofTargets]) {
			if text(name) == text(other) {
				return true
			}
		}
	}
	return a.kind == portKind || b.kind == portKind
}

// iscsiNames are the properties of the parameters that name portals, targets, sessions and connections.
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
func (c *call) chooseISCSI(class string, all []*object) ([]*object, error) {
	given, by, err := c.givenISCSI()
	if err != nil {
		return nil, err
	}
	if by {
		all = slices.DeleteFunc(slices.Clone(all), func(one *object) bool {
			return !slices.ContainsFunc(given, func(o *object) bool { return belongs(o, one) })
		})
	}
	return c.namedBy(iscsiNames(), class, all)
}

// givenISCSI are the objects of the pipeline and of parameters; by is false where the call has none.
func (c *call) givenISCSI() (given []*object, by bool, err error) {
	all := slices.Clone(c.input)
	by = c.piped
	for _, parameter := range c.cmdlet.values {
		v, there := c.values[parameter]
		takes := strings.HasPrefix(parameter, "iscsi") || parameter == objectName || parameter == "initiatorport"
		if !there || !takes {
			continue
		}
		items := slices.Collect(each(v))
		if len(items) == 0 {
			return nil, false, thrown("%s : Cannot validate argument on parameter '%s'. The argument is null or empty.",
				c.name, parameter)
		}
		all, by = append(all, items...), true
	}
	for _, v := range all {
		o, is := v.(*object)
		if !is || !o.has(ofSession) && !o.has(ofTargets) && o.kind != portKind {
			return nil, false, thrown("%s : the input object %s is %s.", c.name, text(v), notHereWords)
		}
		given = append(given, o)
	}
	return given, by, nil
}

// readsISCSI is a cmdlet that shows the objects that are chosen.
func readsISCSI(class string, of func(iscsi) []*object) func(*call) error {
	return func(c *call) error {
		is, _, err := c.askISCSI(hostiscsi.Request{Do: hostiscsi.Get})
		if err != nil {
			return c.fail(err)
		}
		chosen, err := c.chooseISCSI(class, of(is))
		if err != nil {
			return err
		}
		for _, o := range chosen {
			if err := c.show(o); err != nil {
				return err
			}
		}
		return nil
	}
}

// port is a port that a parameter gives, 0 without one.
func (c *call) port(parameter string) (uint16, error) {
	v, given := c.values[parameter]
	if !given {
		return 0, nil
	}
	n, err := integer(v)
	if err == nil && (n < 1 || n > math.MaxUint16) {
		err = itsWords("Invalid Parameter: %s is no port.", text(v))
	}
	return uint16(n), err // a port
}

func iscsiCmdlets() []cmdlet {
	return append([]cmdlet{
		{
			name: "Get-IscsiTargetPortal", about: "the portals of iSCSI where the host looks for targets",
			run:    readsISCSI("MSFT_iSCSITargetPortal", func(is iscsi) []*object { return is.portals }),
			values: []string{"targetportaladdress", "targetportalportnumber", "iscsitarget"}, positions: []string{"targetportaladdress"},
			takes: objectName,
		},
		{
			name: "Get-IscsiTarget", about: "the targets that were found there, and those with a session",
			run:    readsISCSI("MSFT_iSCSITarget", func(is iscsi) []*object { return is.targets }),
			values: []string{"nodeaddress", "iscsitargetportal", "iscsisession", "iscsiconnection", "initiatorport"}, positions: []string{"nodeaddress"},
			takes: objectName,
		},
		{
			name: "Get-IscsiSession", about: "the sessions of the host with targets of iSCSI",
			run:    readsISCSI("MSFT_iSCSISession", func(is iscsi) []*object { return is.sessions }),
			values: []string{"sessionidentifier", "iscsitarget", "iscsitargetportal", "iscsiconnection", "initiatorport"}, positions: []string{"sessionidentifier"},
			takes: objectName,
		},
		{
			name: "Get-IscsiConnection", about: "the connection of each session",
			run:    readsISCSI("MSFT_iSCSIConnection", func(is iscsi) []*object { return is.connections }),
			values: []string{"connectionidentifier", "targetaddress", "iscsitarget", "iscsitargetportal", "iscsisession", "initiatorport"}, positions: []string{"connectionidentifier"},
			takes: objectName,
		},
		{
			name: "Get-InitiatorPort", about: "the host's initiator of iSCSI, with its name",
			run:    readsISCSI("MSFT_InitiatorPort", func(is iscsi) []*object { return []*object{is.port} }),
			values: []string{"nodeaddress", "instancename"}, positions: []string{"nodeaddress"}, takes: objectName,
		},
	}, iscsiChanges()...)
}
