// Package servermanager has the cmdlets for Windows' features, those of the modules ServerManager and Dism. Which there
// are is a table: a feature is installed if what it brings is here, by a service that stands for it. Nothing can be
// added: what is not here has no source files, as a feature of Windows whose payload was removed.
package servermanager

import (
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/system"
)

// feature is one of Windows Server's
// (https://learn.microsoft.com/en-us/windows-server/administration/server-core/server-core-roles-and-services).
type feature struct {
	name     string // for ServerManager, "" for one that it does not know
	optional string // for DISM, "" likewise
	display  string
	kind     string // Role, Role Service or Feature
	service  string // that is there if the feature is; "" for one that never is
	always   bool   // it is always there
	hint     string // what a person can do instead
}

// features returns the features that scripts ask for.
func features() []feature {
	const vm = "a node of Mullion runs virtual machines without Windows' Hyper-V (runtime class hyperv)"
	return []feature{
		{name: "AD-Domain-Services", display: "Active Directory Domain Services", kind: "Role"},
		{name: "DHCP", display: "DHCP Server", kind: "Role"},
		{name: "DNS", display: "DNS Server", kind: "Role"},
		{name: "FileAndStorage-Services", display: "File and Storage Services", kind: "Role", always: true},
		{name: "Storage-Services", display: "Storage Services", kind: "Role Service", always: true},
		{name: "Hyper-V", optional: "Microsoft-Hyper-V", display: "Hyper-V", kind: "Role", hint: vm},
		{name: "RemoteAccess", display: "Remote Access", kind: "Role"},
		{name: "Routing", display: "Routing", kind: "Role Service"},
		{
			name: "Web-Server", optional: "IIS-WebServerRole", display: "Web Server (IIS)", kind: "Role", service: "W3SVC",
			hint: "an image on mcr.microsoft.com/windows/servercore/iis has the service W3SVC",
		},
		{optional: "IIS-WebServer", display: "World Wide Web Services", service: "W3SVC"},
		{
			name: "Containers", optional: "Containers", display: "Containers", kind: "Feature", service: "vmcompute",
			hint: "a Windows host has the services of containers, a container has not",
		},
		{name: "Failover-Clustering", display: "Failover Clustering", kind: "Feature"},
		{name: "FS-SMB1", optional: "SMB1Protocol", display: "SMB 1.0/CIFS File Sharing Support", kind: "Feature"},
		{
			name: "Hyper-V-PowerShell", optional: "Microsoft-Hyper-V-Management-PowerShell",
			display: "Hyper-V Module for Windows PowerShell", kind: "Feature", hint: vm,
		},
		{name: "Multipath-IO", optional: "MultipathIo", display: "Multipath I/O", kind: "Feature"},
		{name: "NET-Framework-Core", optional: "NetFx3", display: ".NET Framework 3.5 (includes .NET 2.0 and 3.0)", kind: "Feature"},
		{
			name: "NET-Framework-45-Core", optional: "NetFx4ServerFeatures", display: ".NET Framework 4.8", kind: "Feature",
			hint: "an image can bring .NET itself",
		},
		{name: "NFS-Client", optional: "ServicesForNFS-ClientOnly", display: "Client for NFS", kind: "Feature"},
		{name: "PowerShellRoot", display: "Windows PowerShell", kind: "Feature", always: true},
		{name: "PowerShell", display: "Windows PowerShell 5.1", kind: "Feature", always: true},
		{name: "RSAT", display: "Remote Server Administration Tools", kind: "Feature"},
		{name: "RSAT-AD-PowerShell", display: "Active Directory module for Windows PowerShell", kind: "Feature"},
		{name: "RSAT-Feature-Tools", display: "Feature Administration Tools", kind: "Feature"},
		{name: "RSAT-Role-Tools", display: "Role Administration Tools", kind: "Feature"},
		{name: "SNMP-Service", optional: "SNMP", display: "SNMP Service", kind: "Feature"},
		{name: "Telnet-Client", optional: "TelnetClient", display: "Telnet Client", kind: "Feature"},
		{name: "Windows-Defender", optional: "Windows-Defender", display: "Microsoft Defender Antivirus", kind: "Feature"},
		{name: "WoW64-Support", display: "WoW64 Support", kind: "Feature"},
		{optional: "HypervisorPlatform", display: "Windows Hypervisor Platform", hint: vm},
		{optional: "Microsoft-Windows-Subsystem-Linux", display: "Windows Subsystem for Linux"},
		{optional: "VirtualMachinePlatform", display: "Virtual Machine Platform", hint: vm},
	}
}

// installed returns how to tell whether a feature is here.
func installed(s *session.State) (func(f feature) bool, error) {
	services, err := s.System.Services()
	if err != nil {
		return nil, err
	}
	return func(f feature) bool {
		return f.always || slices.ContainsFunc(services, func(one system.Service) bool {
			return f.service != "" && strings.EqualFold(one.Name, f.service)
		})
	}, nil
}

// serverObject returns a feature as Get-WindowsFeature shows it.
func serverObject(f feature, here bool) *object.Object {
	state := "Removed"
	if here {
		state = "Installed"
	}
	o := object.New("feature").Set("DisplayName", f.display).Set("Name", f.name).Set("InstallState", state)
	o.Props["installed"], o.Props["featuretype"] = here, f.kind
	return o
}

// optionalObject returns a feature as Get-WindowsOptionalFeature shows it.
func optionalObject(f feature, here bool) *object.Object {
	state := "DisabledWithPayloadRemoved"
	if here {
		state = "Enabled"
	}
	o := object.New("optional feature").Set("FeatureName", f.optional).Set("State", state)
	o.Props["displayname"], o.Props["description"] = f.display, f.display
	o.Props["restartrequired"] = "Possible"
	return o
}
