package storage

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/words"
	"mullion.dev/mullion/internal/windows/wire/hostdisk"
)

// The cmdlets of Windows' module Storage that change disks, partitions and volumes. The host's agent does it.

// askDisks asks the host's agent for a change, and returns what there is then.
func askDisks(c *cmdlet.Call, request hostdisk.Request) (hardware, hostdisk.Answer, error) {
	if err := hostdisk.Call().Valid(&request); err != nil {
		return hardware{}, hostdisk.Answer{}, err
	}
	system := c.State.System
	answer, err := system.Disks(c.State.Context, request)
	if err != nil {
		return hardware{}, answer, err
	}
	drives, err := system.Volumes()
	return storageOf(answer.Disks, drives), answer, err
}

// onDisks does something with each disk that the call names.
func onDisks(c *cmdlet.Call, do func(s hardware, number uint32) error) error {
	s, err := askStorage(c)
	if err != nil {
		return c.Fail(err)
	}

	chosen, err := chosenDisks(c, s)
	if err != nil {
		return err
	}

	for _, o := range chosen {
		if err := do(s, diskNumber(o)); err != nil {
			return err
		}
	}

	return nil
}

// changeDisks asks for a change of each disk that the call names; -PassThru outputs it.
func changeDisks(c *cmdlet.Call, change func(number uint32) hostdisk.Request) error {
	return onDisks(c, func(_ hardware, number uint32) error {
		s, _, err := askDisks(c, change(number))
		if err != nil {
			return c.Fail(err)
		}
		d, err := s.diskOf(number)
		if err != nil || !c.Flags["passthru"] {
			return err
		}
		return c.Output(diskObject(d))
	})
}

func initializeDisk(c *cmdlet.Call) error {
	return changeDisks(c, func(number uint32) hostdisk.Request {
		return hostdisk.Request{Do: hostdisk.Initialize, Disk: number}
	})
}

func clearDisk(c *cmdlet.Call) error {
	return changeDisks(c, func(number uint32) hostdisk.Request {
		return hostdisk.Request{
			Do:    hostdisk.Clear,
			Disk:  number,
			Force: c.Flags["removedata"],
		}
	})
}

func setDisk(c *cmdlet.Call) error {
	request := hostdisk.Request{Do: hostdisk.Set}
	for parameter, to := range map[string]**bool{"isoffline": &request.Offline, "isreadonly": &request.ReadOnly} {
		if v, given := c.Values[parameter]; given {
			yes := object.Truth(v)
			*to = &yes
		}
	}
	return changeDisks(c, func(number uint32) hostdisk.Request {
		request.Disk = number
		return request
	})
}

// updateDisk looks at disks anew, which each cmdlet does; they have to be there.
func updateDisk(c *cmdlet.Call) error {
	return onDisks(c, func(hardware, uint32) error { return nil })
}

// bytesOf returns a size that a parameter gives, 0 without one.
func bytesOf(c *cmdlet.Call, parameter string) (int64, error) {
	v, given := c.Values[parameter]
	if !given {
		return 0, nil
	}
	size, err := object.Integer(v)
	if err == nil && size <= 0 {
		err = words.Errorf("Size Not Supported: %s", object.Text(v))
	}
	return size, err
}

// made returns the partition of a number of a disk.
func (s hardware) made(disk, number uint32) (partition, error) {
	for _, p := range s.partitions {
		if p.disk != nil && p.disk.Number == disk && p.part.Number == number {
			return p, nil
		}
	}
	return partition{}, words.Errorf("The partition %d of disk %d is gone.", number, disk)
}

// newPartition makes a partition on each disk.
func newPartition(c *cmdlet.Call) error {
	size, err := bytesOf(c, "size")
	if err != nil {
		return c.Fail(err)
	}
	if number, given := c.Values["disknumber"]; given {
		c.Values["number"] = number
	}

	c.Cmdlet.Values = []string{"number"} // the drive letter names no disk
	return onDisks(c, func(_ hardware, disk uint32) error {
		s, answer, err := askDisks(c, hostdisk.Request{
			Do:   hostdisk.Partition,
			Disk: disk,
			Size: size,
		})
		if err != nil {
			return c.Fail(err)
		}

		p, err := s.made(disk, answer.Number)
		if err == nil {
			p, err = lettered(c, s, p)
		}
		if err != nil {
			return c.Fail(err)
		}

		return c.Output(p.object())
	})
}

