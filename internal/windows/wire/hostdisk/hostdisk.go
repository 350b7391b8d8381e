// Package hostdisk is how the programs of a Windows host, and the operator of the machine, ask for the host's data
// disks, their partitions and volumes (package hostcall). Of the host's programs the cmdlets of Windows' module Storage
// (https://learn.microsoft.com/powershell/module/storage) do.
package hostdisk

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
)

// Do is what a Request asks for.
type Do string

// What programs of the host ask for. Beside Get each needs the disk, or the volume, that it changes.
const (
	Get        Do = "get"
	Initialize Do = "initialize" // writes a partition table to a raw disk
	Clear      Do = "clear"      // removes the partition table
	Set        Do = "set"        // Offline, ReadOnly
	Partition  Do = "partition"  // makes one
	Delete     Do = "delete"     // removes a partition
	Resize     Do = "resize"     // changes a partition's size, and that of the volume on it
	Format     Do = "format"
	Flush      Do = "flush"
	AddPath    Do = "addPath"
	RemovePath Do = "removePath"
)

// What only the operator asks for.
const (
	Attach Do = "attach" // gives the host a new disk
	Grow   Do = "grow"   // makes a disk larger
	Detach Do = "detach" // takes a disk away, with its bytes
)

// Call returns how a host's disks are asked for.
func Call() hostcall.Call[Request, Answer] {
	return hostcall.Call[Request, Answer]{
		Name:     hostcall.Disk,
		Check:    (*Request).Check,
		Operator: func(r Request) bool { return slices.Contains([]Do{Attach, Grow, Detach}, r.Do) },
		Invalid:  hostcall.Refusal{Words: "Invalid Parameter: ", Code: 5},
		Failed:   hostcall.Refusal{Words: "Failed: ", Code: 4},
	}
}

// Request is what a program asks for.
type Request struct {
	Do   Do     `json:"do"`
	Disk uint32 `json:"disk,omitempty"`
	// Partition is a partition's number on its disk.
	Partition uint32 `json:"partition,omitempty"`
	// Size is in bytes; 0: as large as there is room for.
	Size int64 `json:"size,omitempty"`
	// Path is an access path of a partition: a drive letter with a colon, or a folder of C:.
	Path string `json:"path,omitempty"`
	// Label is a volume's, or a new disk's name.
	Label string `json:"label,omitempty"`
	// Offline and ReadOnly are what Set sets.
	Offline  *bool `json:"offline,omitempty"`
	ReadOnly *bool `json:"readOnly,omitempty"`
	// Force is for Format and Clear, where there are bytes.
	Force bool `json:"force,omitempty"`
}

// Disk is a data disk of a host (https://learn.microsoft.com/windows-hardware/drivers/storage/msft-disk).
type Disk struct {
	Number uint32 `json:"number"`
	Name   string `json:"name"`
	Serial string `json:"serial"`
	// ID is what the disk says of itself by SCSI's page 83: 8 bytes in hexadecimal, of the type NAA.
	ID string `json:"id"`
	// Location is in the form of Windows: "Integrated : Bus 0 : Device 63667 : Function 30747 : Adapter 0 : …".
	Location string `json:"location"`
	Bus      string `json:"bus"`
	// Session is the identifier of the iSCSI session that the disk is of; empty: of none.
	Session string `json:"session,omitempty"`
	Size    int64  `json:"size"`
	// GUID is that of the partition table; empty: the disk has none that is known, and is RAW.
	GUID       string `json:"guid,omitempty"`
	Offline    bool   `json:"offline,omitempty"`
	ReadOnly   bool   `json:"readOnly,omitempty"`
	Partitions []Part `json:"partitions,omitempty"`
	// Fault says why the disk cannot be read; empty: it can.
	Fault string `json:"fault,omitempty"`
}

// Path returns the name of the disk's device, which programs open to ask for its number and its identifiers.
func (d Disk) Path() string { return fmt.Sprintf(`\\.\PHYSICALDRIVE%d`, d.Number) }

