package keeper

// The commands of the processes, which are their first arguments.
const (
	Share  = "keep-share"  // keeps the mapping of a share (package smb)
	Shares = "keep-shares" // keeps the shares that a container uses (package smb)
	Disks  = "keep-disks"  // keeps a session with a target of iSCSI (package initiator)
	// Targets asks a portal for its targets, and ends (package initiator).
	Targets = "find-targets"
)

// Commands returns the commands of the processes that outlive who starts them.
func Commands() []string { return []string{Share, Shares, Disks} }
