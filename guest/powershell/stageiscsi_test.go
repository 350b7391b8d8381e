package powershell

import (
	"context"
	"slices"

	"mullion.dev/mullion/internal/windows/wire/hostcall"
	"mullion.dev/mullion/internal/windows/wire/hostiscsi"
)

// stagedISCSI is an initiator that knows one portal, 10.0.0.1, with two targets, one of which wants CHAP.
type stagedISCSI struct {
	disks    *stagedDisks
	portals  []hostiscsi.Portal
	sessions []hostiscsi.Session
	secret   string
}

func (s *stagedISCSI) ask(_ context.Context, r hostiscsi.Request) (a hostiscsi.Answer, err error) {
	const open, guarded = "iqn.2026-11.test:open", "iqn.2026-11.test:guarded"
	of := func(p hostiscsi.Portal) bool { return p.Address == r.Address && p.Port == r.Port }
	at := slices.IndexFunc(s.sessions, func(one hostiscsi.Session) bool { return one.ID == r.Session })
	switch {
	case r.Do == hostiscsi.AddPortal && r.Address != "10.0.0.1":
		return a, hostcall.Refusef(0, "Connection Failed.")
	case r.Do == hostiscsi.AddPortal:
		made := hostiscsi.Portal{
			Address: r.Address,
			Port:    r.Port,
			Targets: []string{guarded, open},
		}
		s.portals = append(s.portals, made)

	case r.Do == hostiscsi.RemovePortal:
		s.portals = slices.DeleteFunc(s.portals, of)
	case r.Do == hostiscsi.SetSecret:
		s.secret = r.Secret
	case r.Do == hostiscsi.Connect && ((r.Target == guarded && r.Secret != "hush-of-the-test") ||
		(r.Authentication == hostiscsi.MutualCHAP && s.secret == "")):
		return a, hostcall.Refusef(0, "Authentication Failure.")

	case r.Do == hostiscsi.Connect:
		const id = "ffffe001b1dd7020-400001370000000"
		a.Session = id + string(rune('2'+len(s.sessions)))
		s.sessions = append(s.sessions, hostiscsi.Session{
			ID: a.Session, Connection: id + "1", Target: r.Target, Address: "10.0.0.1", Port: 3260, LocalAddress: "10.0.0.9", LocalPort: 40000,
			ISID: "800102030405", TSIH: "1", Authentication: r.Authentication, Persistent: r.Persistent, Connected: true,
		})
		s.disks.disks[0].Session, s.disks.disks[0].Bus = a.Session, "iSCSI"

	case r.Do == hostiscsi.Disconnect:
		s.sessions = slices.Delete(s.sessions, at, at+1)
		s.disks.disks[0].Session = ""
	case r.Do == hostiscsi.Register || r.Do == hostiscsi.Unregister:
		s.sessions[at].Persistent = r.Do == hostiscsi.Register
	}

	a.Initiator = "iqn.1991-05.com.microsoft:win-1"
	a.Portals, a.Sessions = slices.Clone(s.portals), slices.Clone(s.sessions)
	return a, nil
}
