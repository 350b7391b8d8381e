package tickets

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// cacheOf returns a credential cache with a ticket-granting ticket, in the format of MIT's files, version 4
// (https://web.mit.edu/kerberos/krb5-1.20/doc/formats/ccache_file_format.html).
func cacheOf(rep messages.ASRep) ([]byte, error) {
	w := &writer{b: []byte{5, 4, 0, 0}} // no header
	w.principal(rep.CRealm, rep.CName)
	if err := w.credential(rep.KDCRepFields); err != nil {
		return nil, err
	}
	return w.b, nil
}

type writer struct{ b []byte }

// credential adds a ticket.
func (w *writer) credential(rep messages.KDCRepFields) error {
	ticket, err := rep.Ticket.Marshal()
	if err != nil {
		return fmt.Errorf("write ticket: %w", err)
	}
	part := rep.DecryptedEncPart
	start := part.StartTime
	if start.IsZero() {
		start = part.AuthTime
	}

	w.principal(rep.CRealm, rep.CName)
	w.principal(part.SRealm, part.SName)
	w.b = binary.BigEndian.AppendUint16(w.b, uint16(part.Key.KeyType))
	w.data(part.Key.KeyValue)
	for _, t := range []time.Time{part.AuthTime, start, part.EndTime, part.RenewTill} {
		w.time(t)
	}

	w.b = append(w.b, 0) // no second ticket
	flags := make([]byte, 4)
	copy(flags, part.Flags.Bytes)
	w.b = append(w.b, flags...)
	w.number(0) // no addresses
	w.number(0) // no authorization data
	w.data(ticket)
	w.data(nil)

	return nil
}

func (w *writer) number(n int) { w.b = binary.BigEndian.AppendUint32(w.b, uint32(n)) }

func (w *writer) data(d []byte) {
	w.number(len(d))
	w.b = append(w.b, d...)
}

func (w *writer) time(t time.Time) {
	if t.IsZero() {
		w.number(0)
		return
	}
	w.number(int(t.Unix()))
}

func (w *writer) principal(realm string, name types.PrincipalName) {
	w.number(int(name.NameType))
	w.number(len(name.NameString))
	w.data([]byte(realm))
	for _, part := range name.NameString {
		w.data([]byte(part))
	}
}
