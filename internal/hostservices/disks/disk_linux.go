package disks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/diskfs/go-diskfs/partition/gpt"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
	"mullion.dev/mullion/internal/windows/wire/hostdisk"
)

// disk is a disk whose file is open.
type disk struct {
	*Server
	record *record
	file   *os.File
}

func (s *Server) open(r *record) (disk, error) {
	mode := os.O_RDWR
	if s.remote[r.Remote].ReadOnly {
		mode = os.O_RDONLY
	}
	if r.Remote != "" { // who serves it may be broken: it leads nowhere else
		mode |= unix.O_NOFOLLOW | unix.O_NONBLOCK
	}

	f, err := os.OpenFile(s.file(*r), mode, 0)
	if err != nil {
		return disk{}, fmt.Errorf("open the disk: %w", err)
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return disk{}, errors.Join(fmt.Errorf("open the disk: %q is not a file", f.Name()), err, f.Close())
	}
	return disk{s, r, f}, nil
}

// volume returns that of one of the disk's partitions.
func (d disk) volume(p hostdisk.Part) volume {
	return volume{
		disk: d.file, part: p, mount: filepath.Join(d.Mounts, p.GUID),
		readOnly: d.record.ReadOnly, remote: d.record.Remote != "",
	}
}

// describe fills in what the disk's bytes say.
func (d disk) describe(ctx context.Context, to *hostdisk.Disk) error {
	var err error
	if to.Size, err = sizeOf(d.file); err != nil {
		return err
	}
	t, err := readTable(d.file)
	if err != nil || t == nil {
		return err
	}

	to.GUID = strings.ToLower(t.GUID)
	for _, entry := range t.Partitions {
		p := partOf(t, entry, to.Size)
		if err := d.own(p.GUID); err != nil {
			p.Fault, p.Type = err.Error(), "Unknown"
			to.Partitions = append(to.Partitions, p)
			continue
		}

		p.Paths = slices.Clone(d.state.Paths[p.GUID])
		if err := d.describeVolume(ctx, &p); err != nil {
			p.Fault = err.Error()
			d.Log.Error("volume of the host", "disk", to.Number, "partition", p.Number, "error", err)
		}
		to.Partitions = append(to.Partitions, p)
	}

	return nil
}

// describeVolume fills in what is known of a partition's volume, and mounts it if it is ours.
func (d disk) describeVolume(ctx context.Context, p *hostdisk.Part) error {
	if d.record.Offline || p.Type != "Basic" {
		return nil
	}

	v := d.volume(*p)
	ours, err := v.ours()
	if err != nil {
		return err
	}

	if !ours {
		p.FileSystem, err = v.foreign(ctx)
		if strings.EqualFold(p.FileSystem, NTFS) {
			p.FileSystem = NTFS
		}
		if err == nil && p.FileSystem != "" {
			err = fmt.Errorf("its file system %s was made by another system, and is not read here", p.FileSystem)
		}
		return err
	}

	if err := v.open(); err != nil {
		return err
	}

	return errors.Join(d.name(*p), v.figures(p))
}

// growFile makes the disk larger. Its partitions stay as they are.
func (d disk) growFile(size int64) error {
	now, err := sizeOf(d.file)
	if err != nil {
		return err
	}
	if size < now {
		return hostcall.Refusef(4097, "Size Not Supported: the disk has %d bytes, and does not shrink.", now)
	}
	if err := d.file.Truncate(size); err != nil {
		return fmt.Errorf("make the disk larger: %w", err)
	}
	return nil
}

// remove takes the disk away, with its bytes.
func (d disk) remove() error {
	if err := d.closeAll(true); err != nil {
		return err
	}
	gone := *d.record
	d.disown(gone.Number)
	d.state.Disks = slices.DeleteFunc(d.state.Disks, func(r record) bool { return r.Number == gone.Number })
	if err := d.save(); err != nil {
		return err
	}
	d.Log.Info("disk taken away", "number", gone.Number, "serial", gone.Serial)
	return errors.Join(d.unname(device(gone)), d.write(device(gone), ""), os.Remove(d.Server.file(gone)))
}

