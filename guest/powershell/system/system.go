package system

import (
	"context"
	"io"
	"net"
	"net/netip"

	"mullion.dev/mullion/guest/certstore"
	"mullion.dev/mullion/guest/counters"
	"mullion.dev/mullion/guest/eventlog"
	"mullion.dev/mullion/guest/schedule"
	"mullion.dev/mullion/guest/token"
	"mullion.dev/mullion/guest/winnet"
	"mullion.dev/mullion/guest/winproc"
	"mullion.dev/mullion/guest/wmi"
	"mullion.dev/mullion/internal/windows/wire/hostdisk"
	"mullion.dev/mullion/internal/windows/wire/hostiscsi"
	"mullion.dev/mullion/internal/windows/wire/smbmapping"
)

// Calls holds the calls of Windows: the Host Networking Service, version 1, access lists, processes, services, network
// adapters and routes, Windows' version, records of DNS, opening a port, clearing the screen, ending a process and
// Windows itself, the registry and WMI.
type Calls struct {
	HNS func(method, path, body string) (string, error)
	// Compute asks the Host Compute Service what it runs.
	Compute func(query string) (string, error)
	ACL     func(path string) (ACL, error)
	// SetACL gives a file a descriptor's owner and rules. descriptor reads one from its text.
	SetACL     func(path string, a ACL) error
	Descriptor func(sddl string) (ACL, error)
	// Identity is who runs the session.
	Identity func() (token.Identity, error)
	// Account finds an account by its name or SID.
	Account func(name string) (sid, full string, err error)

	Processes func() ([]Process, error)
	// Counted is what Windows counts of a process.
	Counted func(id int64) (winproc.Detail, error)
	// CommandLine is how a process was started.
	CommandLine func(id int64) (string, error)

	Adapters func() ([]Adapter, error)
	Services func() ([]Service, error)
	Control  func(ctx context.Context, name, action string, force bool) error
	// NewService makes a service, SetService changes one.
	NewService, SetService func(change ServiceChange) error

	// Sockets are the sockets of TCP and UDP, with their processes.
	Sockets func() ([]winnet.Socket, error)

	Routes func() ([]Route, error)
	// AddRoute makes a route, RemoveRoute removes one.
	AddRoute, RemoveRoute func(Route) error
	// Forwards reports whether packets that are not for this Windows are passed on.
	Forwards func() (bool, error)

	// Volumes are the volumes of this machine.
	Volumes func() ([]Volume, error)
	// Disks asks for the data disks of the host. MountVolume has an empty folder lead to a volume, UnmountVolume makes
	// it a folder again.
	Disks         func(ctx context.Context, request hostdisk.Request) (hostdisk.Answer, error)
	MountVolume   func(path, volume string) error
	UnmountVolume func(path string) error

	// ISCSI asks for the host's iSCSI initiator.
	ISCSI func(ctx context.Context, request hostiscsi.Request) (hostiscsi.Answer, error)
	// SMB asks for SMB mappings.
	SMB func(ctx context.Context, request smbmapping.Request) (smbmapping.Answer, error)

	// Lookup returns the addresses of a host, Echo asks one of them by ICMP.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	Echo   func(to netip.Addr, p Ping) (Echo, error)

	Version func() (string, error)
	Resolve func(name string, kind uint16) ([]DNSRecord, error)
	Listen  func(ctx context.Context, network, address string) (net.Listener, error)
	Clear   func(screen io.Writer) error
	Kill    func(id int64) error
	End     func(restart bool) error // ends Windows
	// Zone is the ID of the time zone, SetZone sets it.
	Zone     func() (string, error)
	SetZone  func(id string) error
	Registry RegistryCalls
	WMI      func(ctx context.Context, namespace, query string) ([]WMIObject, error)
	Events   eventLog

	// Seals seals passwords for files.
	Seals Seals

	Certificates Certificates
	// Groups are the local groups.
	Groups LocalGroups
	// Users are the local accounts.
	Users LocalUsers
	// Tasks are the scheduled tasks.
	Tasks *schedule.Store
	// Counters are the performance counters. Expand returns those that a path with wild cards means, Open reads some.
	Counters interface {
		Expand(path string) ([]string, error)
		Open(paths []string) (counters.Query, error)
	}
}

// Windows has the calls of Windows itself.
func Windows() *Calls {
	return &Calls{
		HNS:       callHNS,
		Compute:   enumerateCompute,
		ACL:       readACL,
		Processes: processes,

		SetACL:     writeACL,
		Descriptor: parseACL,
		Account:    findAccount,
		Identity:   token.Current,

		Counted:     counted,
		CommandLine: commandLine,

		Adapters:   adapters,
		Services:   services,
		Control:    control,
		NewService: createService,
		SetService: changeService,
		Routes:     routes,
		Sockets:    winnet.Sockets,

		AddRoute:    addRoute,
		RemoveRoute: removeRoute,
		Forwards:    forwards,
		Volumes:     volumes,
		Disks:       ask(hostdisk.Call(), noDisks),

		MountVolume:   mountVolume,
		UnmountVolume: unmountVolume,

		SMB: ask(smbmapping.Call(), onHost[smbmapping.Request](
			"The specified service does not exist as an installed service: shares are mapped on the host, and a container "+
				"gets one as a volume.")),
		ISCSI: ask(hostiscsi.Call(), onHost[hostiscsi.Request](
			"The iSCSI Initiator service is not there: sessions are the host's, and a container gets a disk as a volume.")),

		Lookup: lookup,
		Echo:   winnet.SendEcho,

		Version:  windowsVersion,
		Resolve:  resolve,
		Listen:   (&net.ListenConfig{}).Listen,
		Clear:    clearScreen,
		Kill:     killProcess,
		End:      endWindows,
		Zone:     currentZone,
		SetZone:  setZone,
		Registry: theRegistry(),
		WMI:      wmi.Query,
		Events:   eventlog.System{},

		Seals: Seals{Protect: protect, Unprotect: unprotect},

		Certificates: certstore.System{},
		Groups:       localGroups{},
		Users:        localUsers{},
		Tasks:        schedule.This(),
		Counters:     counters.System{},
	}
}
