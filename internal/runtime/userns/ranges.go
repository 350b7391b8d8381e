// Package userns says which users of the machine the user namespaces of containers have, and holds each container to
// its share of what Linux counts for a user.
//
// It owns the ranges, which lie one behind the other, and the limits of a user namespace. It does not own who gets
// which user of a range (packages engine and linuxrun).
package userns

// Range is a range of user and group ids of the machine.
type Range struct{ Base, Size uint32 }

// End is the first id behind the range.
func (r Range) End() uint32 { return r.Base + r.Size }

// The ranges begin above what systemd hands out to containers (524288…1879048191), and end below what it reserves for
// images (https://systemd.io/UIDS-GIDS/). Ids above 0x7fffffff cannot ping (net.ipv4.ping_group_range).

// OnDisk are the owners of the files of every container for Windows.
func OnDisk() Range { return Range{Base: 0x70000000, Size: 1 << 16} }

// MachineUsers is how many users a virtual machine has, one beside the other.
const MachineUsers = 2

// MachinePairs is how many of them there are: so many that no two machines at a time come to the same one by chance.
const MachinePairs = 1<<24 - 1

// Machines are the users of virtual machines' processes. The first is odd.
func Machines() Range { return Range{Base: 0x70010001, Size: MachineUsers * MachinePairs} }

// LinuxBuilds is the owner of root's files in the Linux stages of a Dockerfile, which have LinuxBuildUsers from there.
const (
	LinuxBuilds     = 0x72010000
	LinuxBuildUsers = 1 << 16
)

// PodsBase is the first user of pods' programs.
const PodsBase = 0x72020000

// PodsEnd is the first id behind those of pods' programs.
const PodsEnd = 0x7ffe0000