// closeAll unmounts the disk's volumes. With forget their access paths go too.
func (d disk) closeAll(forget bool) error {
	t, err := readTable(d.file)
	if errors.Is(err, errForeign) || (err == nil && t == nil) {
		return nil
	}
	if err != nil {
		return err
	}

	size, err := sizeOf(d.file)
	if err != nil {
		return err
	}

	for _, entry := range t.Partitions {
		if d.own(strings.ToLower(entry.GUID)) != nil {
			continue
		}
		if err := d.closeVolume(partOf(t, entry, size), forget); err != nil {
			return err
		}
	}

	return nil
}

func (d disk) closeVolume(p hostdisk.Part, forget bool) error {
	if err := d.volume(p).close(); err != nil {
		return err
	}
	p.Paths = d.state.Paths[p.GUID]
	names := []string{wine.VolumeDevice(p.GUID)}
	if l := p.Letter(); l != "" {
		names = append(names, strings.ToLower(l)+":")
	}

	if forget {
		delete(d.state.Paths, p.GUID)
	}

	return errors.Join(d.unname(names...), d.write(p.GUID+pathFile, ""))
}

// set sets the disk offline or online, and read-only or not.
func (d disk) set(ctx context.Context, r hostdisk.Request) error {
	was := *d.record
	if r.Offline != nil {
		d.record.Offline = *r.Offline
	}
	if r.ReadOnly != nil {
		d.record.ReadOnly = *r.ReadOnly || d.remote[d.record.Remote].ReadOnly
	}

	if *d.record == was {
		return nil
	}
	if (d.record.Offline && !was.Offline) || d.record.ReadOnly != was.ReadOnly {
		if err := d.closeAll(false); err != nil {
			*d.record = was
			return err
		}
	}

	if err := d.save(); err != nil {
		*d.record = was
		return err
	}
	d.Server.describe(ctx, *d.record) // mounts what is to be mounted
	return nil
}

// initialize writes a partition table to a raw disk.
func (d disk) initialize() error {
	t, err := readTable(d.file)
	if err != nil {
		return err
	}
	if t != nil {
		return hostcall.Refusef(41001, "The disk has already been initialized.")
	}
	return writeNewTable(d.file)
}

// changeTable does what needs an initialized disk.
func (d disk) changeTable(ctx context.Context, r hostdisk.Request) (uint32, error) {
	t, err := readTable(d.file)
	if r.Do == hostdisk.Clear && (t != nil || errors.Is(err, errForeign)) {
		return 0, d.clear(t, r.Force)
	}
	if err != nil {
		return 0, err
	}

	if t == nil {
		return 0, hostcall.Refusef(41000, "The disk has not been initialized.")
	}

	size, err := sizeOf(d.file)
	if err != nil {
		return 0, err
	}
	if r.Do == hostdisk.Partition {
		return d.makePartition(t, size, r.Size)
	}

	i := slices.IndexFunc(t.Partitions, func(p *gpt.Partition) bool { return p.Index == int(r.Partition) })
	if i < 0 {
		return 0, hostcall.Refusef(5, "Disk %d has no partition %d.", r.Disk, r.Partition)
	}
	p := partOf(t, t.Partitions[i], size)
	if err := d.own(p.GUID); err != nil {
		return 0, err
	}

	p.Paths = d.state.Paths[p.GUID]
	if p.Type != "Basic" && r.Do != hostdisk.Delete {
		return 0, hostcall.Refusef(41006, "A parameter is not valid for this type of partition.")
	}

	switch r.Do {
	case hostdisk.Delete:
		if err := d.closeVolume(p, true); err != nil {
			return 0, err
		}
		t.Partitions = slices.Delete(t.Partitions, i, i+1)
		return 0, errors.Join(writeTable(d.file, t), d.save())
	case hostdisk.Resize:
		return 0, d.resize(ctx, t, t.Partitions[i], p, r.Size)
	}

	return 0, d.changeVolume(ctx, p, r)
}

// clear removes the partition table, and force what the partitions hold.
func (d disk) clear(t *gpt.Table, force bool) error {
	basic := t == nil || slices.ContainsFunc(t.Partitions, func(p *gpt.Partition) bool {
		return p.Type != gpt.MicrosoftReserved
	})
	if basic && !force {
		return hostcall.Refusef(6,
			"The disk has partitions: -RemoveData removes them, and -RemoveOEM those of another system.")
	}
	if err := d.closeAll(true); err != nil {
		return err
	}
	return errors.Join(clearTable(d.file), d.save())
}

