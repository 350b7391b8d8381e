package iscsi

import (
	"context"
	"crypto/md5" // CHAP's algorithm that every target has (RFC 7143, 12.1.3)
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Login is how a session is made.
type Login struct {
	// Portal is address and port of the target.
	Portal string `json:"portal"`
	// Initiator is this side's name, Target the target's; "" asks the portal for its targets and for nothing else.
	Initiator string `json:"initiator"`
	Target    string `json:"target"`
	// ISID tells the session from others of this initiator: a session of the same replaces it (RFC 7143, 10.1.1).
	ISID [6]byte `json:"isid"`
	// CHAP is how the target knows who logs in; nil: it does not ask.
	CHAP *CHAP `json:"chap,omitempty"`
}

// CHAP are secrets (RFC 7143, 12.1.3). They are in no error.
type CHAP struct {
	User   string `json:"user"`
	Secret string `json:"secret"`
	// Mutual is the secret by which the target proves who it is; "": it does not have to.
	Mutual string `json:"mutual,omitempty"`
}

// Errors of a login. ErrAuthentication says that the target does not take who logs in, or does not prove who it is;
// ErrNoTarget that the portal has no such target.
var (
	ErrAuthentication = errors.New("authentication failed")
	ErrNoTarget       = errors.New("the portal has no such target")
)

// Times: how long a target has to answer a connection, and a login; after which time of silence of the machine of the
// target a connection ends.
const (
	dialTimeout  = 5 * time.Second
	loginTimeout = 15 * time.Second
	silence      = 10 * time.Second
)

// mostLogins bounds the messages of a login.
const mostLogins = 32

// Stages of a login.
const (
	security    = 0
	operational = 1
	fullFeature = 3
)

// connect connects to the portal and logs in. It returns a session that does not read yet.
func (l Login) connect(ctx context.Context) (_ *Session, err error) {
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	dialer := net.Dialer{Timeout: dialTimeout, Control: noSilence}
	conn, err := dialer.DialContext(ctx, "tcp", l.Portal)
	if err != nil {
		return nil, err
	}

	defer func() {
		if err != nil {
			err = errors.Join(err, conn.Close())
		}
	}()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()

	s := newSession(conn)
	if err := (&negotiation{Login: l, Session: s}).run(); err != nil {
		return nil, fmt.Errorf("log in to %s: %w", l.Portal, err)
	}
	if !stop() {
		return nil, fmt.Errorf("log in to %s: %w", l.Portal, ctx.Err())
	}
	return s, nil
}

// noSilence has the kernel end a connection to a machine that is gone.
func noSilence(_, _ string, c syscall.RawConn) error {
	var set error
	err := c.Control(func(fd uintptr) {
		set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silence.Milliseconds()))
	})
	return errors.Join(err, set)
}

// negotiation is a login that is under way.
type negotiation struct {
	Login
	*Session
}

func (n *negotiation) run() error {
	if err := n.secure(); err != nil {
		return err
	}

	offered := []pair{
		{"HeaderDigest", "None"},
		{"DataDigest", "None"},
		{"MaxRecvDataSegmentLength", strconv.Itoa(mostReceived)},
		{"DefaultTime2Wait", "0"},
		{"DefaultTime2Retain", "0"},
		{"ErrorRecoveryLevel", "0"},
	}

	if n.Target != "" {
		offered = append(offered,
			pair{"MaxConnections", "1"}, pair{"InitialR2T", "Yes"}, pair{"ImmediateData", "Yes"}, pair{"MaxOutstandingR2T", "1"},
			pair{"MaxBurstLength", strconv.Itoa(mostBurst)}, pair{"FirstBurstLength", strconv.Itoa(mostReceived)},
			pair{"DataPDUInOrder", "Yes"}, pair{"DataSequenceInOrder", "Yes"})
	}

	got, err := n.until(operational, fullFeature, offered)
	if err != nil {
		return err
	}
	return n.agree(got)
}

