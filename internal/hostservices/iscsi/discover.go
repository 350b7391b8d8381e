package iscsi

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/windows/wire/hostiscsi"
)

// Target is a target of a portal, with the portals where it is, each with its port.
type Target struct {
	Name    string   `json:"name"`
	Portals []string `json:"portals,omitempty"`
}

// MostTargets bounds the targets of a portal, mostPortals the portals of a target.
const (
	MostTargets = 1024
	mostPortals = 16
)

// Discover asks a portal for its targets.
func Discover(ctx context.Context, l Login) ([]Target, error) {
	l.Target = ""
	s, err := Dial(ctx, l)
	if err != nil {
		return nil, err
	}
	defer s.Close()

	p := &pdu{data: encode(pair{"SendTargets", "All"})}
	p.header[0], p.header[1] = opText, final
	p.set(20, none)
	var text []byte
	const continued = 0x40
	for {
		t, err := s.do(ctx, p, &task{})
		if err == nil && t.answered.op() != opTexts {
			err = broken("the answer to a text is %#x", t.answered.op())
		}
		if err == nil && len(text)+len(t.data) > mostText {
			err = broken("more than %d bytes of targets", mostText)
		}
		if err != nil {
			return nil, fmt.Errorf("ask %s for its targets: %w", l.Portal, err)
		}

		text = append(text, t.data...)
		if t.answered.is(final) && !t.answered.is(continued) {
			break
		}
		p = &pdu{}
		p.header[0], p.header[1] = opText, final
		p.set(20, t.answered.u32(20))
	}

	pairs, err := decode(text)
	if err != nil {
		return nil, err
	}
	// That the session ends without a logout is of no matter to what was asked.
	_ = s.Logout(ctx)
	return targetsOf(pairs), nil
}

// targetsOf returns the targets in what a portal has answered. What is no name of a target is left out.
func targetsOf(pairs []pair) []Target {
	var all []Target
	known := false
	for _, p := range pairs {
		switch p.key {
		case "TargetName":
			name, err := hostiscsi.CleanTarget(p.value)
			if known = err == nil && len(all) < MostTargets; known {
				all = append(all, Target{Name: name})
			}
		case "TargetAddress":
			if at, err := portalOf(p.value); err == nil && known && len(all[len(all)-1].Portals) < mostPortals {
				all[len(all)-1].Portals = append(all[len(all)-1].Portals, at)
			}
		}
	}

	slices.SortFunc(all, func(a, b Target) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b Target) bool { return a.Name == b.Name })
}

// portalOf reads the address of a target: HOST:PORT,TAG or HOST,TAG.
func portalOf(text string) (string, error) {
	address, _, _ := strings.Cut(text, ",")
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = strings.Trim(address, "[]"), strconv.Itoa(hostiscsi.Port)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", err
	}
	host, err = hostiscsi.CleanAddress(host)
	return net.JoinHostPort(host, port), err
}
