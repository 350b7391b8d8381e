package hcs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// On Windows sandbox.vhdx is a disk, and programs attach it to have a scratch as a volume without the layers below it.
// Here OpenVirtualDisk of virtdisk.dll opens a connection: each byte on it asks for something, and is answered with an
// HRESULT, little-endian. When the program closes its handle, the connection ends, and the disk is detached.
const (
	diskAttach        = 'a'
	diskAttachForGood = 'p' // it stays attached without a handle
	diskDetach        = 'd'
)

// bareDir returns a folder of the machine over which a scratch is mounted that has no layers.
func (l *layers) bareDir() string { return filepath.Join(l.cfg.StateDir, "bare") }

// openDisk opens the disk of a scratch for a program.
func openDisk(_ context.Context, s *Service, text []string) (Answer, error) {
	winPath := text[0]
	at := strings.LastIndexAny(winPath, `\/`)
	if at < 0 || !strings.EqualFold(winPath[at+1:], sandboxDisk) {
		return Answer{}, refuse(NotSupported, "%q is not the disk of a scratch", winPath)
	}
	d, err := s.layers.activate(winPath[:at])
	if err != nil {
		return Answer{}, err
	}
	return Answer{Stream: func(ctx context.Context, conn net.Conn, answer []byte) {
		if _, err := conn.Write(answer); err == nil {
			s.layers.serveDisk(ctx, d, conn)
		}
	}}, nil
}

// serveDisk does what a program asks for a disk that it has open, until it closes its handle.
func (l *layers) serveDisk(ctx context.Context, d *scratch, conn net.Conn) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()

	attached := false
	for {
		asked := make([]byte, 1)
		if _, err := conn.Read(asked); err != nil {
			break
		}

		var err error
		switch asked[0] {
		case diskAttach, diskAttachForGood:
			if err = l.attach(d); err == nil {
				attached = asked[0] == diskAttach
			}
		case diskDetach:
			if err = l.detach(d); err == nil {
				attached = false
			}

		default:
			err = refuse(InvalidArg, "a disk is not asked for %q", asked)
		}

		if _, err := conn.Write(binary.LittleEndian.AppendUint32(nil, uint32(l.codeOf(d, err)))); err != nil {
			break
		}
	}

	if !attached {
		return
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	if d.lower == nil { // else it is a layer that is prepared, whose volume stays
		l.codeOf(d, l.unshow(d.guid))
	}
}

// codeOf returns the result of an error, which is logged if it is none of Windows'.
func (l *layers) codeOf(d *scratch, err error) Code {
	if err == nil {
		return 0
	}
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused.Code
	}
	l.cfg.Log.Warn("disk of a scratch", "scratch", d.guid, "error", err)
	return Fail
}

// attach makes a scratch a volume, without layers. One that is prepared is a volume.
func (l *layers) attach(s *scratch) error {
	if l.cfg.Volumes == "" {
		return refuse(NotSupported, "there are no volumes")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.user != "" || l.isShown(s.guid) {
		return refuse(InUse, "the disk is in use")
	}

	if err := os.MkdirAll(filepath.Join(l.bareDir(), files), 0o755); err != nil {
		return fmt.Errorf("make folder below scratch: %w", err)
	}
	bare, err := os.Open(l.bareDir())
	if err != nil {
		return fmt.Errorf("open folder below scratch: %w", err)
	}
	defer bare.Close()
	return l.mount(s, []*os.File{bare})
}

// detach takes the volume of a scratch away.
func (l *layers) detach(s *scratch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case s.user != "":
		return refuse(InUse, "the scratch is in use by compute system %q", s.user)
	case !l.isShown(s.guid):
		return refuse(NotReady, "the disk is not attached")
	}
	s.shown = false
	return l.unshow(s.guid)
}

// expand lets a scratch have a size at least. It has the room of the machine's file system, which holds it to none.
func (l *layers) expand(winPath, text string) error {
	size, err := strconv.ParseUint(text, 10, 64)
	if err != nil || size == 0 {
		return refuse(InvalidArg, "%q is no size of a scratch", text)
	}

	isScratch := false
	err = l.within(winPath, func(folder *os.Root) error {
		_, err := folder.Lstat(sandboxDisk)
		isScratch = err == nil
		return nil
	})
	if err == nil && !isScratch {
		err = refuse(FileNotFound, "the layer has no %s", sandboxDisk)
	}
	if err != nil {
		return err
	}

	l.cfg.Log.Info("a scratch is held to no size", "layer", winPath, "asked", size)
	return nil
}