// agree takes what the target says to what was offered.
func (n *negotiation) agree(got []pair) error {
	for _, key := range []string{"HeaderDigest", "DataDigest"} {
		if v := valueOf(got, key); v != "" && v != "None" {
			return broken("%s is %.40q", key, v)
		}
	}

	var err, err2, err3 error
	const usual = 8192 // what a target takes that says nothing
	n.mostSent, err = numberOf(got, "MaxRecvDataSegmentLength", usual, 512, 1<<24-1)
	n.burst, err2 = numberOf(got, "MaxBurstLength", mostBurst, 512, mostBurst)
	n.first, err3 = numberOf(got, "FirstBurstLength", min(mostReceived, n.burst), 512, mostReceived)
	n.mostSent = min(n.mostSent, mostReceived)
	if valueOf(got, "ImmediateData") == "No" {
		n.first = 0
	}

	return errors.Join(err, err2, err3)
}

// secure is the stage in which both sides prove who they are.
func (n *negotiation) secure() error {
	about := []pair{{"InitiatorName", n.Initiator}, {"SessionType", "Normal"}, {"TargetName", n.Target}}
	if n.Target == "" {
		about = []pair{{"InitiatorName", n.Initiator}, {"SessionType", "Discovery"}}
	}

	if n.CHAP == nil {
		got, err := n.until(security, operational, append(about, pair{"AuthMethod", "None"}))
		if err == nil && valueOf(got, "AuthMethod") != "" && valueOf(got, "AuthMethod") != "None" {
			err = fmt.Errorf("%w: the target wants %.20q", ErrAuthentication, valueOf(got, "AuthMethod"))
		}
		return err
	}

	got, _, err := n.exchange(security, operational, false, append(about, pair{"AuthMethod", "CHAP"}))
	if err != nil {
		return err
	}
	if valueOf(got, "AuthMethod") != "CHAP" {
		return fmt.Errorf("%w: the target has no CHAP", ErrAuthentication)
	}

	const md5Number = "5"
	if got, _, err = n.exchange(security, operational, false, []pair{{"CHAP_A", md5Number}}); err != nil {
		return err
	}
	if valueOf(got, "CHAP_A") != md5Number {
		return fmt.Errorf("%w: the target has no CHAP with MD5", ErrAuthentication)
	}

	return n.prove(got)
}

// prove answers the target's challenge, and has it answer one of ours if it has to.
func (n *negotiation) prove(got []pair) error {
	id, err := numberOf(got, "CHAP_I", 0, 0, 255)
	if err != nil {
		return err
	}
	challenge, err := binaryOf(valueOf(got, "CHAP_C"))
	if err != nil {
		return err
	}

	said := []pair{{"CHAP_N", n.CHAP.User}, {"CHAP_R", "0x" + hex.EncodeToString(answerTo(byte(id), n.CHAP.Secret, challenge))}}
	ours := make([]byte, 17)
	_, _ = rand.Read(ours) // never fails
	if n.CHAP.Mutual != "" {
		if n.CHAP.Mutual == n.CHAP.Secret {
			return fmt.Errorf("%w: both sides have the same secret", ErrAuthentication)
		}
		said = append(said, pair{"CHAP_I", strconv.Itoa(int(ours[16]))}, pair{"CHAP_C", "0x" + hex.EncodeToString(ours[:16])})
	}

	got, err = n.until(security, operational, said)
	if err != nil || n.CHAP.Mutual == "" {
		return err
	}
	theirs, err := binaryOf(valueOf(got, "CHAP_R"))
	if err != nil || subtle.ConstantTimeCompare(theirs, answerTo(ours[16], n.CHAP.Mutual, ours[:16])) != 1 {
		return fmt.Errorf("%w: the target does not prove who it is", ErrAuthentication)
	}

	return nil
}

