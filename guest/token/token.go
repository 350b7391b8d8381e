// Package token says who the program runs as: the user, the groups and the privileges of its access token
// (https://learn.microsoft.com/windows/win32/secauthz/access-tokens).
package token

// Identity is a user with groups and privileges.
type Identity struct {
	// User is the name with its domain, for example WIN-1\Administrator; SID is the user's.
	User, SID string
	// Logon is the SID of the logon session.
	Logon      string
	Groups     []Group
	Privileges []Privilege
}

// Group is a group of a token.
type Group struct {
	Name, SID string
	// Type is what the SID stands for, as whoami names it: "Well-known group", "Alias".
	Type string
	// Attributes are in whoami's words: "Mandatory group", "Enabled group".
	Attributes []string
}

// Privilege is a privilege of a token.
type Privilege struct {
	Name    string
	Enabled bool
}

// Description returns the privilege's name for people
// (https://learn.microsoft.com/windows/win32/secauthz/privilege-constants).
func (p Privilege) Description() string {
	return map[string]string{
		"SeAssignPrimaryTokenPrivilege":             "Replace a process level token",
		"SeAuditPrivilege":                          "Generate security audits",
		"SeBackupPrivilege":                         "Back up files and directories",
		"SeChangeNotifyPrivilege":                   "Bypass traverse checking",
		"SeCreateGlobalPrivilege":                   "Create global objects",
		"SeCreatePagefilePrivilege":                 "Create a pagefile",
		"SeCreatePermanentPrivilege":                "Create permanent shared objects",
		"SeCreateSymbolicLinkPrivilege":             "Create symbolic links",
		"SeCreateTokenPrivilege":                    "Create a token object",
		"SeDebugPrivilege":                          "Debug programs",
		"SeDelegateSessionUserImpersonatePrivilege": "Obtain an impersonation token for another user in the same session",
		"SeEnableDelegationPrivilege":               "Enable computer and user accounts to be trusted for delegation",
		"SeImpersonatePrivilege":                    "Impersonate a client after authentication",
		"SeIncreaseBasePriorityPrivilege":           "Increase scheduling priority",
		"SeIncreaseQuotaPrivilege":                  "Adjust memory quotas for a process",
		"SeIncreaseWorkingSetPrivilege":             "Increase a process working set",
		"SeLoadDriverPrivilege":                     "Load and unload device drivers",
		"SeLockMemoryPrivilege":                     "Lock pages in memory",
		"SeMachineAccountPrivilege":                 "Add workstations to domain",
		"SeManageVolumePrivilege":                   "Perform volume maintenance tasks",
		"SeProfileSingleProcessPrivilege":           "Profile single process",
		"SeRelabelPrivilege":                        "Modify an object label",
		"SeRemoteShutdownPrivilege":                 "Force shutdown from a remote system",
		"SeRestorePrivilege":                        "Restore files and directories",
		"SeSecurityPrivilege":                       "Manage auditing and security log",
		"SeShutdownPrivilege":                       "Shut down the system",
		"SeSyncAgentPrivilege":                      "Synchronize directory service data",
		"SeSystemEnvironmentPrivilege":              "Modify firmware environment values",
		"SeSystemProfilePrivilege":                  "Profile system performance",
		"SeSystemtimePrivilege":                     "Change the system time",
		"SeTakeOwnershipPrivilege":                  "Take ownership of files or other objects",
		"SeTcbPrivilege":                            "Act as part of the operating system",
		"SeTimeZonePrivilege":                       "Change the time zone",
		"SeTrustedCredManAccessPrivilege":           "Access Credential Manager as a trusted caller",
		"SeUndockPrivilege":                         "Remove computer from docking station",
	}[p.Name]
}
