// Package identity owns the programs that say or change who somebody is, and who is logged on: gpresult, klist, nltest,
// query, quser, qwinsta, takeown and whoami.
package identity

import (
	"fmt"
	"io"
	"os"
	"strings"

	"mullion.dev/mullion/guest/filesec"
	"mullion.dev/mullion/guest/token"
	"mullion.dev/mullion/internal/windows/wire/credspec"
)

// System is what the programs need of Windows.
type System interface {
	// Identity is who the program runs as.
	Identity() (token.Identity, error)
	// Domain is the domain that the container is in. The error is os.ErrNotExist where there is none.
	Domain() (credspec.Domain, error)
	// Tickets are the Kerberos tickets of the container's account; fs.ErrNotExist: it has none.
	Tickets() ([]credspec.Cached, error)
	// SetOwner makes an account, which is a SID, a file's owner.
	SetOwner(path, sid string) error
	// Session is the number of the session that the program runs in.
	Session() uint32
}

// ThisSystem returns the Windows that the program runs on.
func ThisSystem() System { return local{} }

type local struct{}

// Identity implements System.
func (local) Identity() (token.Identity, error) { return token.Current() }

// SetOwner implements System.
func (local) SetOwner(path, sid string) error { return filesec.SetOwner(path, sid) }

// Domain implements System. The runtime writes the file, and the container can write to it too.
func (local) Domain() (credspec.Domain, error) {
	const most = 4096
	text, err := readLinux(credspec.File, most)
	if err != nil {
		return credspec.Domain{}, err
	}
	return credspec.ParseDomain(text)
}

// Tickets implements System.
func (local) Tickets() ([]credspec.Cached, error) {
	const most = 1 << 20
	data, err := readLinux(credspec.CacheFile, most)
	if err != nil {
		return nil, err
	}
	return credspec.ParseCache(data)
}

// readLinux reads a file by its Linux name, at most so many bytes.
func readLinux(name string, most int64) ([]byte, error) {
	file, err := os.Open(`\\?\unix` + strings.ReplaceAll(name, "/", `\`))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}
