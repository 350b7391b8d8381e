package smb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	smb2 "github.com/cloudsoda/go-smb2"
	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"mullion.dev/mullion/internal/hostservices/keeper"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
)

// KeepCommand is the first argument of a process that keeps a mapping. The second names its mount point, which says to
// whom the process belongs.
const KeepCommand = "keep-share"

// Keep is a process that keeps a mapping, as a user without rights. It reads the Target from in, connects, and answers
// on out. When it reads that the share is mounted, it serves it by its descriptor 3, until it is unmounted everywhere.
func Keep(ctx context.Context, in io.Reader, out io.Writer) error {
	if err := keeper.Settle(); err != nil {
		return err
	}
	input := json.NewDecoder(in)
	var target Target
	if err := input.Decode(&target); err != nil {
		return fmt.Errorf("read what to connect to: %w", err)
	}

	s := &share{
		target: target,
		way:    target.byPassword(),
		known:  known{most: mostKnown},
	}

	var refusal hostcall.Refusal // says nothing if the server is connected
	_, _, err := s.connection(ctx)
	if err != nil {
		err = target.errorf(err)
		refusal.Words, refusal.Code = words(err)
	}
	if err := errors.Join(err, json.NewEncoder(out).Encode(refusal)); err != nil {
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

// serve answers the kernel, which asks by keeper.DeviceFD. timeout is how long it believes what says no time of its
// own.
func serve(root fs.InodeEmbedder, timeout time.Duration) (*fuse.Server, error) {
	return fs.Mount("/dev/fd/"+strconv.Itoa(keeper.DeviceFD), root, &fs.Options{
		EntryTimeout: &timeout,
		AttrTimeout:  &timeout,
		MountOptions: fuse.MountOptions{
			MaxWrite:                1 << 20,
			MaxInflightRequestBytes: keeper.MostWritten,
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
