package directory

import (
	"bytes"
	"encoding/asn1"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/crypto/etype"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/chksumtype"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/spnego"
	"github.com/jcmturner/gokrb5/v8/types"
)

// session is a security context of Kerberos' mechanism of the GSS-API (RFC 4121), as its initiator.
type session struct {
	ticket Ticket

	auth    types.Authenticator
	key     types.EncryptionKey // of the messages, once the other end has shown that it knows the ticket's
	subkey  bool                // the other end has chosen it
	sent    uint64              // number of the next message
	awaited uint64
}

// InitSecContext makes the first message, and reads the answer to it.
func (s *session) InitSecContext(target string, token []byte) (out []byte, more bool, err error) {
	return s.InitSecContextWithOptions(target, token, nil)
}

// InitSecContextWithOptions is InitSecContext; there are no options.
func (s *session) InitSecContextWithOptions(_ string, token []byte, _ []int) (out []byte, more bool, err error) {
	if token != nil {
		return nil, false, s.accepted(token)
	}
	s.auth, err = types.NewAuthenticator(s.ticket.Realm, s.ticket.Name)
	if err != nil {
		return nil, false, err
	}

	// RFC 4121, 4.1.1: the length of the channel's bindings, which are none, and what is asked for.
	check := make([]byte, 24)
	check[0] = 16
	binary.LittleEndian.PutUint32(check[20:], gssapi.ContextFlagMutual|gssapi.ContextFlagReplay|
		gssapi.ContextFlagSequence|gssapi.ContextFlagConf|gssapi.ContextFlagInteg)
	s.auth.Cksum = types.Checksum{CksumType: chksumtype.GSSAPI, Checksum: check}
	s.sent = uint64(s.auth.SeqNumber)
	request, err := messages.NewAPReq(s.ticket.Ticket, s.ticket.Key, s.auth)
	if err != nil {
		return nil, false, fmt.Errorf("make request: %w", err)
	}

	types.SetFlag(&request.APOptions, flags.APOptionMutualRequired)
	message, err := request.Marshal()
	if err != nil {
		return nil, false, fmt.Errorf("make request: %w", err)
	}
	mechanism, err := asn1.Marshal(asn1.ObjectIdentifier(gssapi.OIDKRB5.OID()))
	if err != nil {
		return nil, false, fmt.Errorf("make request: %w", err)
	}

	const apReq = "\x01\x00"
	return asn1tools.AddASNAppTag(slices.Concat(mechanism, []byte(apReq), message), 0), true, nil
}

// accepted reads the answer by which the other end shows that it knows the ticket's key (RFC 4120, 3.2.4).
func (s *session) accepted(token []byte) error {
	var answer spnego.KRB5Token
	if err := answer.Unmarshal(token); err != nil || !answer.IsAPRep() {
		return errors.New("the controller does not take the ticket")
	}
	data, err := crypto.DecryptEncPart(answer.APRep.EncPart, s.ticket.Key, keyusage.AP_REP_ENCPART)
	if err != nil {
		return errors.New("the controller does not know the ticket's key")
	}

	var part messages.EncAPRepPart
	if err := part.Unmarshal(data); err != nil {
		return errors.New("the controller's answer is none of Kerberos")
	}
	if part.CTime.Unix() != s.auth.CTime.Unix() || part.Cusec != s.auth.Cusec {
		return errors.New("the controller's answer is to another question")
	}

	s.key, s.awaited = s.ticket.Key, uint64(part.SequenceNumber)
	if len(part.Subkey.KeyValue) > 0 {
		s.key, s.subkey = part.Subkey, true
	}
	_, err = s.cipher()
	return err
}

// cipher returns the cipher of the messages: AES, as that of all tickets.
func (s *session) cipher() (etype.EType, error) {
	e, err := crypto.GetEtype(s.key.KeyType)
	if err != nil || e.GetConfounderByteSize() != 16 || len(s.key.KeyValue) != e.GetKeyByteSize() {
		return nil, errors.New("the controller has chosen a key that is none of AES")
	}
	return e, nil
}