// lettered gives a partition the drive letter that the call wants it to have. Windows gives a letter to what has no
// volume yet; here it leads somewhere when the volume is formatted.
func lettered(c *cmdlet.Call, s hardware, p partition) (partition, error) {
	letter := strings.TrimSuffix(strings.ToUpper(c.Text("driveletter")), ":")
	if c.Flags["assigndriveletter"] {
		letter = s.freeLetter()
	}
	if letter == "" {
		return p, nil
	}

	s, _, err := askDisks(c, hostdisk.Request{
		Do:        hostdisk.AddPath,
		Disk:      p.disk.Number,
		Partition: p.part.Number,
		Path:      letter + ":",
	})
	if err != nil {
		return p, err
	}

	return s.made(p.disk.Number, p.part.Number)
}

// freeLetter returns the first drive letter that leads nowhere.
func (s hardware) freeLetter() string {
	for l := 'D'; l <= 'Z'; l++ {
		if !slices.ContainsFunc(s.partitions, func(p partition) bool {
			return p.part.Letter() == string(l) || (p.volume != nil && p.volume.Letter == string(l))
		}) {
			return string(l)
		}
	}
	return ""
}

// onPartitions does something with each partition of a disk that the call names.
func onPartitions(c *cmdlet.Call, do func(p partition) error) error {
	s, err := askStorage(c)
	if err != nil {
		return c.Fail(err)
	}

	chosen, err := chosenPartitions(c, s)
	if err != nil {
		return err
	}

	for _, o := range chosen {
		p, err := s.partitionOf(o)
		if err != nil {
			return c.Fail(err)
		}
		if err := do(p); err != nil {
			return err
		}
	}

	return nil
}

// changePartition asks for a change of a partition; -PassThru outputs it.
func changePartition(c *cmdlet.Call, p partition, request hostdisk.Request) error {
	request.Disk, request.Partition = p.disk.Number, p.part.Number
	s, _, err := askDisks(c, request)
	if err != nil {
		return c.Fail(err)
	}
	return pass(c, s, p)
}

// pass outputs a partition as it is after a change, for -PassThru.
func pass(c *cmdlet.Call, s hardware, p partition) error {
	if !c.Flags["passthru"] {
		return nil
	}
	changed, err := s.made(p.disk.Number, p.part.Number)
	if err != nil {
		return c.Fail(err)
	}
	return c.Output(changed.object())
}

func removePartition(c *cmdlet.Call) error {
	return onPartitions(c, func(p partition) error {
		return changePartition(c, p, hostdisk.Request{Do: hostdisk.Delete})
	})
}

func resizePartition(c *cmdlet.Call) error {
	size, err := bytesOf(c, "size")
	if err != nil {
		return c.Fail(err)
	}
	return onPartitions(c, func(p partition) error {
		return changePartition(c, p, hostdisk.Request{Do: hostdisk.Resize, Size: size})
	})
}

// errNotAPath is Windows' answer to an access path that cannot be one.
var errNotAPath = words.Errorf("The access path is not valid.")

// addAccessPath gives each partition a drive letter, or an empty folder that leads to it.
func addAccessPath(c *cmdlet.Call) error {
	return onPartitions(c, func(p partition) error {
		if c.Flags["assigndriveletter"] {
			s, err := askStorage(c)
			if err != nil {
				return c.Fail(err)
			}
			return changePartition(c, p, hostdisk.Request{Do: hostdisk.AddPath, Path: s.freeLetter() + ":"})
		}

		path := hostdisk.CleanPath(c.Text("accesspath"))
		if hostdisk.IsLetter(path) {
			return changePartition(c, p, hostdisk.Request{Do: hostdisk.AddPath, Path: path})
		}

		path = hostdisk.CleanPath(c.State.Path(path))
		if err := emptyFolder(path); err != nil {
			return c.Fail(err)
		}

		request := hostdisk.Request{
			Do:        hostdisk.AddPath,
			Disk:      p.disk.Number,
			Partition: p.part.Number,
			Path:      path,
		}

		s, _, err := askDisks(c, request)
		if err != nil {
			return c.Fail(err)
		}

		if err := c.State.System.MountVolume(path, p.part.Volume()); err != nil {
			request.Do = hostdisk.RemovePath
			_, _, undone := askDisks(c, request)
			return c.Fail(errors.Join(provider.Because(path, err), undone))
		}

		return pass(c, s, p)
	})
}

