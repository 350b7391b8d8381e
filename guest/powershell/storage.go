package powershell

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/windows/wire/hostdisk"
	"mullion.dev/mullion/internal/windows/wire/hostiscsi"
)

// The cmdlets of Windows' module Storage that read (https://learn.microsoft.com/en-us/powershell/module/storage); those
// that change are in storagechange.go. The disks are the data disks of the host, which its agent has. A drive that is
// on none of them, such as C:, is a folder of the Linux machine: a volume, with the size of the file system that the
// folder is on, and a partition of no disk.

// volume is a volume.
type volume struct {
	letter     string // such as C
	id         string // such as \\?\Volume{…}\
	label      string
	fileSystem string // such as NTFS, "" if it is not known
	kind       string // Fixed, Removable, CD-ROM
	size, free int64  // bytes
}

// partition is a partition of a disk, or one of no disk.
type partition struct {
	disk *hostdisk.Disk // nil: of none
	part hostdisk.Part  // of a disk
	// volume is what is on it; nil: there is none, as on a reserved one.
	volume *volume
}

// diskKind, volumeKind and partitionKind are the kinds of the objects that are disks, volumes and partitions.
const (
	diskKind      = "disk"
	volumeKind    = "volume"
	partitionKind = "partition"
)

// object is a volume as Get-Volume shows it
// (https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-volume).
func (v volume) object() *object {
	o := newObject(volumeKind).set("DriveLetter", v.letter).set("FriendlyName", v.label).
		set("FileSystemType", cmp.Or(v.fileSystem, "Unknown")).set("DriveType", v.kind).set("SizeRemaining", v.free).
		set("Size", v.size)
	maps.Copy(o.props, map[string]value{
		"uniqueid": v.id, "path": v.id, "filesystem": v.fileSystem, "filesystemlabel": v.label,
	})
	return o
}

// id tells the partition from all others.
func (p partition) id() string {
	if p.disk == nil {
		return p.volume.id
	}
	return "{" + p.part.GUID + "}" + p.disk.ID
}

