// Package hostiscsi is how the programs of a Windows host ask for its iSCSI initiator (package hostcall), as the
// cmdlets of Windows' module iSCSI (https://learn.microsoft.com/powershell/module/iscsi) do.
package hostiscsi

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"unicode"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
)

// Do is what a Request asks for.
type Do string

// What programs of the host ask for.
const (
	Get          Do = "get"
	AddPortal    Do = "addPortal"    // asks a portal for its targets, and keeps it
	UpdatePortal Do = "updatePortal" // asks it again
	RemovePortal Do = "removePortal"
	Connect      Do = "connect"    // makes a session with a target
	Disconnect   Do = "disconnect" // ends one
	Rescan       Do = "rescan"     // looks at a session's disks anew
	Register     Do = "register"   // has a session made again when the host starts
	Unregister   Do = "unregister"
	SetSecret    Do = "setSecret" // the secret by which targets prove who they are
)

// Call returns how a host's initiator is asked for.
func Call() hostcall.Call[Request, Answer] {
	return hostcall.Call[Request, Answer]{
		Name:    hostcall.ISCSI,
		Check:   (*Request).Check,
		Invalid: hostcall.Refusal{Words: "Invalid Parameter: "},
	}
}

// How a target knows who logs in
// (https://learn.microsoft.com/previous-versions/windows/desktop/iscsidisc/msft-iscsisession).
const (
	NoAuthentication = "NONE"
	OneWayCHAP       = "ONEWAYCHAP"
	MutualCHAP       = "MUTUALCHAP"
)

// Request is what a program asks for.
type Request struct {
	Do Do `json:"do"`
	// Address and Port are a portal's: an address of IP, or a name of DNS. Connect finds the portal of a target that
	// was discovered without them.
	Address string `json:"address,omitempty"`
	Port    uint16 `json:"port,omitempty"`
	// Target is a target's name.
	Target string `json:"target,omitempty"`
	// Session is a session's identifier.
	Session string `json:"session,omitempty"`
	// Authentication is one of NoAuthentication, OneWayCHAP, MutualCHAP; "" is the first of them.
	Authentication string `json:"authentication,omitempty"`
	// User is CHAP's name, "" the initiator's own. Secret is that of CHAP, or of SetSecret.
	User   string `json:"user,omitempty"`
	Secret string `json:"secret,omitempty"`
	// Persistent has Connect make the session again when the host starts.
	Persistent bool `json:"persistent,omitempty"`
}

// Portal is an address where targets are looked for, with what was found there.
type Portal struct {
	Address string   `json:"address"`
	Port    uint16   `json:"port"`
	Targets []string `json:"targets,omitempty"`
}

// Session is a session with a target.
type Session struct {
	// ID is the session's identifier, and Connection that of its one connection, in the form of Windows: two numbers in
	// hexadecimal with a minus between them.
	ID         string `json:"id"`
	Connection string `json:"connection"`
	Target     string `json:"target"`
	Address    string `json:"address"`
	Port       uint16 `json:"port"`
	// LocalAddress and LocalPort are this side's of the connection.
	LocalAddress string `json:"localAddress,omitempty"`
	LocalPort    uint16 `json:"localPort,omitempty"`
	// ISID and TSIH tell the session from others, for the initiator and the target, in hexadecimal.
	ISID           string `json:"isid"`
	TSIH           string `json:"tsih,omitempty"`
	Authentication string `json:"authentication"`
	Persistent     bool   `json:"persistent,omitempty"`
	// Connected says that the target answers. Fault says why it does not.
	Connected bool   `json:"connected,omitempty"`
	Fault     string `json:"fault,omitempty"`
	// Disks are the numbers of its disks.
	Disks []uint32 `json:"disks,omitempty"`
}

// Answer is what the agent answers: what there is then.
type Answer struct {
	// Initiator is the name of the host's initiator.
	Initiator string    `json:"initiator,omitempty"`
	Portals   []Portal  `json:"portals,omitempty"`
	Sessions  []Session `json:"sessions,omitempty"`
	// Session is the identifier of the session that was made.
	Session string `json:"session,omitempty"`
}