// Security layers (RFC 4752, 3.1).
const layerSealed = 4

// NegotiateSaslAuth chooses that all that follows is sealed.
func (s *session) NegotiateSaslAuth(token []byte, authzid string) ([]byte, error) {
	offer, err := s.unwrap(token, false)
	if err != nil {
		return nil, err
	}
	if len(offer) != 4 || offer[0]&layerSealed == 0 {
		return nil, errors.New("the controller does not seal the connection")
	}
	const most = mostFrame
	return s.wrap(append([]byte{layerSealed, most >> 16, most >> 8 & 0xff, most & 0xff}, authzid...), false)
}

// DeleteSecContext does nothing: the session is of use after the logon.
func (s *session) DeleteSecContext() error { return nil }

// Parts of a message (RFC 4121, 4.2.6.2): a header of 16 bytes, and flags in it.
const (
	headerSize   = 16
	fromAcceptor = 1
	isSealed     = 2
	byAcceptor   = 4 // the key is the acceptor's
)

func (s *session) header(set byte, number uint64) []byte {
	if s.subkey {
		set |= byAcceptor
	}
	return binary.BigEndian.AppendUint64([]byte{5, 4, set, 0xff, 0, 0, 0, 0}, number)
}

// wrap makes a message, sealed or only signed.
func (s *session) wrap(plain []byte, seal bool) ([]byte, error) {
	cipher, err := s.cipher()
	if err != nil {
		return nil, err
	}

	number := s.sent
	s.sent++
	if seal {
		head := s.header(isSealed, number)
		message := slices.Concat(plain, head)
		_, secret, err := cipher.EncryptMessage(s.key.KeyValue, message, keyusage.GSSAPI_INITIATOR_SEAL)
		if err != nil {
			return nil, fmt.Errorf("seal: %w", err)
		}
		return append(head, secret...), nil
	}

	head := s.header(0, number)
	sum, err := cipher.GetChecksumHash(s.key.KeyValue, slices.Concat(plain, head), keyusage.GSSAPI_INITIATOR_SEAL)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	binary.BigEndian.PutUint16(head[4:], uint16(len(sum)))
	return slices.Concat(head, plain, sum), nil
}

// unwrap reads a message, which must be the next one, and sealed or only signed.
func (s *session) unwrap(token []byte, seal bool) ([]byte, error) {
	cipher, err := s.cipher()
	if err != nil {
		return nil, err
	}
	bad := errors.New("a message is not the controller's")
	set := byte(fromAcceptor)
	if seal {
		set |= isSealed
	}

	want := s.header(set, s.awaited)
	if len(token) <= headerSize || !bytes.Equal(token[:4], want[:4]) || !bytes.Equal(token[8:headerSize], want[8:]) {
		return nil, bad
	}

	s.awaited++
	extra, rotated := int(binary.BigEndian.Uint16(token[4:])), int(binary.BigEndian.Uint16(token[6:]))
	body := slices.Clone(token[headerSize:])
	rotated %= len(body)
	body = slices.Concat(body[rotated:], body[:rotated])
	if !seal {
		if extra > len(body) {
			return nil, bad
		}
		plain, sum := body[:len(body)-extra], body[len(body)-extra:]
		signed := slices.Concat(plain, want)
		if !cipher.VerifyChecksum(s.key.KeyValue, signed, sum, keyusage.GSSAPI_ACCEPTOR_SEAL) {
			return nil, bad
		}

		return plain, nil
	}

	plain, err := cipher.DecryptMessage(s.key.KeyValue, body, keyusage.GSSAPI_ACCEPTOR_SEAL)
	end := len(plain) - headerSize - extra
	binary.BigEndian.PutUint16(want[4:], uint16(extra))
	if err != nil || end < 0 || !bytes.Equal(plain[end+extra:], want) {
		return nil, bad
	}

	return plain[:end], nil
}