// object is the partition as Get-Partition shows it
// (https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-partition).
func (p partition) object() *object {
	o := newObject(partitionKind)
	paths := []value{}
	if p.disk == nil {
		o.set("PartitionNumber", nil).set("DriveLetter", p.volume.letter).set("Size", p.volume.size).set("Type", "Unknown")
		o.props["disknumber"], o.props["offset"] = nil, nil
		paths = append(paths, p.volume.letter+`:\`)
	} else {
		o.set("PartitionNumber", int64(p.part.Number)).set("DriveLetter", p.part.Letter()).set("Size", p.part.Size).
			set("Type", p.part.Type)
		maps.Copy(o.props, map[string]value{
			"disknumber": int64(p.disk.Number), "offset": p.part.Offset, "guid": "{" + p.part.GUID + "}", "isreadonly": p.disk.ReadOnly,
			"isoffline": p.disk.Offline, "isboot": false, "issystem": false,
		})
		for _, path := range p.part.Paths {
			paths = append(paths, path+`\`)
		}
	}
	o.props["volume"], o.props["uniqueid"] = nil, p.id()
	if p.volume != nil {
		o.props["volume"] = p.volume.id
		paths = append(paths, p.volume.id)
	}
	o.props["accesspaths"] = paths
	return o
}

// diskObject is a disk as Get-Disk shows it
// (https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-disk).
func diskObject(d hostdisk.Disk) *object {
	health, state, style := "Healthy", "Online", "RAW"
	if d.Fault != "" {
		health = "Unhealthy"
	}
	if d.Offline {
		state = "Offline"
	}
	guid := value(nil)
	if d.GUID != "" {
		style, guid = "GPT", "{"+d.GUID+"}"
	}
	if d.GUID == "" && d.Fault != "" {
		style = "Unknown"
	}
	o := newObject(diskKind).set("Number", int64(d.Number)).set("FriendlyName", d.Name).set("SerialNumber", d.Serial).
		set("HealthStatus", health).set("OperationalStatus", state).set("Size", d.Size).set("PartitionStyle", style)
	maps.Copy(o.props, map[string]value{
		"disknumber": int64(d.Number), "uniqueid": strings.ToUpper(d.ID), "path": d.Path(), "location": d.Location,
		"guid": guid, "isoffline": d.Offline, "isreadonly": d.ReadOnly, "isboot": false, "issystem": false,
		"bustype": d.Bus, "numberofpartitions": int64(len(d.Partitions)), "logicalsectorsize": int64(512),
		"physicalsectorsize": int64(512), "totalsize": d.Size,
	})
	if d.Session != "" {
		o.props[ofSession] = d.Session
	}
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

// storage is what there is of disks, partitions and volumes.
type storage struct {
	disks      []hostdisk.Disk
	partitions []partition
}

// storage asks for all that there is.
func (c *call) storage() (storage, error) {
	system := c.f.in.session.system()
	answer, err := system.disks(c.f.in.ctx, hostdisk.Request{Do: hostdisk.Get})
	if err == nil && answer.Error != "" {
		err = itsWords("%s", answer.Error)
	}
	if err != nil {
		return storage{}, err
	}
	drives, err := system.volumes()
	return storageOf(answer.Disks, drives), err
}

func storageOf(disks []hostdisk.Disk, drives []volume) storage {
	s := storage{disks: disks}
	letters := map[string]bool{}
	for i := range disks {
		for _, p := range disks[i].Partitions {
			on := partition{disk: &disks[i], part: p}
			if p.Type == "Basic" && !disks[i].Offline {
				on.volume = &volume{p.Letter(), p.Volume(), p.Label, p.FileSystem, "Fixed", p.VolumeSize, p.Free}
				letters[p.Letter()] = true
			}
			s.partitions = append(s.partitions, on)
		}
	}
	var others []partition
	for _, v := range drives {
		if !letters[v.letter] {
			others = append(others, partition{volume: &v})
		}
	}
	s.partitions = append(others, s.partitions...)
	return s
}

// diskObjects, partitionObjects and volumeObjects are all that there are.
func (s storage) diskObjects() []*object {
	var all []*object
	for _, d := range s.disks {
		all = append(all, diskObject(d))
	}
	return all
}

func (s storage) partitionObjects() []*object {
	var all []*object
	for _, p := range s.partitions {
		all = append(all, p.object())
	}
	return all
}

func (s storage) volumeObjects() []*object {
	var all []*object
	for _, p := range s.partitions {
		if p.volume != nil {
			all = append(all, p.volume.object())
		}
	}
	return all
}

// relation is the property by which an object of a kind names what belongs to it.
type relation struct{ theirs, ours string }

// related are those of the objects that belong to one from the pipeline, all without a pipeline. by has the kinds that
// the cmdlet takes.
func (c *call) related(all []*object, by map[string]relation) ([]*object, error) {
	if !c.piped {
		return all, nil
	}
	var found []*object
	for _, v := range c.input {
		o, is := v.(*object)
		r, takes := relation{}, false
		if is {
			r, takes = by[o.kind]
		}
		if !takes {
			return nil, thrown("%s : the input object %s is %s.", c.name, text(v), notHereWords)
		}
		for _, one := range all {
			if want := o.props[r.theirs]; want != nil && one.props[r.ours] != nil &&
				strings.EqualFold(text(want), text(one.props[r.ours])) && !slices.Contains(found, one) {
				found = append(found, one)
			}
		}
	}
	return found, nil
}

// named are those of the objects that the parameters name, all without one. No value of a parameter is a pattern: a
// volume's name has a question mark in it.
func (c *call) named(class string, all []*object) ([]*object, error) {
	return c.namedBy(storageNames(), class, all)
}

// namedBy does it for the parameters that have a name there, which is that of the property.
func (c *call) namedBy(names map[string]string, class string, all []*object) ([]*object, error) {
	for _, parameter := range c.cmdlet.values {
		given, there := c.values[parameter]
		if !there || names[parameter] == "" {
			continue
		}
		var found []*object
		for want := range each(given) {
			before := len(found)
			for _, o := range all {
				is := o.props[parameter]
				if is != nil && (strings.EqualFold(text(is), text(want)) ||
					strings.EqualFold(text(is), strings.TrimSuffix(text(want), ":"))) {
					found = append(found, o)
				}
			}
			if len(found) == before {
				if err := c.noSuch(class, names[parameter], want); err != nil {
					return nil, err
				}
			}
		}
		all = found
	}
	return all, nil
}

// pick gives the objects that the pipeline and the parameters choose.
func (c *call) pick(class string, all []*object, by map[string]relation) ([]*object, error) {
	found, err := c.related(all, by)
	if err != nil {
		return nil, err
	}
	return c.named(class, found)
}

func (c *call) chosenDisks(s storage) ([]*object, error) {
	for _, parameter := range []string{"iscsisession", "iscsiconnection"} {
		if v, given := c.values[parameter]; given {
			c.input, c.piped = append(slices.Clone(c.input), slices.Collect(each(v))...), true
		}
	}
	return c.pick("MSFT_Disk", s.diskObjects(), map[string]relation{
		diskKind: {"number", "number"}, partitionKind: {"disknumber", "number"},
		sessionKind: {ofSession, ofSession}, connectionKind: {ofSession, ofSession},
	})
}

func (c *call) chosenPartitions(s storage) ([]*object, error) {
	return c.pick("MSFT_Partition", s.partitionObjects(), map[string]relation{
		diskKind: {"number", "disknumber"}, volumeKind: {"uniqueid", "volume"}, partitionKind: {"uniqueid", "uniqueid"},
	})
}

func (c *call) chosenVolumes(s storage) ([]*object, error) {
	return c.pick("MSFT_Volume", s.volumeObjects(), map[string]relation{
		partitionKind: {"volume", "uniqueid"}, volumeKind: {"uniqueid", "uniqueid"},
	})
}

// reads is a cmdlet that shows the objects that are chosen.
func reads(choose func(*call, storage) ([]*object, error)) func(*call) error {
	return func(c *call) error {
		s, err := c.storage()
		if err != nil {
			return c.fail(err)
		}
		chosen, err := choose(c, s)
		if err != nil {
			return err
		}
		for _, o := range chosen {
			if err := c.show(o); err != nil {
				return err
			}
		}
		return nil
	}
}

// getPartitionSupportedSize outputs the sizes that partitions can have: they grow only.
func getPartitionSupportedSize(c *call) error {
	return c.onPartitions(func(p partition) error {
		return c.show(newObject("sizes").set("SizeMin", p.part.Size).set("SizeMax", p.part.Most))
	})
}

// partitionOf is the partition, of a disk, that an object is.
func (s storage) partitionOf(o *object) (partition, error) {
	for _, p := range s.partitions {
		if p.disk != nil && text(o.props["uniqueid"]) == p.id() {
			return p, nil
		}
	}
	return partition{}, itsWords("The drive %s: is on no disk: it is a folder of the machine.", text(o.props["driveletter"]))
}

// updateHostStorageCache looks at the disks of iSCSI's sessions anew; at others each cmdlet does.
func updateHostStorageCache(c *call) error {
	_, answer, err := c.askISCSI(hostiscsi.Request{Do: hostiscsi.Get})
	for _, s := range answer.Sessions {
		if err != nil || !s.Connected { // a container has none
			continue
		}
		if _, _, err := c.askISCSI(hostiscsi.Request{Do: hostiscsi.Rescan, Session: s.ID}); err != nil {
			return c.fail(err)
		}
	}
	return nil
}

// Parameters that name disks, partitions and volumes.
func diskNames() []string      { return []string{"number", "uniqueid", "serialnumber", "friendlyname"} }
func partitionNames() []string { return []string{"disknumber", "partitionnumber", "driveletter"} }
func volumeNames() []string {
	return []string{"driveletter", "uniqueid", "filesystemlabel", "friendlyname"}
}

func storageCmdlets() []cmdlet {
	return append([]cmdlet{
		{
			name:      "Get-Disk",
			about:     "the data disks of the host; Windows' own disk, 0, is not there",
			run:       reads((*call).chosenDisks),
			values:    append(diskNames(), "iscsisession", "iscsiconnection"),
			positions: []string{"number"},
			takes:     objectName,
		},
		{
			name:      "Get-Volume",
			about:     "the volumes of the data disks, and the drives, with the size of the file system that each is on",
			run:       reads((*call).chosenVolumes),
			values:    volumeNames(),
			positions: []string{"driveletter"},
			takes:     objectName,
		},
		{
			name:      "Get-Partition",
			about:     "the partitions of the data disks, and the other drives, each as a partition of no disk",
			run:       reads((*call).chosenPartitions),
			values:    partitionNames(),
			positions: partitionNames()[:2],
			takes:     objectName,
		},
		{
			name:   "Get-PartitionSupportedSize",
			about:  "the sizes that a partition can have: it can grow",
			run:    getPartitionSupportedSize,
			values: partitionNames(),
			takes:  objectName,
		},
		{
			name:  "Update-HostStorageCache",
			about: "looks at the disks of iSCSI's targets anew; at others each cmdlet does",
			run:   updateHostStorageCache,
		},
	}, storageChanges()...)
}

// diskNumber is the number of the disk that an object is.
func diskNumber(o *object) uint32 {
	n, _ := o.props["number"].(int64)
	return uint32(max(0, n)) // the number of a disk
}

// diskOf is the disk of that number.
func (s storage) diskOf(number uint32) (hostdisk.Disk, error) {
	i := slices.IndexFunc(s.disks, func(d hostdisk.Disk) bool { return d.Number == number })
	if i < 0 {
		return hostdisk.Disk{}, fmt.Errorf("there is no disk %d", number)
	}
	return s.disks[i], nil
}
