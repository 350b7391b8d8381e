package powershell

import (
	"maps"
	"strings"
)

// The cmdlets of Windows' module Storage that read (https://learn.microsoft.com/en-us/powershell/module/storage). There
// are no disks: a drive is a folder of the Linux machine. It is a volume, with the size of the file system that the
// folder is on, and a partition of no disk. Cmdlets that change disks, partitions and volumes are not here.

// volume is a volume that has a drive's letter.
type volume struct {
	letter     string // such as C
	id         string // such as \\?\Volume{…}\
	label      string
	fileSystem string // such as NTFS, "" if it is not known
	kind       string // Fixed, Removable, CD-ROM
	size, free int64  // bytes
}

// volumeKind and partitionKind are the kinds of the objects that are volumes and partitions.
const (
	volumeKind    = "volume"
	partitionKind = "partition"
)

// object is a volume as Get-Volume shows it
// (https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-volume).
func (v volume) object() *object {
	fileSystem := v.fileSystem
	if fileSystem == "" {
		fileSystem = "Unknown"
	}
	o := newObject(volumeKind).set("DriveLetter", v.letter).set("FriendlyName", v.label).
		set("FileSystemType", fileSystem).set("DriveType", v.kind).set("SizeRemaining", v.free).set("Size", v.size)
	maps.Copy(o.props, map[string]value{
		"uniqueid": v.id, "path": v.id, "filesystem": v.fileSystem, "filesystemlabel": v.label,
	})
	return o
}

// partition is the partition of a volume as Get-Partition shows it
// (https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-partition). It is on no disk.
func (v volume) partition() *object {
	o := newObject(partitionKind).set("PartitionNumber", nil).set("DriveLetter", v.letter).set("Size", v.size).
		set("Type", "Unknown")
	maps.Copy(o.props, map[string]value{"disknumber": nil, "accesspaths": []value{v.letter + `:\`, v.id}})
	return o
}

// noSuch reports that nothing has a property of that value. On Windows this ends no statement, and its callers go on
// with nothing: csi-proxy takes the digits of the message for a disk's number. So here it ends the statement unless the
// call says what to do on errors.
func (c *call) noSuch(class, property string, v value) error {
	const missing = "Microsoft.PowerShell.Cmdletization.Cim.CimJobException"
	message := "No " + class + " objects found with property '" + property + "' equal to '" + text(v) +
		"'.  Verify the value of the property and retry."
	if c.action == "continue" {
		return raise(missing, c.name+" : "+message)
	}
	return c.fail(raise(missing, message))
}

// storageNames are the properties of the parameters that name disks, partitions and volumes.
func storageNames() map[string]string {
	return map[string]string{
		"number": "Number", "uniqueid": "UniqueId", "serialnumber": "SerialNumber", "friendlyname": "FriendlyName",
		"driveletter": "DriveLetter", "disknumber": "DiskNumber",
		"partitionnumber": "PartitionNumber", "filesystemlabel": "FileSystemLabel",
	}
}

// named outputs the objects that the parameters name, all without one. No value of a parameter is a pattern: a
// volume's name has a question mark in it.
func (c *call) named(class string, all []*object) error {
	for _, parameter := range c.cmdlet.values {
		given, there := c.values[parameter]
		if !there {
			continue
		}
		var found []*object
		for want := range each(given) {
			before := len(found)
			for _, o := range all {
				if is := o.props[parameter]; is != nil && strings.EqualFold(text(is), text(want)) {
					found = append(found, o)
				}
			}
			if len(found) == before {
				if err := c.noSuch(class, storageNames()[parameter], want); err != nil {
					return err
				}
			}
		}
		all = found
	}
	for _, o := range all {
		if err := c.show(o); err != nil {
			return err
		}
	}
	return nil
}

// getDisk finds no disks.
func getDisk(c *call) error { return c.named("MSFT_Disk", nil) }

// getVolume outputs volumes: all, those of partitions from the pipeline, or those that the parameters name.
func getVolume(c *call) error {
	return c.ofVolumes("MSFT_Volume", partitionKind, volume.object)
}

// getPartition outputs the partitions of volumes.
func getPartition(c *call) error {
	return c.ofVolumes("MSFT_Partition", volumeKind, volume.partition)
}

func (c *call) ofVolumes(class, from string, as func(volume) *object) error {
	volumes, err := c.f.in.session.system().volumes()
	if err != nil {
		return c.fail(err)
	}
	letters := map[string]bool{}
	for _, v := range c.input {
		o, is := v.(*object)
		if !is || o.kind != from {
			return thrown("%s : the input object %s, which is no %s, is %s.", c.name, text(v), from, notHereWords)
		}
		letters[text(o.props["driveletter"])] = true
	}
	var all []*object
	for _, v := range volumes {
		if !c.piped || letters[v.letter] {
			all = append(all, as(v))
		}
	}
	return c.named(class, all)
}

// updateHostStorageCache looks for disks anew; there are none.
func updateHostStorageCache(*call) error { return nil }

func storageCmdlets() []cmdlet {
	return []cmdlet{
		{
			name:      "Get-Disk",
			about:     "no disks: there are none",
			run:       getDisk,
			values:    []string{"number", "uniqueid", "serialnumber", "friendlyname"},
			positions: []string{"number"},
		},
		{
			name:      "Get-Volume",
			about:     "the drives, with the size of the file system that each is on",
			run:       getVolume,
			values:    []string{"driveletter", "uniqueid", "filesystemlabel"},
			positions: []string{"driveletter"},
			takes:     objectName,
		},
		{
			name:      "Get-Partition",
			about:     "the drives, each as a partition of no disk",
			run:       getPartition,
			values:    []string{"disknumber", "partitionnumber", "driveletter"},
			positions: []string{"disknumber", "partitionnumber"},
			takes:     objectName,
		},
		{
			name:  "Update-HostStorageCache",
			about: "looks for disks anew, of which there are none",
			run:   updateHostStorageCache,
		},
	}
}
