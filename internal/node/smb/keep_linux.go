package smb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	smb2 "github.com/cloudsoda/go-smb2"
	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/windows/smbmapping"
)

// KeepCommand is the first argument of a process that keeps a mapping. The second names its mount point, which says to
// whom the process belongs.
const KeepCommand = "keep-share"

// deviceFD is the descriptor by which the kernel asks for the share.
const deviceFD = 3

// mostMemory bounds the memory of a process that keeps shares, in bytes: a server can answer without end. A container
// has at most 4096 threads, and what all of them ask for at once must have room, or one would end the share for others:
// mostRead is the most that a request reads, mostWritten what requests to write have in all.
const (
	mostMemory  = 1 << 30
	mostRead    = 128 << 10
	mostWritten = 128 << 20
)

// Keep is a process that keeps a mapping, as a user without rights. It reads the Target from in, connects, and answers
// on out. When it reads that the share is mounted, it serves it by its descriptor 3, until it is unmounted everywhere.
func Keep(ctx context.Context, in io.Reader, out io.Writer) error {
	if err := settle(); err != nil {
		return err
	}
	input := json.NewDecoder(in)
	var target Target
	if err := input.Decode(&target); err != nil {
		return fmt.Errorf("read what to connect to: %w", err)
	}
	s := &share{target: target, way: target.byPassword(), known: known{most: mostKnown}}
	answer := smbmapping.Answer{}
	_, _, err := s.connection(ctx)
	if err != nil {
		err = target.errorf(err)
		answer.Error, answer.Code = words(err)
	}
	if err := errors.Join(err, json.NewEncoder(out).Encode(answer)); err != nil {
		return err
	}
	var mounted bool
	if err := input.Decode(&mounted); err != nil || !mounted {
		return fmt.Errorf("hear that the share is mounted: %w", err)
	}
	server, err := serve(&node{share: s}, cached)
	if err != nil {
		return err
	}
	server.Wait()
	return nil
}

// settle bounds the memory of this process, and hides it from others of its user, which keep shares too.
func settle() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide the memory: %w", err)
	}
	debug.SetMemoryLimit(mostMemory / 4 * 3) // what is let go of is collected before the bound is met
	limit := unix.Rlimit{Cur: mostMemory, Max: mostMemory}
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &limit); err != nil {
		return fmt.Errorf("bound the memory: %w", err)
	}
	return nil
}

// serve answers the kernel, which asks by deviceFD. timeout is how long it believes what says no time of its own.
func serve(root fs.InodeEmbedder, timeout time.Duration) (*fuse.Server, error) {
	return fs.Mount("/dev/fd/"+strconv.Itoa(deviceFD), root, &fs.Options{
		EntryTimeout: &timeout,
		AttrTimeout:  &timeout,
		MountOptions: fuse.MountOptions{
			MaxWrite:                1 << 20,
			MaxInflightRequestBytes: mostWritten,
			DisableXAttrs:           true,
			DisableReadDirPlus:      true, // asks the server for each entry once more
			Name:                    "smb",
		},
	})
}

// words are Windows' words and number for why a server cannot be used
// (https://learn.microsoft.com/windows/win32/debug/system-error-codes).
func words(err error) (string, uint32) {
	var response *smb2.ResponseError
	var transport *smb2.TransportError
	var dns *net.DNSError
	switch {
	case errors.Is(err, ErrNotEncrypted):
		return "Access is denied: " + ErrNotEncrypted.Error(), 5
	case errors.As(err, &response) && response.Code == statusLogonFailure:
		return "The user name or password is incorrect.", 1326
	case errors.As(err, &response) && response.Code == statusBadNetworkName:
		return "The network name cannot be found.", 67
	case errors.Is(err, os.ErrPermission):
		return "Access is denied.", 5
	case errors.As(err, &dns) || errors.As(err, &transport) || errors.Is(err, context.DeadlineExceeded):
		return "The network path was not found: " + err.Error(), 53
	}
	return err.Error(), 59 // ERROR_UNEXP_NET_ERR
}