// Part is a partition, and the volume on it.
type Part struct {
	Number uint32 `json:"number"`
	Offset int64  `json:"offset"`
	Size   int64  `json:"size"`
	// Most is the size that the partition can have.
	Most int64 `json:"most"`
	// Type is Basic, Reserved or Unknown.
	Type string `json:"type"`
	// GUID is the partition's, and its volume's, without braces and in small letters.
	GUID string `json:"guid"`
	// Paths are folders where programs find the volume, and perhaps a drive letter with a colon.
	Paths []string `json:"paths,omitempty"`
	// FileSystem is NTFS for a volume that Mullion has formatted, another name for one that another system has, and
	// empty if there is none.
	FileSystem string `json:"fileSystem,omitempty"`
	Label      string `json:"label,omitempty"`
	// VolumeSize and Free are the volume's, in bytes.
	VolumeSize int64 `json:"volumeSize,omitempty"`
	Free       int64 `json:"free,omitempty"`
	// Fault says why the volume cannot be used; empty: it can.
	Fault string `json:"fault,omitempty"`
}

// Volume returns the volume's name.
func (p Part) Volume() string { return VolumeName(p.GUID) }

// Letter returns the volume's drive letter, such as E, or empty.
func (p Part) Letter() string {
	for _, path := range p.Paths {
		if letter.MatchString(path) {
			return path[:1]
		}
	}
	return ""
}

// VolumeName returns the name of the volume of a partition's GUID.
func VolumeName(guid string) string { return `\\?\Volume{` + guid + `}\` }

// Answer is what the agent answers: the disks as they are then.
type Answer struct {
	Disks []Disk `json:"disks,omitempty"`
	// Number is that of the disk or the partition that was made.
	Number uint32 `json:"number,omitempty"`
}

// InUse is the code of what a program or a container keeps from happening.
const InUse = 6

// Limits: of a label (NTFS's own) and a path, in UTF-16; of a disk, in bytes: XFS wants 300 MiB for a volume.
const (
	mostLabel = 32
	mostPath  = 260
	LeastDisk = 320 << 20
	MostDisk  = 16 << 40
)

var (
	letter = lazyregexp.New(`^[D-Zd-z]:$`)
	folder = lazyregexp.New(`^[Cc]:\\[^/:*?"<>|\x00-\x1f\x7f-\x9f]+$`)
)

func isAccessPath(path string) bool {
	return len(path) <= mostPath && (letter.MatchString(path) || folder.MatchString(path))
}

// IsLetter reports whether an access path is a drive letter.
func IsLetter(path string) bool { return letter.MatchString(path) }

// CleanPath returns an access path in its usual form: a letter as E:, a folder without a backslash at its end.
func CleanPath(path string) string {
	path = strings.TrimRight(strings.ReplaceAll(path, "/", `\`), `\`)
	if letter.MatchString(path) {
		return strings.ToUpper(path)
	}
	return path
}

// Check returns an error for a request that cannot be carried out.
func (r Request) Check() error {
	onDisks := []Do{Get, Attach, Grow, Detach, Initialize, Clear, Partition, Set}
	onPartitions := []Do{Delete, Resize, Format, Flush, AddPath, RemovePath}
	label := utf16.Encode([]rune(r.Label))
	switch {
	case slices.Contains(onPartitions, r.Do) && r.Partition == 0:
		return errors.New("the partition is not named")
	case !slices.Contains(onDisks, r.Do) && !slices.Contains(onPartitions, r.Do):
		return fmt.Errorf("%.20q is not a request for disks", r.Do)
	case (r.Do == AddPath || r.Do == RemovePath) && !isAccessPath(r.Path):
		return fmt.Errorf("%.300q is neither a free drive (D: to Z:) nor a folder of drive C", r.Path)
	case len(label) > mostLabel || strings.ContainsFunc(r.Label, unicode.IsControl):
		return fmt.Errorf("%.100q is not a label of at most %d characters", r.Label, mostLabel)
	case r.Size < 0 || r.Size > MostDisk:
		return fmt.Errorf("%d is not a size", r.Size)
	case (r.Do == Attach || r.Do == Grow) && r.Size < LeastDisk:
		return fmt.Errorf("a disk has at least %d MiB", LeastDisk>>20)
	}

	return nil
}
