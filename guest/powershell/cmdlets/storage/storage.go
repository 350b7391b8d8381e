package storage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/system"
	"mullion.dev/mullion/guest/powershell/words"
	"mullion.dev/mullion/internal/windows/wire/hostdisk"
	"mullion.dev/mullion/internal/windows/wire/hostiscsi"
)

// partition is a partition of a disk, or one of no disk.
type partition struct {
	disk *hostdisk.Disk // nil: of none
	part hostdisk.Part  // of a disk
	// volume is what is on it; nil: there is none, as on a reserved one.
	volume *system.Volume
}

// diskKind, volumeKind and partitionKind are the kinds of the objects that are disks, volumes and partitions.
const (
	diskKind      = "disk"
	volumeKind    = "volume"
	partitionKind = "partition"
)

// volumeObject returns a volume as Get-Volume shows it
// (https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-volume).
func volumeObject(v system.Volume) *object.Object {
	o := object.New(volumeKind).Set("DriveLetter", v.Letter).Set("FriendlyName", v.Label).
		Set("FileSystemType", cmp.Or(v.FileSystem, "Unknown")).Set("DriveType", v.Kind).Set("SizeRemaining", v.Free).
		Set("Size", v.Size)
	maps.Copy(o.Props, map[string]object.Value{
		"uniqueid": v.ID, "path": v.ID, "filesystem": v.FileSystem, "filesystemlabel": v.Label,
	})
	return o
}

// id tells the partition from all others.
func (p partition) id() string {
	if p.disk == nil {
		return p.volume.ID
	}
	return "{" + p.part.GUID + "}" + p.disk.ID
}

