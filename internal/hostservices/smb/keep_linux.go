package smb

import (
	"context"
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

// Keep is a process that keeps a mapping, as a user without rights. It reads the Target from in, connects, and answers
// on out. When it reads that the share is mounted, it serves it by its descriptor 3, until it is unmounted everywhere.
func Keep(ctx context.Context, in io.Reader, out io.Writer) error {
	var target Target
	s := &share{known: known{most: mostKnown}}
	err := keeper.Told(in, out, &target, func() (found struct{}, err error) {
		s.target, s.way = target, target.byPassword()
		if _, _, err = s.connection(ctx); err != nil {
			err = refused(target.errorf(err))
		}
		return found, err
	})
	if err != nil {
		return err
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

// refused adds Windows' words and number for why a server cannot be used to an error
// (https://learn.microsoft.com/windows/win32/debug/system-error-codes).
func refused(err error) error {
	var response *smb2.ResponseError
	var transport *smb2.TransportError
	var dns *net.DNSError
	no := func(code uint32, words string) error {
		return fmt.Errorf("%w: %w", hostcall.Refusef(code, "%s", words), err)
	}

	switch {
	case errors.Is(err, ErrNotEncrypted):
		return no(5, "Access is denied: "+ErrNotEncrypted.Error())
	case errors.As(err, &response) && response.Code == statusLogonFailure:
		return no(1326, "The user name or password is incorrect.")
	case errors.As(err, &response) && response.Code == statusBadNetworkName:
		return no(67, "The network name cannot be found.")
	case errors.Is(err, os.ErrPermission):
		return no(5, "Access is denied.")
	case errors.As(err, &dns) || errors.As(err, &transport) || errors.Is(err, context.DeadlineExceeded):
		return no(53, "The network path was not found: "+err.Error())
	}

	return no(59, err.Error()) // ERROR_UNEXP_NET_ERR
}