// Port is the usual one of portals.
const Port = 3260

// Limits of a user's name, and of a secret, which Windows wants to be from 12 to 16 bytes long
// (https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-setiscsiinitiatorchapsharedsecret).
const (
	mostUser    = 223
	leastSecret = 12
	mostSecret  = 16
)

var (
	hostName   = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$`)
	sessionID  = lazyregexp.New(`^[0-9a-f]{16}-[0-9a-f]{16}$`)
	targetName = lazyregexp.New(
		`^(iqn\.[0-9]{4}-[0-9]{2}\.[a-z0-9][a-z0-9.:-]*|eui\.[0-9a-f]{16}|naa\.[0-9a-f]{16}([0-9a-f]{16})?)$`)
)

// CleanTarget returns the name of a target or an initiator in small letters, an error for a name that is not one (RFC
// 7143, 4.2.7). Letters of other scripts, which the RFC allows, are refused.
func CleanTarget(name string) (string, error) {
	const most = 223
	small := strings.ToLower(name)
	if len(name) > most || !targetName.MatchString(small) {
		return "", fmt.Errorf("%.230q is not the name of an iSCSI target: iqn.YYYY-MM.NAME:…, eui.… or naa.…", name)
	}
	return small, nil
}

// CleanAddress returns the address of a portal in its usual form: an IP address shortened, a name in small letters.
func CleanAddress(address string) (string, error) {
	if ip, err := netip.ParseAddr(address); err == nil && ip.Zone() == "" {
		return ip.Unmap().String(), nil
	}
	if !hostName.MatchString(address) {
		return "", fmt.Errorf("%.260q is neither an address of IP nor a name of DNS", address)
	}
	return strings.ToLower(address), nil
}

// Check returns an error for a request that cannot be carried out. It brings names and addresses into their usual form.
func (r *Request) Check() error {
	if err := r.checkNames(); err != nil {
		return err
	}

	chap := false
	switch r.Authentication {
	case "":
		r.Authentication = NoAuthentication
	case NoAuthentication:
	case OneWayCHAP, MutualCHAP:
		chap = true
	default:
		return fmt.Errorf("%.20q is none of NONE, ONEWAYCHAP, MUTUALCHAP", r.Authentication)
	}

	switch {
	case len(r.User) > mostUser || strings.ContainsFunc(r.User, unicode.IsControl):
		return fmt.Errorf("the user's name has more than %d bytes, or control characters", mostUser)
	case (chap || r.Do == SetSecret) && (len(r.Secret) < leastSecret || len(r.Secret) > mostSecret):
		return fmt.Errorf("a CHAP secret has from %d to %d characters", leastSecret, mostSecret)
	case !chap && r.Do != SetSecret && (r.User != "" || r.Secret != ""):
		return errors.New("a name or a secret of CHAP is given without -AuthenticationType")
	}

	return nil
}

// checkNames returns an error if what has to be named is not, or by what is no name.
func (r *Request) checkNames() (err error) {
	if r.Address != "" {
		if r.Address, err = CleanAddress(r.Address); err != nil {
			return err
		}
		if r.Port == 0 {
			r.Port = Port
		}
	}

	if r.Target != "" {
		if r.Target, err = CleanTarget(r.Target); err != nil {
			return err
		}
	}
	if r.Session != "" && !sessionID.MatchString(r.Session) {
		return fmt.Errorf("%.40q is not the identifier of a session", r.Session)
	}

	switch r.Do {
	case Get, SetSecret:
	case AddPortal, UpdatePortal, RemovePortal:
		if r.Address == "" {
			return errors.New("the portal is not named")
		}
	case Connect:
		if r.Target == "" {
			return errors.New("the target is not named")
		}

	case Disconnect, Rescan, Register, Unregister:
		if r.Session == "" {
			return errors.New("the session is not named")
		}
	default:
		return fmt.Errorf("%.20q is not a request for the iSCSI initiator", r.Do)
	}

	return nil
}