// makePartition makes a partition without a volume: old data there is not taken for one.
func (d disk) makePartition(t *gpt.Table, size, want int64) (uint32, error) {
	p, err := addPartition(t, size, want)
	if err != nil {
		return 0, err
	}
	if _, err := d.file.WriteAt(make([]byte, alignment), int64(p.Start)*sector); err != nil { // within the disk
		return 0, fmt.Errorf("clear the partition: %w", err)
	}
	return uint32(p.Index), writeTable(d.file, t) // at most mostPartitions
}

// resize makes a partition larger, and its volume while it is used. If this is cut short, the next time does the rest.
func (d disk) resize(ctx context.Context, t *gpt.Table, entry *gpt.Partition, p hostdisk.Part, size int64) error {
	size = size / sector * sector
	switch {
	case size < p.Size:
		return hostcall.Refusef(4097, "Size Not Supported: the partition has %d bytes, and does not shrink.", p.Size)
	case size > p.Most:
		return hostcall.Refusef(4097, "Size Not Supported: there is room for %d bytes.", p.Most)
	}

	place(entry, p.Offset, size)
	if err := writeTable(d.file, t); err != nil {
		return err
	}
	p.Size = size
	v := d.volume(p)
	if ours, err := v.ours(); err != nil || !ours {
		return err
	}

	return v.grow(ctx)
}

// changeVolume does what concerns the volume of a partition.
func (d disk) changeVolume(ctx context.Context, p hostdisk.Part, r hostdisk.Request) error {
	v := d.volume(p)
	ours, err := v.ours()
	if err != nil {
		return err
	}

	switch {
	case r.Do == hostdisk.Format:
		foreign, err := v.foreign(ctx)
		if err == nil && !ours && foreign != "" && !r.Force {
			err = hostcall.Refusef(43002,
				"The volume has the file system %s of another system: -Force formats it.", foreign)
		}
		if err != nil {
			return err
		}

		return v.format(ctx, r.Label)

	case r.Do == hostdisk.AddPath: // it leads somewhere when the volume is formatted
		return d.addPath(p, r.Path)
	case r.Do == hostdisk.RemovePath:
		return d.removePath(p, r.Path)
	case !ours:
		return hostcall.Refusef(43005, "The volume has no file system that this host reads.")
	}

	return v.flush()
}

// addPath records where programs find the volume, and makes a drive letter. A folder's link is made by the program that
// asks, because the host's drives are its own.
func (d disk) addPath(p hostdisk.Part, path string) error {
	path = hostdisk.CleanPath(path)
	for _, paths := range d.state.Paths {
		if slices.ContainsFunc(paths, func(other string) bool { return strings.EqualFold(other, path) }) {
			return hostcall.Refusef(42002, "The requested access path is already in use.")
		}
	}

	if hostdisk.IsLetter(path) {
		free, err := d.letterFree(path)
		if err != nil {
			return err
		}
		if !free || p.Letter() != "" {
			return hostcall.Refusef(42002, "The requested access path is already in use.")
		}
	}

	if d.state.Paths == nil {
		d.state.Paths = map[string][]string{}
	}
	d.state.Paths[p.GUID] = append(d.state.Paths[p.GUID], path)
	p.Paths = d.state.Paths[p.GUID]
	return errors.Join(d.save(), d.name(p))
}

// removePath forgets an access path.
func (d disk) removePath(p hostdisk.Part, path string) error {
	path = hostdisk.CleanPath(path)
	kept := slices.DeleteFunc(slices.Clone(p.Paths), func(other string) bool { return strings.EqualFold(other, path) })
	if len(kept) == len(p.Paths) {
		return hostcall.Refusef(42007, "The access path is not valid.")
	}

	if hostdisk.IsLetter(path) {
		if err := d.unname(strings.ToLower(path)); err != nil {
			return err
		}
	}
	d.state.Paths[p.GUID], p.Paths = kept, kept
	return errors.Join(d.save(), d.name(p))
}
