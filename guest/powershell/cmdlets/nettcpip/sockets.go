package nettcpip

import (
	"math"
	"net/netip"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/winnet"
)

// states returns the states of connections, by their numbers in MIB_TCP_STATE
// (https://learn.microsoft.com/en-us/powershell/module/nettcpip/get-nettcpconnection).
func states() []string {
	return []string{
		"", "Closed", "Listen", "SynSent", "SynReceived", "Established", "FinWait1", "FinWait2", "CloseWait", "Closing",
		"LastAck", "TimeWait", "DeleteTCB",
	}
}

// connectionObject returns a socket of TCP as Get-NetTCPConnection shows it
// (https://learn.microsoft.com/en-us/windows/win32/fwp/wmi/nettcpipprov/msft-nettcpconnection).
func connectionObject(s winnet.Socket) *object.Object {
	state, setting := "", object.Value(nil)
	if all := states(); int(s.State) < len(all) {
		state = all[s.State]
	}
	if s.State == winnet.StateEstablished {
		setting = "Internet"
	}

	o := object.New("TCP connection").Set("LocalAddress", s.Local.Addr().String()).
		Set("LocalPort", int64(s.Local.Port())).Set("RemoteAddress", remoteOf(s).Addr().String()).
		Set("RemotePort", int64(remoteOf(s).Port())).Set("State", state).Set("AppliedSetting", setting).
		Set("OwningProcess", int64(s.PID))
	o.Props["offloadstate"] = "InHost"
	return o
}

// remoteOf returns the other end of a connection; a socket that listens has none, which is shown as any address.
func remoteOf(s winnet.Socket) netip.AddrPort {
	if s.State != winnet.StateListening && s.Remote.IsValid() {
		return s.Remote
	}
	if s.Local.Addr().Is6() {
		return netip.AddrPortFrom(netip.IPv6Unspecified(), 0)
	}
	return netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
}

// endpointObject returns a socket of UDP as Get-NetUDPEndpoint shows it
// (https://learn.microsoft.com/en-us/windows/win32/fwp/wmi/nettcpipprov/msft-netudpendpoint).
func endpointObject(s winnet.Socket) *object.Object {
	return object.New("UDP endpoint").Set("LocalAddress", s.Local.Addr().String()).
		Set("LocalPort", int64(s.Local.Port())).Set("OwningProcess", int64(s.PID))
}

// getSockets outputs the sockets of a protocol, those of IPv6 before those of IPv4 as Windows does.
func getSockets(protocol, class string, of func(s winnet.Socket) *object.Object) func(c *cmdlet.Call) error {
	return func(c *cmdlet.Call) error {
		if err := numbered(c); err != nil {
			return err
		}
		all, err := c.State.System.Sockets()
		if err != nil {
			return c.Fail(err)
		}

		met := map[string]bool{}
		for _, six := range []bool{true, false} {
			for _, s := range all {
				if s.Protocol != protocol || s.Local.Addr().Is6() != six {
					continue
				}
				if err := putWanted(c, of(s), met); err != nil {
					return err
				}
			}
		}

		return c.Unmet(class, map[string]string{
			"localaddress": "LocalAddress", "localport": "LocalPort", "remoteaddress": "RemoteAddress",
			"remoteport": "RemotePort", "state": "State", "owningprocess": "OwningProcess",
		}, met)
	}
}

// numbered returns the error of a port or process that is no number, or none that there can be, nil without such a one.
func numbered(c *cmdlet.Call) error {
	for parameter, most := range map[string]int64{
		"localport": math.MaxUint16, "remoteport": math.MaxUint16, "owningprocess": math.MaxUint32,
	} {
		for v := range object.Each(c.Values[parameter]) {
			n, err := object.Integer(v)
			if err == nil && n >= 0 && n <= most {
				continue
			}
			to := map[int64]string{math.MaxUint16: "System.UInt16", math.MaxUint32: "System.UInt32"}[most]
			why := object.NotANumber
			if err == nil {
				why = object.OutOfRange(to)
			}
			return c.Unbound(object.Misfit("ParameterArgumentTransformationError",
				"Cannot process argument transformation on parameter '%s'. Cannot convert value \"%s\" to type \"%s\". "+
					"Error: \"%s\"", map[string]string{
					"localport": "LocalPort", "remoteport": "RemotePort", "owningprocess": "OwningProcess",
				}[parameter], object.Text(v), to+"[]", why))
		}
	}
	return nil
}

func socketCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		{
			Name:      "Get-NetTCPConnection",
			About:     "the connections of TCP, and the sockets that listen",
			Run:       getSockets("TCP", "MSFT_NetTCPConnection", connectionObject),
			Values:    []string{"localaddress", "localport", "remoteaddress", "remoteport", "state", "owningprocess"},
			Positions: []string{"localaddress", "localport"},
			Takes:     "localaddress",
			Allowed: map[string][]string{"state": {
				"bound", "closed", "closewait", "closing", "deletetcb", "established", "finwait1", "finwait2", "lastack",
				"listen", "synreceived", "synsent", "timewait",
			}},
		},
		{
			Name:      "Get-NetUDPEndpoint",
			About:     "the sockets of UDP",
			Run:       getSockets("UDP", "MSFT_NetUDPEndpoint", endpointObject),
			Values:    []string{"localaddress", "localport", "owningprocess"},
			Positions: []string{"localaddress", "localport"},
			Takes:     "localaddress",
		},
	}
}