// object returns the partition as Get-Partition shows it
// (https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-partition).
func (p partition) object() *object.Object {
	o := object.New(partitionKind)
	paths := []object.Value{}
	if p.disk == nil {
		o.Set("PartitionNumber", nil).Set("DriveLetter", p.volume.Letter).Set("Size", p.volume.Size).
			Set("Type", "Unknown")
		o.Props["disknumber"], o.Props["offset"] = nil, nil
		paths = append(paths, p.volume.Letter+`:\`)
	} else {
		o.Set("PartitionNumber", int64(p.part.Number)).Set("DriveLetter", p.part.Letter()).Set("Size", p.part.Size).
			Set("Type", p.part.Type)
		maps.Copy(o.Props, map[string]object.Value{
			"disknumber": int64(p.disk.Number), "offset": p.part.Offset, "guid": "{" + p.part.GUID + "}",
			"isreadonly": p.disk.ReadOnly,
			"isoffline":  p.disk.Offline, "isboot": false, "issystem": false,
		})

		for _, path := range p.part.Paths {
			paths = append(paths, path+`\`)
		}
	}

	o.Props["volume"], o.Props["uniqueid"] = nil, p.id()
	if p.volume != nil {
		o.Props["volume"] = p.volume.ID
		paths = append(paths, p.volume.ID)
	}
	o.Props["accesspaths"] = paths

	return o
}

// diskObject returns a disk as Get-Disk shows it
// (https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-disk).
func diskObject(d hostdisk.Disk) *object.Object {
	health, state := "Healthy", "Online"
	if d.Fault != "" {
		health = "Unhealthy"
	}
	if d.Offline {
		state = "Offline"
	}

	style, guid := "RAW", object.Value(nil)
	if d.GUID != "" {
		style, guid = "GPT", "{"+d.GUID+"}"
	}
	if d.GUID == "" && d.Fault != "" {
		style = "Unknown"
	}

	o := object.New(diskKind).Set("Number", int64(d.Number)).Set("FriendlyName", d.Name).Set("SerialNumber", d.Serial).
		Set("HealthStatus", health).Set("OperationalStatus", state).Set("Size", d.Size).Set("PartitionStyle", style)
	maps.Copy(o.Props, map[string]object.Value{
		"disknumber": int64(d.Number), "uniqueid": strings.ToUpper(d.ID), "path": d.Path(), "location": d.Location,
		"guid": guid, "isoffline": d.Offline, "isreadonly": d.ReadOnly, "isboot": false, "issystem": false,
		"bustype": d.Bus, "numberofpartitions": int64(len(d.Partitions)), "logicalsectorsize": int64(512),
		"physicalsectorsize": int64(512), "totalsize": d.Size,
	})

	if d.Session != "" {
		o.Props[ofSession] = d.Session
	}

	return o
}

// noSuch reports that nothing has a property of that value. On Windows this ends no statement, and its callers go on
// with nothing: csi-proxy takes the digits of the message for a disk's number. So here it ends the statement unless the
// call says what to do on errors.
func noSuch(c *cmdlet.Call, class, property string, v object.Value) error {
	const missing = "Microsoft.PowerShell.Cmdletization.Cim.CimJobException"
	message := "No " + class + " objects found with property '" + property + "' equal to '" + object.Text(v) +
		"'.  Verify the value of the property and retry."
	if c.Action == "continue" {
		return object.Raise(missing, c.Name+" : "+message)
	}
	return c.Fail(object.Raise(missing, message))
}

// storageNames returns the properties of the parameters that name disks, partitions and volumes.
func storageNames() map[string]string {
	return map[string]string{
		"number": "Number", "uniqueid": "UniqueId", "serialnumber": "SerialNumber", "friendlyname": "FriendlyName",
		"driveletter": "DriveLetter", "disknumber": "DiskNumber",
		"partitionnumber": "PartitionNumber", "filesystemlabel": "FileSystemLabel",
	}
}

// hardware is what there is of disks, partitions and volumes.
type hardware struct {
	disks      []hostdisk.Disk
	partitions []partition
}

// askStorage asks for all that there is.
func askStorage(c *cmdlet.Call) (hardware, error) {
	s, _, err := askDisks(c, hostdisk.Request{Do: hostdisk.Get})
	return s, err
}

func storageOf(disks []hostdisk.Disk, drives []system.Volume) hardware {
	s := hardware{disks: disks}
	letters := map[string]bool{}
	for i := range disks {
		for _, p := range disks[i].Partitions {
			on := partition{disk: &disks[i], part: p}
			if p.Type == "Basic" && !disks[i].Offline {
				on.volume = &system.Volume{
					Letter:     p.Letter(),
					ID:         p.Volume(),
					Label:      p.Label,
					FileSystem: p.FileSystem,
					Kind:       "Fixed",
					Size:       p.VolumeSize,
					Free:       p.Free,
				}

				letters[p.Letter()] = true
			}

			s.partitions = append(s.partitions, on)
		}
	}

	var others []partition
	for _, v := range drives {
		if !letters[v.Letter] {
			others = append(others, partition{volume: &v})
		}
	}

	s.partitions = append(others, s.partitions...)
	return s
}

// diskObjects, partitionObjects and volumeObjects are all that there are.
func (s hardware) diskObjects() []*object.Object {
	var all []*object.Object
	for _, d := range s.disks {
		all = append(all, diskObject(d))
	}
	return all
}

func (s hardware) partitionObjects() []*object.Object {
	var all []*object.Object
	for _, p := range s.partitions {
		all = append(all, p.object())
	}
	return all
}

func (s hardware) volumeObjects() []*object.Object {
	var all []*object.Object
	for _, p := range s.partitions {
		if p.volume != nil {
			all = append(all, volumeObject(*p.volume))
		}
	}
	return all
}

// relation is the property by which an object of a kind names what belongs to it.
type relation struct{ theirs, ours string }

// related returns the objects that belong to one from the pipeline, all without a pipeline. by has the kinds
// that the cmdlet takes.
func related(c *cmdlet.Call, all []*object.Object, by map[string]relation) ([]*object.Object, error) {
	if !c.Piped {
		return all, nil
	}

	var found []*object.Object
	for _, v := range c.Input {
		o, is := v.(*object.Object)
		r, takes := relation{}, false
		if is {
			r, takes = by[o.Kind]
		}
		if !takes {
			return nil, object.Thrown("%s : the input object %s is %s.", c.Name, object.Text(v), words.NotHere)
		}

		for _, one := range all {
			if want := o.Props[r.theirs]; want != nil && one.Props[r.ours] != nil &&
				strings.EqualFold(object.Text(want), object.Text(one.Props[r.ours])) && !slices.Contains(found, one) {
				found = append(found, one)
			}
		}
	}

	return found, nil
}

// named returns the objects that the parameters name, all without one. No value of a parameter is a pattern: a
// volume's name has a question mark in it.
func named(c *cmdlet.Call, class string, all []*object.Object) ([]*object.Object, error) {
	return namedBy(c, storageNames(), class, all)
}

// namedBy does it for the parameters that have a name there, which is that of the property.
func namedBy(c *cmdlet.Call, names map[string]string, class string, all []*object.Object) ([]*object.Object, error) {
	for _, parameter := range c.Cmdlet.Values {
		given, there := c.Values[parameter]
		if !there || names[parameter] == "" {
			continue
		}

		var found []*object.Object
		for want := range object.Each(given) {
			before := len(found)
			for _, o := range all {
				is := o.Props[parameter]
				if is != nil && (strings.EqualFold(object.Text(is), object.Text(want)) ||
					strings.EqualFold(object.Text(is), strings.TrimSuffix(object.Text(want), ":"))) {
					found = append(found, o)
				}
			}

			if len(found) == before {
				if err := noSuch(c, class, names[parameter], want); err != nil {
					return nil, err
				}
			}
		}

		all = found
	}

	return all, nil
}

// pick gives the objects that the pipeline and the parameters choose.
func pick(c *cmdlet.Call, class string, all []*object.Object, by map[string]relation) ([]*object.Object, error) {
	found, err := related(c, all, by)
	if err != nil {
		return nil, err
	}
	return named(c, class, found)
}

func chosenDisks(c *cmdlet.Call, s hardware) ([]*object.Object, error) {
	for _, parameter := range []string{"iscsisession", "iscsiconnection"} {
		if v, given := c.Values[parameter]; given {
			c.Input, c.Piped = append(slices.Clone(c.Input), slices.Collect(object.Each(v))...), true
		}
	}
	return pick(c, "MSFT_Disk", s.diskObjects(), map[string]relation{
		diskKind:       {"number", "number"},
		partitionKind:  {"disknumber", "number"},
		sessionKind:    {ofSession, ofSession},
		connectionKind: {ofSession, ofSession},
	})
}

func chosenPartitions(c *cmdlet.Call, s hardware) ([]*object.Object, error) {
	return pick(c, "MSFT_Partition", s.partitionObjects(), map[string]relation{
		diskKind:      {"number", "disknumber"},
		volumeKind:    {"uniqueid", "volume"},
		partitionKind: {"uniqueid", "uniqueid"},
	})
}

func chosenVolumes(c *cmdlet.Call, s hardware) ([]*object.Object, error) {
	return pick(c, "MSFT_Volume", s.volumeObjects(), map[string]relation{
		partitionKind: {"volume", "uniqueid"},
		volumeKind:    {"uniqueid", "uniqueid"},
	})
}

// reads returns a cmdlet that shows the objects that are chosen.
func reads(choose func(*cmdlet.Call, hardware) ([]*object.Object, error)) func(*cmdlet.Call) error {
	return func(c *cmdlet.Call) error {
		s, err := askStorage(c)
		if err != nil {
			return c.Fail(err)
		}

		chosen, err := choose(c, s)
		if err != nil {
			return err
		}

		for _, o := range chosen {
			if err := c.Output(o); err != nil {
				return err
			}
		}

		return nil
	}
}

// getPartitionSupportedSize outputs the sizes that partitions can have: they grow only.
func getPartitionSupportedSize(c *cmdlet.Call) error {
	return onPartitions(c, func(p partition) error {
		return c.Output(object.New("sizes").Set("SizeMin", p.part.Size).Set("SizeMax", p.part.Most))
	})
}

// partitionOf returns the partition, of a disk, that an object is.
func (s hardware) partitionOf(o *object.Object) (partition, error) {
	for _, p := range s.partitions {
		if p.disk != nil && object.Text(o.Props["uniqueid"]) == p.id() {
			return p, nil
		}
	}
	return partition{}, words.Errorf("The drive %s: is on no disk: it is a folder of the machine.",
		object.Text(o.Props["driveletter"]))
}

// updateHostStorageCache looks at the disks of iSCSI's sessions anew; at others each cmdlet does.
func updateHostStorageCache(c *cmdlet.Call) error {
	_, answer, err := askISCSI(c, hostiscsi.Request{Do: hostiscsi.Get})
	for _, s := range answer.Sessions {
		if err != nil || !s.Connected { // a container has none
			continue
		}
		if _, _, err := askISCSI(c, hostiscsi.Request{Do: hostiscsi.Rescan, Session: s.ID}); err != nil {
			return c.Fail(err)
		}
	}
	return nil
}

// Parameters that name disks, partitions and volumes.
func diskNames() []string { return []string{"number", "uniqueid", "serialnumber", "friendlyname"} }

func partitionNames() []string { return []string{"disknumber", "partitionnumber", "driveletter"} }

func volumeNames() []string {
	return []string{"driveletter", "uniqueid", "filesystemlabel", "friendlyname"}
}

// Cmdlets returns the cmdlets of this package.
func Cmdlets() []cmdlet.Cmdlet { return append(diskCmdlets(), iscsiCmdlets()...) }

func diskCmdlets() []cmdlet.Cmdlet {
	return append([]cmdlet.Cmdlet{
		{
			Name:      "Get-Disk",
			About:     "the data disks of the host; Windows' own disk, 0, is not there",
			Run:       reads(chosenDisks),
			Values:    append(diskNames(), "iscsisession", "iscsiconnection"),
			Positions: []string{"number"},
			Takes:     cmdlet.ObjectName,
		},
		{
			Name:      "Get-Volume",
			About:     "the volumes of the data disks, and the drives, with the size of the file system that each is on",
			Run:       reads(chosenVolumes),
			Values:    volumeNames(),
			Positions: []string{"driveletter"},
			Takes:     cmdlet.ObjectName,
		},
		{
			Name:      "Get-Partition",
			About:     "the partitions of the data disks, and the other drives, each as a partition of no disk",
			Run:       reads(chosenPartitions),
			Values:    partitionNames(),
			Positions: partitionNames()[:2],
			Takes:     cmdlet.ObjectName,
		},
		{
			Name:   "Get-PartitionSupportedSize",
			About:  "the sizes that a partition can have: it can grow",
			Run:    getPartitionSupportedSize,
			Values: partitionNames(),
			Takes:  cmdlet.ObjectName,
		},
		{
			Name:  "Update-HostStorageCache",
			About: "looks at the disks of iSCSI's targets anew; at others each cmdlet does",
			Run:   updateHostStorageCache,
		},
	}, storageChanges()...)
}

// diskNumber returns the number of the disk that an object is.
func diskNumber(o *object.Object) uint32 {
	n, _ := o.Props["number"].(int64)
	return uint32(max(0, n)) // the number of a disk
}

// diskOf returns the disk of that number.
func (s hardware) diskOf(number uint32) (hostdisk.Disk, error) {
	i := slices.IndexFunc(s.disks, func(d hostdisk.Disk) bool { return d.Number == number })
	if i < 0 {
		return hostdisk.Disk{}, fmt.Errorf("there is no disk %d", number)
	}
	return s.disks[i], nil
}
