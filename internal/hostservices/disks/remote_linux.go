package disks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
	"mullion.dev/mullion/internal/windows/wire/hostdisk"
)

// Remote is a disk whose bytes another machine has. It comes and goes, and has its number, its access paths and whether
// it is offline by its key.
type Remote struct {
	// Key tells it from others.
	Key string
	// File has its bytes, while the disk is there.
	File string
	// What the disk says of itself, as hostdisk.Disk has it.
	Name, Serial, ID, Bus, Location, Session string
	// ReadOnly says that nothing can be written to it.
	ReadOnly bool
	// Fault says why its bytes cannot be read now, "" if they can. While there is a fault, nobody waits for them.
	Fault func(ctx context.Context) string
}

// describe fills in what the disk says of itself, without reading it.
func (r Remote) describe(ctx context.Context, d *hostdisk.Disk) {
	d.Name = r.Name
	d.Serial = r.Serial
	d.ID = r.ID
	d.Bus = r.Bus
	d.Location = r.Location
	d.Session = r.Session
	d.Fault = r.Fault(ctx)
}

// has reports whether a disk is there. A remote one may be gone.
func (s *Server) has(r record) bool {
	_, known := s.remote[r.Remote]
	return r.Remote == "" || known
}

// there returns the disks that are there.
func (s *Server) there() []record {
	return slices.DeleteFunc(slices.Clone(s.state.Disks), func(r record) bool { return !s.has(r) })
}

// usable returns an error for what cannot be done with a remote disk.
func (s *Server) usable(ctx context.Context, r record, do hostdisk.Do) error {
	if r.Remote == "" {
		return nil
	}
	if do == hostdisk.Grow || do == hostdisk.Detach {
		return hostcall.Refusef(5, "Not Supported: the disk is that of an iSCSI target, which has its bytes.")
	}
	if fault := s.remote[r.Remote].Fault(ctx); fault != "" {
		return hostcall.Refusef(4, "%s", fault)
	}
	return nil
}

// Attach gives the host remote disks, and mounts their volumes. Those that it has, it has anew.
func (s *Server) Attach(ctx context.Context, all []Remote) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	var errs []error
	for _, r := range all {
		i := slices.IndexFunc(s.state.Disks, func(d record) bool { return d.Remote == r.Key })
		if i < 0 && len(s.state.Disks) >= mostDisks {
			errs = append(errs, fmt.Errorf("the host has %d disks", mostDisks))
			continue
		}
		if i < 0 {
			i = len(s.state.Disks)
			s.state.Disks = append(s.state.Disks, record{Number: s.free(), Remote: r.Key})
		}

		s.state.Disks[i].ReadOnly = s.state.Disks[i].ReadOnly || r.ReadOnly
		s.remote[r.Key] = r
		if d := s.describe(ctx, s.state.Disks[i]); d.Fault != "" {
			errs = append(errs, fmt.Errorf("disk %d: %s", d.Number, d.Fault))
		}
	}

	return errors.Join(append(errs, s.save())...)
}

// Numbers returns the numbers of remote disks that are there.
func (s *Server) Numbers(keys []string) []uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []uint32
	for _, r := range s.there() {
		if r.Remote != "" && slices.Contains(keys, r.Remote) {
			all = append(all, r.Number)
		}
	}
	return all
}

// Release takes remote disks away, whose volumes it unmounts; their access paths are kept. ErrInUse: a program or a
// container has a volume of one, and all stay.
func (s *Server) Release(ctx context.Context, keys []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	var gone []record
	for i, r := range s.state.Disks {
		if !slices.Contains(keys, r.Remote) || !s.has(r) {
			continue
		}

		d, err := s.open(&s.state.Disks[i])
		if err == nil {
			err = errors.Join(d.closeAll(false), d.file.Close())
		}
		if err != nil {
			for _, r := range append(gone, r) {
				s.describe(ctx, r) // mounts what was unmounted
			}
			return err
		}

		gone = append(gone, r)
	}

	var errs []error
	for _, r := range gone {
		errs = append(errs, s.vanish(r))
		s.state.Disks = slices.DeleteFunc(s.state.Disks, func(d record) bool { return d.Number == r.Number })
	}

	return errors.Join(append(errs, s.save())...)
}

// Lose takes remote disks away, whose keys begin so, and whose bytes cannot be had any more. Who has a volume keeps it,
// and gets errors.
func (s *Server) Lose(prefix string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	var errs []error
	for _, r := range s.state.Disks {
		if r.Remote == "" || !strings.HasPrefix(r.Remote, prefix) {
			continue
		}
		for guid, number := range s.owners {
			if number == r.Number {
				errs = append(errs, s.drop(guid))
			}
		}

		errs = append(errs, s.vanish(r))
	}

	return errors.Join(errs...)
}

// drop unmounts a volume whose bytes are gone.
func (s *Server) drop(guid string) error {
	mount := filepath.Join(s.Mounts, guid)
	err := unix.Unmount(mount, unix.MNT_DETACH)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		err = nil
	}
	if err == nil {
		err = os.Remove(mount)
	}
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}

	names := []string{wine.VolumeDevice(guid)}
	if l := (hostdisk.Part{Paths: s.state.Paths[guid]}).Letter(); l != "" {
		names = append(names, strings.ToLower(l)+":")
	}

	return errors.Join(err, s.unname(names...), s.write(guid+pathFile, ""))
}

// vanish takes a remote disk's device away.
func (s *Server) vanish(r record) error {
	delete(s.remote, r.Remote)
	s.disown(r.Number)
	return errors.Join(s.unname(device(r)), s.write(device(r), ""))
}

// Forget forgets the remote disks whose keys are not kept, and what is mounted of disks that are not there: an earlier
// life has left it.
func (s *Server) Forget(keep func(key string) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	var errs []error
	s.state.Disks = slices.DeleteFunc(s.state.Disks, func(r record) bool {
		if r.Remote == "" || keep(r.Remote) {
			return false
		}
		errs = append(errs, s.vanish(r))
		return true
	})

	entries, err := os.ReadDir(s.Mounts)
	errs = append(errs, err)
	for _, e := range entries {
		_, owned := s.owners[e.Name()]
		if _, err := uuid.Parse(e.Name()); err == nil && e.IsDir() && !owned {
			errs = append(errs, s.drop(e.Name()))
		}
	}

	return errors.Join(append(errs, s.save())...)
}

// own notes that a partition is one of the disk's. Another disk's may have the same GUID, as a copy of a disk has, or
// one that somebody made to be taken for it: it is not used then.
func (d disk) own(guid string) error {
	if number, owned := d.owners[guid]; owned && number != d.record.Number {
		return hostcall.Refusef(5, "The partition has the identifier of one of disk %d.", number)
	}
	d.owners[guid] = d.record.Number
	return nil
}

// disown forgets the partitions of a disk.
func (s *Server) disown(number uint32) {
	for guid, owner := range s.owners {
		if owner == number {
			delete(s.owners, guid)
		}
	}
}
