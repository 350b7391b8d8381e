package disks

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/hostservices/service"
	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
	"mullion.dev/mullion/internal/windows/wire/hostdisk"
)

// mostDisks bounds the disks of a host: each volume has a loop device of the machine.
const mostDisks = 64

// requestTimeout bounds a request.
const requestTimeout = 10 * time.Minute

// Server has the disks of a host.
type Server struct {
	// Dir is where the disks' files are.
	Dir string
	// Mounts is where volumes are mounted, each at the GUID of its partition. Nobody else writes there, and the host
	// sees it at the same path.
	Mounts string
	// Prefix is the host's Wine prefix, whose dosdevices hold drive letters and the names of volumes. The host's
	// programs may write there.
	Prefix string
	Log    *slog.Logger

	mu     sync.Mutex // one request at a time
	state  state
	remote map[string]Remote // those that are there, by their keys
	owners map[string]uint32 // the disks that partitions are of, by their GUIDs
}

// Service returns the disks as a service of the host.
func (s *Server) Service() service.Service {
	return service.Of[hostdisk.Request, hostdisk.Answer]{
		Call:   hostdisk.Call(),
		Within: requestTimeout,
		Open:   s.takeOver,
		Answer: s.answer,
		Shown:  func(r hostdisk.Request) []any { return []any{"do", r.Do, "disk", r.Disk} },
		Log:    s.Log,
	}
}

// takeOver reads which disks there are, and mounts their volumes. A volume that cannot be mounted is only logged.
func (s *Server) takeOver(ctx context.Context) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()

	var err error
	if s.state, err = stateFile(s.Dir).Load(state{Version: stateVersion}); err != nil {
		return err
	}

	s.remote, s.owners = map[string]Remote{}, map[string]uint32{}
	for _, r := range s.there() {
		if d := s.describe(ctx, r); d.Fault != "" {
			s.Log.Error("disk of the host", "number", d.Number, "error", d.Fault)
		}
	}

	return nil
}

// Ready reports whether the disks are known: the service was opened.
func (s *Server) Ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remote != nil
}

// answer carries out a request, and describes the disks as they are then.
func (s *Server) answer(ctx context.Context, request hostdisk.Request) (a hostdisk.Answer, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if a.Number, err = s.carryOut(ctx, request); err != nil {
		return a, err
	}
	for _, r := range s.there() {
		a.Disks = append(a.Disks, s.describe(ctx, r))
	}

	return a, nil
}

// carryOut carries out a request. It returns the number of the new disk or partition.
func (s *Server) carryOut(ctx context.Context, r hostdisk.Request) (uint32, error) {
	switch r.Do {
	case hostdisk.Get:
		return 0, nil
	case hostdisk.Attach:
		return s.attachDisk(r)
	}

	d, err := s.find(ctx, r)
	if err != nil {
		return 0, err
	}
	defer d.file.Close()

	switch r.Do {
	case hostdisk.Grow:
		return 0, d.growFile(r.Size)
	case hostdisk.Detach:
		return 0, d.remove()
	case hostdisk.Set:
		return 0, d.set(ctx, r)
	}

	switch {
	case d.record.Offline:
		return 0, hostcall.Refusef(41003, "The disk is offline.")
	case d.record.ReadOnly && r.Do != hostdisk.AddPath && r.Do != hostdisk.RemovePath && r.Do != hostdisk.Flush:
		return 0, hostcall.Refusef(41002, "The disk is read only.")
	case r.Do == hostdisk.Initialize:
		return 0, d.initialize()
	}

	return d.changeTable(ctx, r)
}

// find opens the disk that a request is about.
func (s *Server) find(ctx context.Context, r hostdisk.Request) (disk, error) {
	i := slices.IndexFunc(s.state.Disks, func(d record) bool { return d.Number == r.Disk })
	if i < 0 || !s.has(s.state.Disks[i]) {
		return disk{}, hostcall.Refusef(5, "The host has no disk %d.", r.Disk)
	}
	if err := s.usable(ctx, s.state.Disks[i], r.Do); err != nil {
		return disk{}, err
	}
	return s.open(&s.state.Disks[i])
}

// attachDisk gives the host a new disk.
func (s *Server) attachDisk(r hostdisk.Request) (uint32, error) {
	if len(s.state.Disks) >= mostDisks {
		return 0, hostcall.Refusef(40002, "There are not enough resources: the host has %d disks.", mostDisks)
	}
	if _, err := exec.LookPath(maker); err != nil { // nobody could use the disk
		return 0, fmt.Errorf("attach a disk that cannot be formatted: %w", missing(err))
	}

	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	made := record{
		Number: s.free(),
		Serial: strings.ToUpper(hex.EncodeToString(id)),
		Name:   r.Label,
	}
	if made.Name == "" {
		made.Name = "Mullion Virtual Disk"
	}

	file := s.file(made)
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}

	err = errors.Join(f.Truncate(r.Size), f.Close())
	if err == nil {
		s.state.Disks = append(s.state.Disks, made)
		if err = s.save(); err != nil {
			s.state.Disks = s.state.Disks[:len(s.state.Disks)-1]
		}
	}
	if err != nil {
		return 0, errors.Join(fmt.Errorf("make a disk of %d bytes: %w", r.Size, err), os.Remove(file))
	}

	s.Log.Info("disk attached", "number", made.Number, "serial", made.Serial, "size", r.Size)
	return made.Number, nil
}

