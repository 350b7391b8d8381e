package smb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/hostservices/keeper"
	"mullion.dev/mullion/internal/hostservices/service"
	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
	"mullion.dev/mullion/internal/windows/wire/smbmapping"
)

// mostMappings bounds the mappings of a host: each is a process.
const mostMappings = 64

// Times: how long a mapping may take to be made, and how long its server has to answer to count as connected.
const (
	makeTimeout = time.Minute
	lookTimeout = 2 * time.Second
)

// kind is that of the file systems, fsType what the kernel says of it.
const (
	kind   = "smb"
	fsType = "fuse." + kind
)

// Server makes, lists and removes the mappings of a host.
type Server struct {
	// Folder is where shares are mounted. Nobody else writes there.
	Folder string
	// Prefix is the host's Wine prefix, whose dosdevices hold the drive letters. The host's programs may write there.
	Prefix string
	// Program is a program that calls Keep when its arguments are keeper.Share and the name of a mount point.
	Program string
	Log     *slog.Logger

	mu sync.Mutex // one change at a time
}

// Service returns the mappings as a service of the host. What is mounted is there before it is opened.
func (s *Server) Service() service.Service {
	return service.Of[smbmapping.Request, smbmapping.Answer]{
		Call:   smbmapping.Call(),
		Within: 2 * makeTimeout,
		Answer: s.answer,
		Shown:  func(r smbmapping.Request) []any { return []any{"do", r.Do, "remote", r.Remote} },
		Log:    s.Log,
	}
}

func (s *Server) answer(ctx context.Context, request smbmapping.Request) (smbmapping.Answer, error) {
	mappings, err := s.carryOut(ctx, request)
	return smbmapping.Answer{Mappings: mappings}, err
}

