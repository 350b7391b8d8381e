package localgroup

import (
	"slices"
	"strings"
)

// BuiltIn returns the groups that every Windows Server has, by name
// (https://learn.microsoft.com/windows-server/identity/ad-ds/manage/understand-security-groups).
func BuiltIn() Groups {
	return Groups{
		{
			Name:    "Access Control Assistance Operators",
			Comment: "Members of this group can remotely query authorization attributes and permissions for resources on this computer.",
		},
		{
			Name:    "Administrators",
			Comment: "Administrators have complete and unrestricted access to the computer/domain",
			Members: []string{"Administrator"},
		},
		{
			Name:    "Backup Operators",
			Comment: "Backup Operators can override security restrictions for the sole purpose of backing up or restoring files",
		},
		{
			Name:    "Certificate Service DCOM Access",
			Comment: "Members of this group are allowed to connect to Certification Authorities in the enterprise",
		},
		{Name: "Cryptographic Operators", Comment: "Members are authorized to perform cryptographic operations."},
		{Name: "Device Owners", Comment: "Members of this group can change system-wide settings."},
		{
			Name:    "Distributed COM Users",
			Comment: "Members are allowed to launch, activate and use Distributed COM objects on this machine.",
		},
		{Name: "Event Log Readers", Comment: "Members of this group can read event logs from local machine"},
		{
			Name:    "Guests",
			Comment: "Guests have the same access as members of the Users group by default, except for the Guest account which is further restricted",
			Members: []string{"Guest"},
		},
		{
			Name:    "Hyper-V Administrators",
			Comment: "Members of this group have complete and unrestricted access to all features of Hyper-V.",
		},
		{
			Name:    "IIS_IUSRS",
			Comment: "Built-in group used by Internet Information Services.",
			Members: []string{`NT AUTHORITY\IUSR`},
		},
		{
			Name:    "Network Configuration Operators",
			Comment: "Members in this group can have some administrative privileges to manage configuration of networking features",
		},
		{
			Name:    "Performance Log Users",
			Comment: "Members of this group may schedule logging of performance counters, enable trace providers, and collect event traces",
		},
		{
			Name:    "Performance Monitor Users",
			Comment: "Members of this group can access performance counter data locally and remotely",
		},
		{
			Name:    "Power Users",
			Comment: "Power Users are included for backwards compatibility and possess limited administrative powers",
		},
		{Name: "Print Operators", Comment: "Members can administer printers installed on domain controllers"},
		{
			Name:    "RDS Endpoint Servers",
			Comment: "Servers in this group run virtual machines and host sessions where users RemoteApp programs and personal virtual desktops run.",
		},
		{
			Name:    "RDS Management Servers",
			Comment: "Servers in this group can perform routine administrative actions on servers running Remote Desktop Services.",
		},
		{
			Name:    "RDS Remote Access Servers",
			Comment: "Servers in this group enable users of RemoteApp programs and personal virtual desktops access to these resources.",
		},
		{Name: "Remote Desktop Users", Comment: "Members in this group are granted the right to logon remotely"},
		{
			Name:    "Remote Management Users",
			Comment: "Members of this group can access WMI resources over management protocols (such as WS-Management via the Windows Remote Management service).",
		},
		{Name: "Replicator", Comment: "Supports file replication in a domain"},
		{
			Name:    "Storage Replica Administrators",
			Comment: "Members of this group have complete and unrestricted access to all features of Storage Replica.",
		},
		{
			Name:    "System Managed Accounts Group",
			Comment: "Members of this group are managed by the system.",
			Members: []string{"DefaultAccount"},
		},
		{
			Name:    "Users",
			Comment: "Users are prevented from making accidental or intentional system-wide changes and can run most applications",
			Members: []string{`NT AUTHORITY\Authenticated Users`, `NT AUTHORITY\INTERACTIVE`},
		},
	}
}

// Accounts returns the accounts of a new Windows Server; only they and the well-known names can be members
// (https://learn.microsoft.com/windows-server/identity/ad-ds/manage/understand-default-user-accounts).
func Accounts() []string {
	return []string{"Administrator", "DefaultAccount", "Guest", "WDAGUtilityAccount"}
}

// Account returns the full name of an account or a well-known name, which may be given without what is before its back
// slash, in letters of either case; "" if there is none.
func Account(name string) string {
	for _, known := range slices.Concat(Accounts(), WellKnown()) {
		_, short, _ := strings.Cut(known, `\`)
		if strings.EqualFold(known, name) || (short != "" && strings.EqualFold(short, name)) {
			return known
		}
	}
	return ""
}

// WellKnown are names that Windows resolves without an account database
// (https://learn.microsoft.com/windows-server/identity/ad-ds/manage/understand-security-identifiers).
func WellKnown() []string {
	return []string{
		"Everyone", `NT AUTHORITY\Authenticated Users`, `NT AUTHORITY\INTERACTIVE`, `NT AUTHORITY\IUSR`,
		`NT AUTHORITY\LOCAL SERVICE`, `NT AUTHORITY\NETWORK`,
		`NT AUTHORITY\NETWORK SERVICE`, `NT AUTHORITY\SERVICE`, `NT AUTHORITY\SYSTEM`,
	}
}
