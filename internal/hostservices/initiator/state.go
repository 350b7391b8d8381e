package initiator

import (
	"crypto/rand"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/hostservices/iscsi"
	"mullion.dev/mullion/internal/hostservices/service"
	"mullion.dev/mullion/internal/windows/wire/hostiscsi"
)

// stateVersion is that of the file.
const stateVersion = 1

// state is kept on the disk. It has secrets: only root reads the file.
type state struct {
	Version  int       `json:"version"`
	Portals  []portal  `json:"portals,omitempty"`
	Sessions []session `json:"sessions,omitempty"`
	// Secret is that by which targets prove who they are.
	Secret string `json:"secret,omitempty"`
}

// portal is an address where targets are looked for.
type portal struct {
	Address string         `json:"address"`
	Port    uint16         `json:"port"`
	CHAP    *iscsi.CHAP    `json:"chap,omitempty"`
	Targets []iscsi.Target `json:"targets,omitempty"`
}

// session is one that exists, or that is to be made again.
type session struct {
	// ID is its name for Windows, without the part that is the same for all.
	ID             string      `json:"id"`
	Target         string      `json:"target"`
	Address        string      `json:"address"`
	Port           uint16      `json:"port"`
	Authentication string      `json:"authentication"`
	CHAP           *iscsi.CHAP `json:"chap,omitempty"`
	ISID           [6]byte     `json:"isid"`
	Persistent     bool        `json:"persistent,omitempty"`
	// Boot is the boot of the machine in which it was made. Ended is that in which a persistent one was logged out,
	// which is made again in the next.
	Boot  string `json:"boot"`
	Ended string `json:"ended,omitempty"`
}

// The ends of Windows' names of a session and its connection.
const (
	ofSession    = "-4000013700000002"
	ofConnection = "-4000013700000001"
)

func newSession(r hostiscsi.Request) session {
	id := make([]byte, 8+5)
	_, _ = rand.Read(id) // never fails

	// ISIDs of the kind that has a random part (RFC 7143, 11.12.5).
	return session{
		ID:             hex.EncodeToString(id[:8]),
		Target:         r.Target,
		Address:        r.Address,
		Port:           r.Port,
		Authentication: r.Authentication,
		ISID:           [6]byte{0x80, id[8], id[9], id[10], id[11], id[12]},
		Persistent:     r.Persistent,
		Boot:           boot(),
	}
}

// portal returns the session's portal as a network names it.
func (s session) portal() string { return at(s.Address, s.Port) }

func at(address string, port uint16) string {
	return net.JoinHostPort(address, strconv.Itoa(int(port)))
}

// boot names the machine's boot.
func boot() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "" // it never changes then
	}
	return strings.TrimSpace(string(id))
}

// stateFile returns the file of the state in a folder.
func stateFile(dir string) service.File[state] {
	return service.File[state]{
		Path:    filepath.Join(dir, "iscsi.json"),
		What:    "the iSCSI sessions of the host",
		Version: stateVersion,
	}
}

func (s *Server) save() error { return stateFile(s.Dir).Save(s.state) }

// load reads the state; a host that has no portals and sessions has no file.
func load(dir string) (state, error) {
	s, err := stateFile(dir).Load(state{Version: stateVersion})
	s.Sessions = current(s.Sessions)
	return s, err
}

// current returns the sessions that go on, or are made again: those of another boot that are not persistent are gone.
func current(all []session) []session {
	now := boot()
	going := make([]session, 0, len(all))
	for _, one := range all {
		switch {
		case one.Ended != "" && one.Ended != now:
			one.Ended, one.Boot = "", now
		case one.Boot != now && one.Persistent:
			one.Boot = now
		case one.Boot != now:
			continue
		}

		// An attempt to log in that was cut short has left the one, before it, whose place it would have taken.
		if slices.ContainsFunc(going, func(other session) bool {
			return other.Ended == "" && one.Ended == "" && other.prefix() == one.prefix()
		}) {
			continue
		}
		going = append(going, one)
	}

	return going
}
