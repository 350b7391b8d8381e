package powershell

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/windows/wire/hostdisk"
)

// The cmdlets of Windows' module Storage that change disks, partitions and volumes. The host's agent does it.

// askDisks asks the host's agent for a change, and returns what there is then.
func (c *call) askDisks(request hostdisk.Request) (storage, hostdisk.Answer, error) {
	if err := request.Check(); err != nil {
		return storage{}, hostdisk.Answer{}, itsWords("Invalid Parameter: %v", err)
	}
	system := c.f.in.session.system()
	answer, err := system.disks(c.f.in.ctx, request)
	if err == nil && answer.Error != "" {
		err = itsWords("%s", answer.Error)
	}
	if err != nil {
		return storage{}, answer, err
	}
	drives, err := system.volumes()
	return storageOf(answer.Disks, drives), answer, err
}

// onDisks does something with each disk that the call names.
func (c *call) onDisks(do func(s storage, number uint32) error) error {
	s, err := c.storage()
	if err != nil {
		return c.fail(err)
	}
	chosen, err := c.chosenDisks(s)
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
func (c *call) changeDisks(change func(number uint32) hostdisk.Request) error {
	return c.onDisks(func(_ storage, number uint32) error {
		s, _, err := c.askDisks(change(number))
		if err != nil {
			return c.fail(err)
		}
		d, err := s.diskOf(number)
		if err != nil || !c.flags["passthru"] {
			return err
		}
		return c.show(diskObject(d))
	})
}

func initializeDisk(c *call) error {
	return c.changeDisks(func(number uint32) hostdisk.Request {
		return hostdisk.Request{Do: hostdisk.Initialize, Disk: number}
	})
}

func clearDisk(c *call) error {
	return c.changeDisks(func(number uint32) hostdisk.Request {
		return hostdisk.Request{Do: hostdisk.Clear, Disk: number, Force: c.flags["removedata"]}
	})
}

func setDisk(c *call) error {
	request := hostdisk.Request{Do: hostdisk.Set}
	for parameter, to := range map[string]**bool{"isoffline": &request.Offline, "isreadonly": &request.ReadOnly} {
		if v, given := c.values[parameter]; given {
			yes := truth(v)
			*to = &yes
		}
	}
	return c.changeDisks(func(number uint32) hostdisk.Request {
		request.Disk = number
		return request
	})
}

// updateDisk looks at disks anew, which each cmdlet does; they have to be there.
func updateDisk(c *call) error {
	return c.onDisks(func(storage, uint32) error { return nil })
}

// bytesOf is a size that a parameter gives, 0 without one.
func (c *call) bytesOf(parameter string) (int64, error) {
	v, given := c.values[parameter]
	if !given {
		return 0, nil
	}
	size, err := integer(v)
	if err == nil && size <= 0 {
		err = itsWords("Size Not Supported: %s", text(v))
	}
	return size, err
}

// made is the partition of a number of a disk.
func (s storage) made(disk, number uint32) (partition, error) {
	for _, p := range s.partitions {
		if p.disk != nil && p.disk.Number == disk && p.part.Number == number {
			return p, nil
		}
	}
	return partition{}, itsWords("The partition %d of disk %d is gone.", number, disk)
}

// newPartition makes a partition on each disk.
func newPartition(c *call) error {
	size, err := c.bytesOf("size")
	if err != nil {
		return c.fail(err)
	}
	if number, given := c.values["disknumber"]; given {
		c.values["number"] = number
	}
	c.cmdlet.values = []string{"number"} // the drive letter names no disk
	return c.onDisks(func(_ storage, disk uint32) error {
		s, answer, err := c.askDisks(hostdisk.Request{Do: hostdisk.Partition, Disk: disk, Size: size})
		if err != nil {
			return c.fail(err)
		}
		p, err := s.made(disk, answer.Number)
		if err == nil {
			p, err = c.lettered(s, p)
		}
		if err != nil {
			return c.fail(err)
		}
		return c.show(p.object())
	})
}

// lettered gives a partition the drive letter that the call wants it to have. Windows gives a letter to what has no
// volume yet; here it leads somewhere when the volume is formatted.
func (c *call) lettered(s storage, p partition) (partition, error) {
	letter := strings.TrimSuffix(strings.ToUpper(c.text("driveletter")), ":")
	if c.flags["assigndriveletter"] {
		letter = s.freeLetter()
	}
	if letter == "" {
		return p, nil
	}
	s, _, err := c.askDisks(hostdisk.Request{
		Do: hostdisk.AddPath, Disk: p.disk.Number, Partition: p.part.Number, Path: letter + ":",
	})
	if err != nil {
		return p, err
	}
	return s.made(p.disk.Number, p.part.Number)
}

// freeLetter is the first drive letter that leads nowhere.
func (s storage) freeLetter() string {
	for l := 'D'; l <= 'Z'; l++ {
		if !slices.ContainsFunc(s.partitions, func(p partition) bool {
			return p.part.Letter() == string(l) || p.volume != nil && p.volume.letter == string(l)
		}) {
			return string(l)
		}
	}
	return ""
}

// onPartitions does something with each partition of a disk that the call names.
func (c *call) onPartitions(do func(p partition) error) error {
	s, err := c.storage()
	if err != nil {
		return c.fail(err)
	}
	chosen, err := c.chosenPartitions(s)
	if err != nil {
		return err
	}
	for _, o := range chosen {
		p, err := s.partitionOf(o)
		if err != nil {
			return c.fail(err)
		}
		if err := do(p); err != nil {
			return err
		}
	}
	return nil
}

// changePartition asks for a change of a partition; -PassThru outputs it.
func (c *call) changePartition(p partition, request hostdisk.Request) error {
	request.Disk, request.Partition = p.disk.Number, p.part.Number
	s, _, err := c.askDisks(request)
	if err != nil {
		return c.fail(err)
	}
	return c.pass(s, p)
}

// pass outputs a partition as it is after a change, for -PassThru.
func (c *call) pass(s storage, p partition) error {
	if !c.flags["passthru"] {
		return nil
	}
	changed, err := s.made(p.disk.Number, p.part.Number)
	if err != nil {
		return c.fail(err)
	}
	return c.show(changed.object())
}

func removePartition(c *call) error {
	return c.onPartitions(func(p partition) error {
		return c.changePartition(p, hostdisk.Request{Do: hostdisk.Delete})
	})
}

func resizePartition(c *call) error {
	size, err := c.bytesOf("size")
	if err != nil {
		return c.fail(err)
	}
	return c.onPartitions(func(p partition) error {
		return c.changePartition(p, hostdisk.Request{Do: hostdisk.Resize, Size: size})
	})
}

// notAPath is Windows' answer to an access path that cannot be one.
var errNotAPath = itsWords("The access path is not valid.")

// addAccessPath gives each partition a drive letter, or an empty folder that leads to it.
func addAccessPath(c *call) error {
	return c.onPartitions(func(p partition) error {
		if c.flags["assigndriveletter"] {
			s, err := c.storage()
			if err != nil {
				return c.fail(err)
			}
			return c.changePartition(p, hostdisk.Request{Do: hostdisk.AddPath, Path: s.freeLetter() + ":"})
		}
		path := hostdisk.CleanPath(c.text("accesspath"))
		if hostdisk.IsLetter(path) {
			return c.changePartition(p, hostdisk.Request{Do: hostdisk.AddPath, Path: path})
		}
		path = hostdisk.CleanPath(c.f.in.path(path))
		if err := emptyFolder(path); err != nil {
			return c.fail(err)
		}
		request := hostdisk.Request{Do: hostdisk.AddPath, Disk: p.disk.Number, Partition: p.part.Number, Path: path}
		s, _, err := c.askDisks(request)
		if err != nil {
			return c.fail(err)
		}
		if err := c.f.in.session.system().mountVolume(path, p.part.Volume()); err != nil {
			request.Do = hostdisk.RemovePath
			_, _, undone := c.askDisks(request)
			return c.fail(errors.Join(because(path, err), undone))
		}
		return c.pass(s, p)
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
		err = itsWords("The access path is not valid: the folder %s is not empty.", path)
	}
	return err
}

// removeAccessPath takes an access path away; the folder is empty again.
func removeAccessPath(c *call) error {
	return c.onPartitions(func(p partition) error {
		path := hostdisk.CleanPath(c.text("accesspath"))
		if !hostdisk.IsLetter(path) {
			path = hostdisk.CleanPath(c.f.in.path(path))
			target, err := os.Readlink(path)
			volume := strings.TrimRight(p.part.Volume(), `\`)
			if err != nil || !strings.EqualFold(strings.TrimRight(target, `\`), volume) {
				return c.fail(errNotAPath)
			}
			if err := c.f.in.session.system().unmountVolume(path); err != nil {
				return c.fail(because(path, err))
			}
			if !slices.ContainsFunc(p.part.Paths, func(known string) bool { return strings.EqualFold(known, path) }) {
				return nil // a link that another program has made
			}
		}
		return c.changePartition(p, hostdisk.Request{Do: hostdisk.RemovePath, Path: path})
	})
}

// onVolumes does something with each volume that the call names, and its partition.
func (c *call) onVolumes(do func(p partition) error) error {
	s, err := c.storage()
	if err != nil {
		return c.fail(err)
	}
	chosen, err := c.chosenVolumes(s)
	if err != nil {
		return err
	}
	for _, o := range chosen {
		i := slices.IndexFunc(s.partitions, func(p partition) bool {
			return p.volume != nil && p.volume.id == text(o.props["uniqueid"])
		})
		if err := do(s.partitions[i]); err != nil {
			return err
		}
	}
	return nil
}

// formatVolume makes a file system on each volume.
func formatVolume(c *call) error {
	return c.onVolumes(func(p partition) error {
		if p.disk == nil {
			return c.fail(itsWords("Access denied: the drive %s: is a folder of the machine.", p.volume.letter))
		}
		s, _, err := c.askDisks(hostdisk.Request{
			Do: hostdisk.Format, Disk: p.disk.Number, Partition: p.part.Number,
			Label: c.text("newfilesystemlabel"), Force: c.flags["force"],
		})
		if err == nil {
			p, err = s.made(p.disk.Number, p.part.Number)
		}
		if err != nil {
			return c.fail(err)
		}
		return c.show(p.volume.object())
	})
}

// writeVolumeCache writes what is cached to the disk. What C: is on is the machine's, whose kernel does it.
func writeVolumeCache(c *call) error {
	return c.onVolumes(func(p partition) error {
		if p.disk == nil {
			return nil
		}
		return c.changePartition(p, hostdisk.Request{Do: hostdisk.Flush})
	})
}

func storageChanges() []cmdlet {
	with := func(names []string, more ...string) []string { return append(names, more...) }
	return []cmdlet{
		{
			name: "Initialize-Disk", about: "writes a partition table, GPT, to a raw disk", run: initializeDisk,
			values: with(diskNames(), "partitionstyle"), flags: []string{"passthru"}, positions: []string{"number"}, takes: objectName,
			needs: []string{"number|uniqueid|serialnumber|friendlyname|" + objectName}, allowed: map[string][]string{"partitionstyle": {"gpt"}},
		},
		{
			name: "Clear-Disk", about: "removes the partition table of a disk, and with -RemoveData what it has", run: clearDisk,
			values: diskNames(), flags: []string{"removedata", "removeoem", "passthru"}, positions: []string{"number"}, takes: objectName,
			needs: []string{"number|uniqueid|serialnumber|friendlyname|" + objectName},
		},
		{
			name: "Set-Disk", about: "sets a disk offline or online, read-only or not", run: setDisk,
			values: with(diskNames(), "isoffline", "isreadonly"), flags: []string{"passthru"}, positions: []string{"number"},
			takes: objectName, needs: []string{"number|uniqueid|serialnumber|friendlyname|" + objectName},
		},
		{
			name: "Update-Disk", about: "looks at a disk anew, which each cmdlet does", run: updateDisk,
			values: diskNames(), positions: []string{"number"}, takes: objectName,
			needs: []string{"number|uniqueid|serialnumber|friendlyname|" + objectName},
		},
		{
			name: "New-Partition", about: "makes a partition on a disk", run: newPartition,
			values: []string{"disknumber", "size", "driveletter"}, flags: []string{"usemaximumsize", "assigndriveletter"},
			positions: []string{"disknumber"}, takes: objectName, needs: []string{"disknumber|" + objectName, "size|usemaximumsize"},
		},
		{
			name: "Remove-Partition", about: "removes a partition", run: removePartition, values: partitionNames(),
			flags: []string{"passthru"}, positions: partitionNames()[:2], takes: objectName,
			needs: []string{"disknumber|driveletter|" + objectName},
		},
		{
			name: "Resize-Partition", about: "makes a partition larger, and its volume while it is used", run: resizePartition,
			values: with(partitionNames(), "size"), flags: []string{"passthru"}, takes: objectName,
			needs: []string{"size", "disknumber|driveletter|" + objectName},
		},
		{
			name: "Format-Volume", about: "formats a volume of a data disk: NTFS, as far as programs see", run: formatVolume,
			values: with(volumeNames(), "filesystem", "newfilesystemlabel"), flags: []string{"force", "full"},
			positions: []string{"driveletter"}, takes: objectName, needs: []string{"driveletter|uniqueid|filesystemlabel|friendlyname|" + objectName},
			allowed: map[string][]string{"filesystem": {"ntfs"}},
		},
		{
			name: "Add-PartitionAccessPath", about: "gives a partition a drive letter, or an empty folder that leads to its volume",
			run: addAccessPath, values: with(partitionNames(), "accesspath"), flags: []string{"assigndriveletter", "passthru"}, takes: objectName,
			needs: []string{"accesspath|assigndriveletter", "disknumber|driveletter|" + objectName},
		},
		{
			name: "Remove-PartitionAccessPath", about: "takes such a letter or folder away", run: removeAccessPath,
			values: with(partitionNames(), "accesspath"), flags: []string{"passthru"}, takes: objectName,
			needs: []string{"accesspath", "disknumber|driveletter|" + objectName},
		},
		{
			name: "Write-VolumeCache", about: "writes what is cached of a volume to its disk", run: writeVolumeCache,
			values: volumeNames(), positions: []string{"driveletter"}, takes: objectName,
			needs: []string{"driveletter|uniqueid|filesystemlabel|friendlyname|" + objectName},
		},
	}
}