// answerTo returns the answer to a challenge.
func answerTo(id byte, secret string, challenge []byte) []byte {
	sum := md5.Sum(append(append([]byte{id}, secret...), challenge...)) // see above
	return sum[:]
}

// binaryOf reads a value of bytes (RFC 7143, 6.1), at most as long as a challenge may be.
func binaryOf(text string) ([]byte, error) {
	const most = 1024
	var b []byte
	err := errors.New("no bytes")
	switch {
	case len(text) > 2*most+2:
	case strings.HasPrefix(strings.ToLower(text), "0x"):
		digits := text[2:]
		if len(digits)%2 == 1 {
			digits = "0" + digits
		}
		b, err = hex.DecodeString(digits)
	case strings.HasPrefix(strings.ToLower(text), "0b"):
		b, err = base64.StdEncoding.DecodeString(text[2:])
	}
	if err != nil || len(b) == 0 || len(b) > most {
		return nil, broken("%.20q are no bytes", text)
	}

	return b, nil
}

// until offers pairs in a stage until the target goes on to the next, and returns all that it has said.
func (n *negotiation) until(stage, next byte, offered []pair) ([]pair, error) {
	var all []pair
	for range mostLogins {
		got, on, err := n.exchange(stage, next, true, offered)
		if err != nil {
			return nil, err
		}
		if all = append(all, got...); on {
			return all, nil
		}
		offered = nil
	}
	return nil, broken("a login has no end")
}

// exchange sends pairs and returns the target's. on says that the next stage begins, which transit asks for.
func (n *negotiation) exchange(stage, next byte, transit bool, said []pair) (got []pair, on bool, err error) {
	p := &pdu{data: encode(said...)}
	p.header[0] = opLogin | immediate
	p.header[1] = stage<<2 | next
	if transit {
		p.header[1] |= final
	} else {
		p.header[1] = stage << 2
	}

	copy(p.header[8:], n.ISID[:])
	p.header[14], p.header[15] = byte(n.TSIH>>8), byte(n.TSIH)
	p.set(24, n.cmdSN)
	p.set(28, n.expStatSN)
	var text []byte
	const continued = 0x40
	for range mostLogins {
		if err := p.write(n.conn); err != nil {
			return nil, false, err
		}
		r, err := read(n.reader, nil)
		if err != nil {
			return nil, false, err
		}

		if err := n.take(r); err != nil {
			return nil, false, err
		}
		text = append(text, r.data...)
		if len(text) > mostText {
			return nil, false, broken("a login of more than %d bytes", mostText)
		}

		if !r.is(continued) {
			got, err := decode(text)
			on := r.is(final)
			if err == nil && on && (!transit || r.header[1]&3 != next) {
				err = broken("the login goes on to stage %d", r.header[1]&3)
			}
			n.TSIH = uint16(r.header[14])<<8 | uint16(r.header[15])
			return got, on, err
		}

		p.data, p.header[1] = nil, stage<<2
		p.set(28, n.expStatSN)
	}

	return nil, false, broken("a login has no end")
}

// take takes the numbers of a response to a login, and its status (RFC 7143, 11.13.5).
func (n *negotiation) take(r *pdu) error {
	if r.op() != opLoggedIn {
		return broken("the answer to a login is %#x", r.op())
	}

	class, detail := r.header[36], r.header[37]
	switch {
	case class == 0:
	case class == 1:
		pairs, _ := decode(r.data)
		return fmt.Errorf("the target has moved to %.100q, where it has to be looked for", valueOf(pairs, "TargetAddress"))

	case class == 2 && (detail == 1 || detail == 2):
		return ErrAuthentication
	case class == 2 && detail == 3:
		return ErrNoTarget
	default:
		return fmt.Errorf("the target refuses the login with status %02x%02x", class, detail)
	}

	n.expStatSN = r.u32(24) + 1
	n.maxCmdSN = r.u32(32)
	return nil
}