// carryOut carries out a request. It returns the mappings that were asked for, made or removed.
func (s *Server) carryOut(ctx context.Context, request smbmapping.Request) ([]smbmapping.Mapping, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	all, err := s.mappings()
	if err != nil || (request.Do == smbmapping.Get && request.Remote == "") {
		return all, err
	}

	server, share, err := smbmapping.Split(request.Remote)
	if err != nil {
		return nil, err
	}

	var there []smbmapping.Mapping
	for _, m := range all {
		if m.Remote == `\\`+server+`\`+share {
			there = append(there, m)
		}
	}

	switch request.Do {
	case smbmapping.New:
		if len(there) > 0 && s.abandoned(server, share) {
			if err := s.remove(server, share, there[0].Local); err != nil {
				return nil, err
			}
			request.Local, there = cmp.Or(request.Local, there[0].Local), nil
		}
		if err := room(len(there), len(all)); err != nil {
			return nil, err
		}

		return s.make(ctx, request, server, share)

	case smbmapping.Remove:
		if len(there) > 0 {
			if err := s.remove(server, share, there[0].Local); err != nil {
				return nil, err
			}
		}
	}

	return there, nil
}

// room returns the error of a new mapping, where there are so many of the share and in all; nil if it can be made.
func room(there, all int) error {
	switch {
	case there > 0:
		return hostcall.Refusef(1219, "Multiple connections to a server or shared resource by the same user, using "+
			"more than one user name, are not allowed.")
	case all >= mostMappings:
		return hostcall.Refusef(66, "The network resource type is not correct: the host has %d mappings.", mostMappings)
	}
	return nil
}

// mappings returns the shares that are mounted.
func (s *Server) mappings() ([]smbmapping.Mapping, error) {
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		return m.FSType != fsType || !strings.HasPrefix(m.Mountpoint, s.Folder+"/"), false
	})
	if err != nil {
		return nil, err
	}

	letters, err := s.letters()
	if err != nil {
		return nil, err
	}

	var all []smbmapping.Mapping
	var points []string
	for _, m := range mounts {
		server, share, two := strings.Cut(strings.TrimPrefix(m.Mountpoint, s.Folder+"/"), "/")
		if !two || strings.Contains(share, "/") {
			continue
		}
		all = append(all, smbmapping.Mapping{
			Remote: `\\` + server + `\` + share,
			Local:  letters[server+"/"+share],
		})
		points = append(points, m.Mountpoint)
	}

	var asked sync.WaitGroup
	for i, point := range points {
		asked.Go(func() { all[i].Connected = look(point) == nil })
	}

	asked.Wait()
	return all, nil
}

// errSilent says that the server of a mount does not answer.
var errSilent = errors.New("the server does not answer")

// look asks the server of a mount for its size. The error is ENOTCONN if the process that kept the mount has ended.
func look(mount string) error {
	done := make(chan error, 1)
	go func() {
		var st unix.Statfs_t
		done <- unix.Statfs(mount, &st)
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(lookTimeout):
		return errSilent
	}
}

// abandoned reports whether the process that kept a mapping has ended, and with it all that knew the password. Then the
// mapping gives way to one anew.
func (s *Server) abandoned(server, share string) bool {
	return errors.Is(look(filepath.Join(s.Folder, server, share)), unix.ENOTCONN)
}

// throughUNC is how the link of a drive letter leads to a share.
const throughUNC = "unc/"

// letters returns the drive letters of shares, as "server/share".
func (s *Server) letters() (map[string]string, error) {
	devices, err := wine.OpenDevices(s.Prefix)
	if err != nil {
		return nil, err
	}
	defer devices.Close()

	found := map[string]string{}
	for letter := 'd'; letter <= 'z'; letter++ {
		text, err := devices.Readlink(string(letter) + ":")
		if place, ok := strings.CutPrefix(text, throughUNC); err == nil && ok {
			found[place] = strings.ToUpper(string(letter)) + ":"
		}
	}

	return found, nil
}

func (s *Server) make(ctx context.Context, request smbmapping.Request, server, share string) (
	[]smbmapping.Mapping, error,
) {
	devices, err := wine.OpenDevices(s.Prefix)
	if err != nil {
		return nil, err
	}
	defer devices.Close()

	letter := strings.ToLower(request.Local)
	if letter != "" {
		if _, err := devices.Lstat(letter); !errors.Is(err, fs.ErrNotExist) {
			return nil, hostcall.Refusef(85, "The local device name is already in use.")
		}
	}

	place := filepath.Join(server, share)
	folder, err := s.makeFolder(place)
	if err != nil {
		return nil, err
	}
	defer folder.Close()

	target := Target{
		Server: server, Share: share, User: request.User, Password: request.Password,
		Privacy: request.Privacy, Integrity: request.Integrity,
	}

	if err := s.start(ctx, target, folder); err != nil {
		return nil, err
	}
	if letter != "" {
		if err := devices.Symlink(throughUNC+place, letter); err != nil {
			return nil, err
		}
	}

	return []smbmapping.Mapping{
		{Remote: `\\` + server + `\` + share, Local: strings.ToUpper(letter), Connected: true},
	}, nil
}

// makeFolder makes and opens the folder that a share is mounted over. No link leads out of where they are.
func (s *Server) makeFolder(place string) (*os.File, error) {
	root, err := os.OpenRoot(s.Folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := root.MkdirAll(place, 0o711); err != nil {
		return nil, err
	}
	return s.openFolder(place)
}

// openFolder opens the folder of a share, or what is mounted over it. The share's server is not asked.
func (s *Server) openFolder(place string) (*os.File, error) {
	root, err := os.OpenRoot(s.Folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}

	defer dir.Close()

	fd, err := unix.Openat2(int(dir.Fd()), place, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return nil, &os.PathError{
			Op:   "open",
			Path: place,
			Err:  err,
		}
	}

	return os.NewFile(uintptr(fd), place), nil
}

// start starts the process that keeps the mapping, and mounts the share when it is connected.
func (s *Server) start(ctx context.Context, target Target, folder *os.File) error {
	return keeper.Process{
		Program: s.Program,
		Command: keeper.Share,
		Name:    filepath.Join(s.Folder, target.Server, target.Share),
	}.Keep(ctx, makeTimeout, target, func(device *os.File) error {
		source := `\\` + target.Server + `\` + target.Share
		if err := keeper.MountOver(folder, device, source, kind); err != nil {
			return fmt.Errorf("mount %s: %w", source, err)
		}
		return nil
	})
}

// remove unmounts a share. Who has a file of it open keeps it.
func (s *Server) remove(server, share, letter string) error {
	if letter != "" {
		devices, err := wine.OpenDevices(s.Prefix)
		if err != nil {
			return err
		}
		defer devices.Close()
		if err := devices.Remove(strings.ToLower(letter)); err != nil {
			return err
		}
	}

	folder, err := s.openFolder(filepath.Join(server, share))
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := unix.Unmount(fmt.Sprintf("/proc/self/fd/%d", folder.Fd()), unix.MNT_DETACH); err != nil {
		return fmt.Errorf(`unmount \\%s\%s: %w`, server, share, err)
	}

	return nil
}
