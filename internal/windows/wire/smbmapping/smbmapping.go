// Package smbmapping is how the programs of a Windows host ask for SMB global mappings (package hostcall), as New-,
// Get- and Remove-SmbGlobalMapping (https://learn.microsoft.com/powershell/module/smbshare/new-smbglobalmapping) do.
package smbmapping

import (
	"fmt"
	"strings"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
)

// What a Request asks for.
const (
	New    = "new"
	Get    = "get"
	Remove = "remove"
)

// Call returns how a host's mappings are asked for.
func Call() hostcall.Call[Request, Answer] {
	return hostcall.Call[Request, Answer]{
		Name:    hostcall.SMB,
		Check:   (*Request).Check,
		Invalid: hostcall.Refusal{Words: "The parameter is incorrect: ", Code: 87},
		Failed:  hostcall.Refusal{Code: 59}, // ERROR_UNEXP_NET_ERR
	}
}

// Request is what a program asks for.
type Request struct {
	Do string `json:"do"`
	// Remote is `\\server\share`, with nothing behind it; empty for Get: all mappings.
	Remote string `json:"remote,omitempty"`
	// Local is a drive letter with a colon, or empty.
	Local string `json:"local,omitempty"`
	// User is a name, `DOMAIN\name` or name@domain; empty: nobody in particular, as a guest.
	User     string `json:"user,omitempty"`
	Password string `json:"password,omitempty"`
	// Privacy demands that the connection is encrypted, Integrity that it is signed.
	Privacy   bool `json:"privacy,omitempty"`
	Integrity bool `json:"integrity,omitempty"`
}

// Mapping is a mapping that is there.
type Mapping struct {
	Remote string `json:"remote"`
	Local  string `json:"local,omitempty"`
	// Connected says that the server answers.
	Connected bool `json:"connected"`
}

// Answer is what the agent answers: the mappings that were asked for, made or removed.
type Answer struct {
	Mappings []Mapping `json:"mappings,omitempty"`
}

// mostText bounds a user's name and a password, in bytes.
const mostText = 512

var (
	serverName = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$`)
	shareName  = lazyregexp.New(`^[^\\/:*?"<>|\x00-\x1f.][^\\/:*?"<>|\x00-\x1f]{0,79}$`)
	letter     = lazyregexp.New(`^[D-Zd-z]:$`)
)

// Split returns the server and the share of `\\server\share`, in lower case: their names have none.
func Split(remote string) (server, share string, err error) {
	server, share, _ = strings.Cut(strings.TrimPrefix(strings.ReplaceAll(remote, "/", `\`), `\\`), `\`)
	share = strings.TrimSuffix(share, `\`)
	plain := strings.HasPrefix(strings.ReplaceAll(remote, "/", `\`), `\\`) && serverName.MatchString(server) &&
		shareName.MatchString(share) && strings.TrimRight(share, ". ") == share
	if !plain {
		return "", "", fmt.Errorf("%.200q is not the name of a share: %s", remote, `\\server\share`)
	}
	return strings.ToLower(server), strings.ToLower(share), nil
}

// Check returns an error for a request that cannot be carried out.
func (r Request) Check() error {
	if r.Remote != "" || r.Do != Get {
		if _, _, err := Split(r.Remote); err != nil {
			return err
		}
	}

	switch {
	case r.Do != New && r.Do != Get && r.Do != Remove:
		return fmt.Errorf("%.20q is none of new, get, remove", r.Do)
	case r.Local != "" && !letter.MatchString(r.Local):
		return fmt.Errorf("%.20q is not a free drive (D: to Z:)", r.Local)
	case len(r.User) > mostText || len(r.Password) > mostText:
		return fmt.Errorf("the user's name or the password has more than %d bytes", mostText)
	}

	return nil
}
