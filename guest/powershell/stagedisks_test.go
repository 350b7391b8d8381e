package powershell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"mullion.dev/mullion/internal/windows/wire/hostcall"
	"mullion.dev/mullion/internal/windows/wire/hostdisk"
)

// stagedDisks is an agent with two disks: 1 is raw, 2 has a volume.
type stagedDisks struct{ disks []hostdisk.Disk }

func stageDisks() *stagedDisks {
	disk := func(number uint32, name string) hostdisk.Disk {
		return hostdisk.Disk{
			Number: number, Name: name, Serial: fmt.Sprintf("S%d", number), ID: fmt.Sprintf("300000000000000%d",
				number),
			Location: fmt.Sprintf("Integrated : Bus 0 : Device 1 : Function 0 : Adapter 1 : Port 0 : Target 0 : LUN %d", number-1),
			Bus:      "SAS", Size: 1 << 30,
		}
	}

	first, second := disk(1, "raw"), disk(2, "full")
	second.GUID = "00000000-0000-0000-0000-0000000000d2"
	second.Partitions = []hostdisk.Part{
		{
			Number: 1, Offset: 17408, Size: 16759808, Most: 16759808, Type: "Reserved",
			GUID: "00000000-0000-0000-0000-000000000021",
		},
		{
			Number: 2, Offset: 16 << 20, Size: 500 << 20, Most: 1006 << 20, Type: "Basic",
			GUID: "00000000-0000-0000-0000-000000000022", Paths: []string{
				"E:",
				`C:\mnt`,
			}, FileSystem: "NTFS", Label: "full",
			VolumeSize: 490 << 20, Free: 1 << 20,
		},
	}

	return &stagedDisks{disks: []hostdisk.Disk{first, second}}
}

// ask carries out what changes what is shown.
func (s *stagedDisks) ask(_ context.Context, r hostdisk.Request) (a hostdisk.Answer, err error) {
	i := slices.IndexFunc(s.disks, func(d hostdisk.Disk) bool { return d.Number == r.Disk })
	switch {
	case r.Do == hostdisk.Get:
	case s.disks[i].Offline && r.Do != hostdisk.Set:
		return a, hostcall.Refusef(41003, "The disk is offline.")
	case r.Do == hostdisk.Initialize && s.disks[i].GUID != "":
		return a, hostcall.Refusef(41001, "The disk has already been initialized.")
	case r.Do == hostdisk.Initialize:
		s.disks[i].GUID = "00000000-0000-0000-0000-0000000000d1"
	case r.Do == hostdisk.Set && r.Offline != nil:
		s.disks[i].Offline = *r.Offline
	case r.Do == hostdisk.Partition:
		a.Number = uint32(7 + len(s.disks[i].Partitions)) // a few
		s.disks[i].Partitions = append(s.disks[i].Partitions, hostdisk.Part{
			Number: a.Number, Offset: 16 << 20, Size: max(r.Size, 100), Type: "Basic",
			GUID: fmt.Sprintf("00000000-0000-0000-0000-%012d", a.Number),
		})

	case r.Do == hostdisk.Format:
		j := slices.IndexFunc(s.disks[i].Partitions, func(p hostdisk.Part) bool { return p.Number == r.Partition })
		s.disks[i].Partitions[j].FileSystem, s.disks[i].Partitions[j].Label = "NTFS", r.Label
	case r.Do == hostdisk.AddPath && r.Path != "Q:":
		j := slices.IndexFunc(s.disks[i].Partitions, func(p hostdisk.Part) bool { return p.Number == r.Partition })
		s.disks[i].Partitions[j].Paths = append(s.disks[i].Partitions[j].Paths, r.Path)
	case r.Do == hostdisk.AddPath:
		return a, hostcall.Refusef(42002, "The requested access path is already in use.")
	}

	for _, d := range s.disks { // answers share nothing
		d.Partitions = slices.Clone(d.Partitions)
		a.Disks = append(a.Disks, d)
	}

	return a, nil
}

// mount and unmount stand for the links of a host, by links of the machine.
func (s *stagedDisks) mount(path, volume string) error {
	return errors.Join(os.Remove(path), os.Symlink(volume, path))
}

func (s *stagedDisks) unmount(path string) error {
	return errors.Join(os.Remove(path), os.Mkdir(path, 0o700))
}