// emptyFolder returns an error for what cannot become the access path of a volume.
func emptyFolder(path string) error {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
		return errNotAPath
	}
	inside, err := os.ReadDir(path)
	if err == nil && len(inside) > 0 {
		err = words.Errorf("The access path is not valid: the folder %s is not empty.", path)
	}
	return err
}

// removeAccessPath takes an access path away; the folder is empty again.
func removeAccessPath(c *cmdlet.Call) error {
	return onPartitions(c, func(p partition) error {
		path := hostdisk.CleanPath(c.Text("accesspath"))
		if !hostdisk.IsLetter(path) {
			path = hostdisk.CleanPath(c.State.Path(path))
			target, err := os.Readlink(path)
			volume := strings.TrimRight(p.part.Volume(), `\`)
			if err != nil || !strings.EqualFold(strings.TrimRight(target, `\`), volume) {
				return c.Fail(errNotAPath)
			}
			if err := c.State.System.UnmountVolume(path); err != nil {
				return c.Fail(provider.Because(path, err))
			}

			if !slices.ContainsFunc(p.part.Paths, func(known string) bool { return strings.EqualFold(known, path) }) {
				return nil // a link that another program has made
			}
		}

		return changePartition(c, p, hostdisk.Request{Do: hostdisk.RemovePath, Path: path})
	})
}

// onVolumes does something with each volume that the call names, and its partition.
func onVolumes(c *cmdlet.Call, do func(p partition) error) error {
	s, err := askStorage(c)
	if err != nil {
		return c.Fail(err)
	}

	chosen, err := chosenVolumes(c, s)
	if err != nil {
		return err
	}

	for _, o := range chosen {
		i := slices.IndexFunc(s.partitions, func(p partition) bool {
			return p.volume != nil && p.volume.ID == object.Text(o.Props["uniqueid"])
		})
		if err := do(s.partitions[i]); err != nil {
			return err
		}
	}

	return nil
}

// formatVolume makes a file system on each volume.
func formatVolume(c *cmdlet.Call) error {
	return onVolumes(c, func(p partition) error {
		if p.disk == nil {
			return c.Fail(words.Errorf("Access denied: the drive %s: is a folder of the machine.", p.volume.Letter))
		}

		s, _, err := askDisks(c, hostdisk.Request{
			Do:        hostdisk.Format,
			Disk:      p.disk.Number,
			Partition: p.part.Number,
			Label:     c.Text("newfilesystemlabel"),
			Force:     c.Flags["force"],
		})
		if err == nil {
			p, err = s.made(p.disk.Number, p.part.Number)
		}
		if err != nil {
			return c.Fail(err)
		}

		return c.Output(volumeObject(*p.volume))
	})
}

// writeVolumeCache writes what is cached to the disk. What C: is on is the machine's, whose kernel does it.
func writeVolumeCache(c *cmdlet.Call) error {
	return onVolumes(c, func(p partition) error {
		if p.disk == nil {
			return nil
		}
		return changePartition(c, p, hostdisk.Request{Do: hostdisk.Flush})
	})
}

func storageChanges() []cmdlet.Cmdlet {
	with := func(names []string, more ...string) []string { return append(names, more...) }
	return []cmdlet.Cmdlet{
		{
			Name:  "Initialize-Disk",
			About: "writes a partition table, GPT, to a raw disk",
			Run:   initializeDisk,
			Values: with(diskNames(),
				"partitionstyle"),
			Flags:     []string{"passthru"},
			Positions: []string{"number"},
			Takes:     cmdlet.ObjectName,
			Needs: []string{"number|uniqueid|serialnumber|friendlyname|" +
				cmdlet.ObjectName},
			Allowed: map[string][]string{"partitionstyle": {"gpt"}},
		},
		{
			Name:   "Clear-Disk",
			About:  "removes the partition table of a disk, and with -RemoveData what it has",
			Run:    clearDisk,
			Values: diskNames(),
			Flags: []string{
				"removedata", "removeoem",
				"passthru",
			},
			Positions: []string{"number"},
			Takes:     cmdlet.ObjectName,
			Needs:     []string{"number|uniqueid|serialnumber|friendlyname|" + cmdlet.ObjectName},
		},
		{
			Name:  "Set-Disk",
			About: "sets a disk offline or online, read-only or not",
			Run:   setDisk,
			Values: with(diskNames(), "isoffline",
				"isreadonly"),
			Flags:     []string{"passthru"},
			Positions: []string{"number"},
			Takes:     cmdlet.ObjectName,
			Needs:     []string{"number|uniqueid|serialnumber|friendlyname|" + cmdlet.ObjectName},
		},
		{
			Name:      "Update-Disk",
			About:     "looks at a disk anew, which each cmdlet does",
			Run:       updateDisk,
			Values:    diskNames(),
			Positions: []string{"number"},
			Takes:     cmdlet.ObjectName,
			Needs:     []string{"number|uniqueid|serialnumber|friendlyname|" + cmdlet.ObjectName},
		},
		{
			Name:   "New-Partition",
			About:  "makes a partition on a disk",
			Run:    newPartition,
			Values: []string{"disknumber", "size", "driveletter"},
			Flags: []string{
				"usemaximumsize",
				"assigndriveletter",
			},
			Positions: []string{"disknumber"},
			Takes:     cmdlet.ObjectName,
			Needs: []string{"disknumber|" +
				cmdlet.ObjectName, "size|usemaximumsize"},
		},
		{
			Name:      "Remove-Partition",
			About:     "removes a partition",
			Run:       removePartition,
			Values:    partitionNames(),
			Flags:     []string{"passthru"},
			Positions: partitionNames()[:2],
			Takes:     cmdlet.ObjectName,
			Needs:     []string{"disknumber|driveletter|" + cmdlet.ObjectName},
		},
		{
			Name:   "Resize-Partition",
			About:  "makes a partition larger, and its volume while it is used",
			Run:    resizePartition,
			Values: with(partitionNames(), "size"),
			Flags:  []string{"passthru"},
			Takes:  cmdlet.ObjectName,
			Needs:  []string{"size", "disknumber|driveletter|" + cmdlet.ObjectName},
		},
		{
			Name:      "Format-Volume",
			About:     "formats a volume of a data disk: NTFS, as far as programs see",
			Run:       formatVolume,
			Values:    with(volumeNames(), "filesystem", "newfilesystemlabel"),
			Flags:     []string{"force", "full"},
			Positions: []string{"driveletter"},
			Takes:     cmdlet.ObjectName,
			Needs:     []string{"driveletter|uniqueid|filesystemlabel|friendlyname|" + cmdlet.ObjectName},
			Allowed:   map[string][]string{"filesystem": {"ntfs"}},
		},
		{
			Name:   "Add-PartitionAccessPath",
			About:  "gives a partition a drive letter, or an empty folder that leads to its volume",
			Run:    addAccessPath,
			Values: with(partitionNames(), "accesspath"),
			Flags: []string{
				"assigndriveletter",
				"passthru",
			},
			Takes: cmdlet.ObjectName,
			Needs: []string{"accesspath|assigndriveletter", "disknumber|driveletter|" + cmdlet.ObjectName},
		},
		{
			Name:   "Remove-PartitionAccessPath",
			About:  "takes such a letter or folder away",
			Run:    removeAccessPath,
			Values: with(partitionNames(), "accesspath"),
			Flags:  []string{"passthru"},
			Takes:  cmdlet.ObjectName,
			Needs:  []string{"accesspath", "disknumber|driveletter|" + cmdlet.ObjectName},
		},
		{
			Name:      "Write-VolumeCache",
			About:     "writes what is cached of a volume to its disk",
			Run:       writeVolumeCache,
			Values:    volumeNames(),
			Positions: []string{"driveletter"},
			Takes:     cmdlet.ObjectName,
			Needs:     []string{"driveletter|uniqueid|filesystemlabel|friendlyname|" + cmdlet.ObjectName},
		},
	}
}