func (s *Server) file(r record) string {
	if r.Remote != "" {
		return s.remote[r.Remote].File
	}
	return filepath.Join(s.Dir, r.Serial+".img")
}

// describe describes a disk. Its volumes are mounted, if they are not yet.
func (s *Server) describe(ctx context.Context, r record) hostdisk.Disk {
	d := hostdisk.Disk{
		Number: r.Number, Name: r.Name, Serial: r.Serial, ID: identifier(r.Serial), Bus: "SAS",
		Location: fmt.Sprintf("Integrated : Bus 0 : Device 1 : Function 0 : Adapter 1 : Port 0 : Target 0 : LUN %d", r.Number-1),
		Offline:  r.Offline,
		ReadOnly: r.ReadOnly,
	}

	if r.Remote != "" {
		if s.remote[r.Remote].describe(ctx, &d); d.Fault != "" {
			return d
		}
	}

	opened, err := s.open(&r)
	if err == nil {
		defer opened.file.Close()
		err = errors.Join(s.nameDisk(r, d.ID), opened.describe(ctx, &d))
	}
	if err != nil {
		d.Fault = err.Error()
	}

	return d
}

// identifier returns a disk's name for SCSI: NAA, locally assigned (SPC-4, 7.8.6.6.4), of its serial number.
func identifier(serial string) string {
	id, err := hex.DecodeString(serial)
	if err != nil || len(id) != 8 {
		return ""
	}
	id[0] = id[0]&0x0f | 0x30
	return hex.EncodeToString(id)
}

// link has a name of the prefix's devices lead to what is in Mounts.
func (s *Server) link(target string, names ...string) error {
	devices, err := wine.OpenDevices(s.Prefix)
	if err != nil {
		return err
	}
	defer devices.Close()

	target = filepath.Join(s.Mounts, target)
	for _, name := range names {
		if text, err := devices.Readlink(name); err == nil && text == target {
			continue
		}
		if err := devices.RemoveAll(name); err != nil {
			return err
		}
		if err := devices.Symlink(target, name); err != nil {
			return err
		}
	}

	return nil
}

// device returns the name of a disk's device, below Mounts and in the prefix. Its file says what the disk answers of
// itself (guest/c/hooks/disk.c).
func device(r record) string { return fmt.Sprintf("physicaldrive%d", r.Number) }

// nameDisk gives the disk the name by which programs open it.
func (s *Server) nameDisk(r record, id string) error {
	return errors.Join(s.link(device(r), device(r)), s.write(device(r), fmt.Sprintf("%d %s", r.Number, id)))
}

// name gives the volume the name by which Wine finds \\?\Volume{GUID}\, and its drive letter.
func (s *Server) name(p hostdisk.Part) error {
	names := []string{wine.VolumeDevice(p.GUID)}
	if l := p.Letter(); l != "" {
		names = append(names, strings.ToLower(l)+":")
	}
	path := ""
	if l := p.Letter(); l != "" {
		path = l + ":"
	} else if len(p.Paths) > 0 {
		path = p.Paths[0]
	}
	return errors.Join(s.link(p.GUID, names...), s.write(p.GUID+pathFile, path))
}

// pathFile is the end of the name of a file, beside a volume's mount, with the volume's access path: the hooks call the
// volume's files by it (guest/c/hooks/disk.c).
const pathFile = ".path"

// write writes a file of Mounts, if it is another; without a text it removes it.
func (s *Server) write(name, text string) error {
	file := filepath.Join(s.Mounts, name)
	have, err := os.ReadFile(file)
	switch {
	case text == "" && err == nil:
		return os.Remove(file)
	case text == "" || (err == nil && string(have) == text):
		return nil
	}
	return atomicfile.Write(file, []byte(text), 0o644)
}

// unname takes names of the prefix away.
func (s *Server) unname(names ...string) error {
	devices, err := wine.OpenDevices(s.Prefix)
	if err != nil {
		return err
	}
	defer devices.Close()
	for _, name := range names {
		if err := devices.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// letterFree reports whether a drive letter leads to nothing.
func (s *Server) letterFree(path string) (bool, error) {
	devices, err := wine.OpenDevices(s.Prefix)
	if err != nil {
		return false, err
	}
	defer devices.Close()
	_, err = devices.Lstat(strings.ToLower(path))
	if errors.Is(err, unix.ENOENT) {
		return true, nil
	}
	return false, err
}
