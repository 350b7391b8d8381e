package iscsi

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
)

// scripted returns a session with a target that answers each message by a script.
func scripted(t *testing.T, answer func(p *pdu, say func(*pdu))) *Session {
	t.Helper()
	ours, theirs := net.Pipe()
	s := newSession(ours)
	s.maxCmdSN = 100
	s.mostSent = mostReceived
	s.burst = mostBurst
	s.first = mostReceived
	go s.hear()
	go func() {
		for {
			p, err := read(theirs, nil)
			if err != nil {
				return
			}
			answer(p, func(r *pdu) { _ = r.write(theirs) })
		}
	}()

	t.Cleanup(func() {
		s.Close()
		_ = theirs.Close()
	})
	return s
}

// reply returns a message of a target about a task.
func reply(to *pdu, op, flags byte, data string) *pdu {
	p := &pdu{data: []byte(data)}
	p.header[0], p.header[1] = op, flags
	p.set(16, to.tag())
	p.set(20, none)
	p.set(32, 100)
	return p
}

// TestHostile has targets that do what none may do: the session ends, and nothing is read or written elsewhere.
func TestHostile(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	unit := Unit{Size: 1 << 20, Block: 512}
	at := func(p *pdu, offset, length uint32) *pdu {
		p.set(40, offset)
		p.set(44, length)
		return p
	}

	for name, answer := range map[string]func(p *pdu, say func(*pdu)){
		"more data than asked for": func(p *pdu, say func(*pdu)) { say(reply(p, opDataIn, final|1, strings.Repeat("x", 600))) },
		"data at another place":    func(p *pdu, say func(*pdu)) { say(at(reply(p, opDataIn, final|1, "xxxx"), 0xfffffffe, 0)) },
		"no data and good":         func(p *pdu, say func(*pdu)) { say(reply(p, opResponse, final, "")) },
		"data of a read asked for": func(p *pdu, say func(*pdu)) { say(at(reply(p, opR2T, final, ""), 0, 512)) },
		"of no task": func(p *pdu, say func(*pdu)) {
			r := reply(p, opResponse, final, "")
			r.set(16, 77777)
			say(r)
		},
		"rejects": func(p *pdu, say func(*pdu)) { say(reply(p, opReject, final, "")) },
		"unknown": func(p *pdu, say func(*pdu)) { say(reply(p, 0x3c, final, "")) },
		"large":   func(p *pdu, say func(*pdu)) { say(reply(p, opDataIn, final|1, strings.Repeat("x", mostReceived+4))) },
		"ends":    func(p *pdu, say func(*pdu)) { r := reply(p, opAsync, final, ""); r.header[36] = 2; say(r) },
		"much sense": func(p *pdu, say func(*pdu)) {
			r := reply(p, opResponse, final, "\xff\xff\x70")
			r.header[3] = checkCondition
			say(r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := scripted(t, answer)
			if err := s.ReadAt(t.Context(), unit, make([]byte, 512), 0); err == nil {
				t.Error("it reads")
			}
		})
	}

	for name, place := range map[string][2]uint32{"beyond": {512, 512}, "too much": {0, 1 << 30}, "nothing": {0, 0}, "around": {0xffffffff, 2}} {
		t.Run("asks for data "+name, func(t *testing.T) {
			s := scripted(t, func(p *pdu, say func(*pdu)) {
				if p.op() == opCommand {
					say(at(reply(p, opR2T, final, ""), place[0], place[1]))
				}
			})
			if err := s.WriteAt(t.Context(), unit, make([]byte, 512), 0); !errors.Is(err, errProtocol) {
				t.Errorf("it writes: %v", err)
			}
		})
	}
}

// TestPings answers a target's questions, and not without end.
func TestPings(t *testing.T) {
	pongs := make(chan struct{}, 100)
	s := scripted(t, func(p *pdu, say func(*pdu)) {
		if p.op() == opNopOut {
			pongs <- struct{}{}
			return
		}
		r := reply(p, opNopIn, final, "")
		r.set(16, none)
		r.set(20, 5)
		say(r)
		say(reply(p, opDataIn, final|1, strings.Repeat("x", 512)))
	})

	if err := s.ReadAt(t.Context(), Unit{Size: 512, Block: 512}, make([]byte, 512), 0); err != nil {
		t.Error(err)
	}
	select {
	case <-pongs:
	case <-time.After(10 * time.Second):
		t.Error("the target's question is not answered")
	}
}

// TestCapacity refuses disks that cannot be.
func TestCapacity(t *testing.T) {
	for name, in := range map[string]string{
		"no blocks":   "\x00\x00\x00\x00\x00\x00\x00\xff\x00\x00\x00\x00",
		"odd blocks":  "\x00\x00\x00\x00\x00\x00\x00\xff\x00\x00\x02\x08",
		"large":       "\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x02\x00",
		"large block": "\x00\x00\x00\x00\x00\x00\x00\xff\x80\x00\x00\x00",
		"short":       "\x00\x00\x00\x00",
	} {
		s := scripted(t, func(p *pdu, say func(*pdu)) { say(reply(p, opDataIn, final|1, in)) })
		if err := s.capacity(t.Context(), &Unit{}); !errors.Is(err, errProtocol) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTargets(t *testing.T) {
	got := targetsOf([]pair{
		{"TargetAddress", "10.0.0.9:3260,1"},
		{"TargetName", "iqn.2026-11.com.example:b"},
		{"TargetAddress", "10.0.0.1:3260,1"},
		{"TargetAddress", "[fd00::1]:3260,1"},
		{"TargetAddress", "10.0.0.2,1"},
		{"TargetAddress", "10.0.0.3;reboot:3260,1"},
		{"TargetName", "iqn.2026-11.com.example:\x1b[2J"},
		{"TargetAddress", "10.0.0.4:3260,1"},
		{"TargetName", "iqn.2026-11.com.example:a"},
		{"TargetName", "iqn.2026-11.com.example:a"},
	})
	if len(got) != 2 || got[0].Name != "iqn.2026-11.com.example:a" || len(got[0].Portals) != 0 ||
		strings.Join(got[1].Portals, " ") != "10.0.0.1:3260 [fd00::1]:3260 10.0.0.2:3260" {
		t.Errorf("the targets are %+v", got)
	}
}

// FuzzRead reads messages and keys of a target.
func FuzzRead(f *testing.F) {
	f.Add([]byte("\x23\x87\x00\x00\x00\x00\x00\x05" + strings.Repeat("\x00", 40) + "a=b\x00c\x00\x00\x00"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		p, err := read(bytes.NewReader(data), nil)
		if err != nil {
			return
		}

		pairs, _ := decode(p.data)
		targetsOf(pairs)
		_, _ = numberOf(pairs, "MaxBurstLength", 1, 1, 1<<20)
		_, _ = binaryOf(string(p.data))
		naaOf(p.data)
		plainText(p.data)
		_ = p.write(io.Discard)
	})
}
