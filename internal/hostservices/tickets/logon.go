package tickets

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/iana/patype"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/windows/wire/credspec"
)

// Bounds of what is read.
const (
	maxKeytab = 1 << 20
	maxReply  = 64 << 10
	maxWords  = 200 // characters
	// maxControllers are asked for one ticket.
	maxControllers = 8
)

// encTypes returns the kinds of keys that are used, the best first. RC4 and DES can be broken.
func encTypes() []int32 {
	return []int32{etypeID.AES256_CTS_HMAC_SHA1_96, etypeID.AES128_CTS_HMAC_SHA1_96}
}

// account is an account with its key.
type account struct {
	name   types.PrincipalName
	realm  string
	kind   int32
	keytab *keytab.Keytab
	made   bool // the key, of a password: its number is whatever the controller says
}

// errNoKey says that a keytab does not have an account.
var errNoKey = errors.New("no AES key")

// readKey finds an account in a keytab, whatever the case of its name. The file must be root's, or that of the user
// whom the node runs as, and closed to all others.
func readKey(path, name, realm string) (a account, err error) {
	defer func() { err = recovered(recover(), err) }() // a keytab that is cut off
	file, err := os.Open(path)
	if err != nil {
		return account{}, fmt.Errorf("read keytab: %w", err)
	}
	defer file.Close()

	info, err := file.Stat()
	switch {
	case err != nil:
		return account{}, fmt.Errorf("read keytab: %w", err)
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0:
		return account{}, fmt.Errorf("keytab %q can be read by others: it must be a file of mode 0600, and is %v", path,
			info.Mode())
	case !ownedByUs(info):
		return account{}, fmt.Errorf("keytab %q belongs to another user than root", path)
	}

	data, err := io.ReadAll(io.LimitReader(file, maxKeytab+1))
	if err != nil {
		return account{}, fmt.Errorf("read keytab %q: %w", path, err)
	}
	if len(data) > maxKeytab {
		return account{}, fmt.Errorf("keytab %q has more than %d bytes", path, maxKeytab)
	}

	found := account{keytab: keytab.New()}
	if err := found.keytab.Unmarshal(data); err != nil {
		return account{}, fmt.Errorf("read keytab %q: it is none", path)
	}

	for _, kind := range encTypes() {
		for _, e := range found.keytab.Entries {
			p := e.Principal
			if e.Key.KeyType == kind && p.Realm == realm && len(p.Components) == 1 &&
				strings.EqualFold(p.Components[0], name) {
				found.name = types.NewPrincipalName(nametype.KRB_NT_PRINCIPAL, p.Components[0])
				found.realm, found.kind = realm, kind
				return found, nil
			}
		}
	}

	return account{}, fmt.Errorf("keytab %q has %w of %s@%s", path, errNoKey, name, realm)
}

// reply is a ticket-granting ticket.
type reply struct {
	cache      []byte
	start, end time.Time
}

// ask asks a controller for a ticket-granting ticket.
func (k Keys) ask(ctx context.Context, to string, a account) (r reply, address netip.Addr, err error) {
	defer func() { err = recovered(recover(), err) }() // the decoder, of what the controller has sent
	cfg := config.New()
	cfg.LibDefaults.DefaultTktEnctypeIDs, cfg.LibDefaults.DefaultTktEnctypes = encTypes(), nil
	cfg.LibDefaults.TicketLifetime = 10 * time.Hour // Active Directory's
	cfg.LibDefaults.NoAddresses = true
	request, err := messages.NewASReqForTGT(a.realm, cfg, a.name)
	if err != nil {
		return reply{}, address, fmt.Errorf("make request: %w", err)
	}

	request.ReqBody.EType = encTypes()
	if err := sign(&request, a); err != nil {
		return reply{}, address, err
	}
	message, err := request.Marshal()
	if err != nil {
		return reply{}, address, fmt.Errorf("make request: %w", err)
	}

	answer, address, err := k.send(ctx, to, message)
	if err != nil {
		return reply{}, address, err
	}
	if isRefusal(answer) {
		return reply{}, address, refused(answer)
	}

	var rep messages.ASRep
	if err := rep.Unmarshal(answer); err != nil {
		return reply{}, address, errors.New("the answer is none of Kerberos")
	}
	if a.made {
		a.keytab.Entries[0].KVNO = uint32(rep.EncPart.KVNO) // of 32 bits
	}

	creds := credentials.New(a.name.PrincipalNameString(), a.realm).WithKeytab(a.keytab)
	if ok, err := rep.Verify(cfg, creds, request); err != nil || !ok {
		return reply{}, address, fmt.Errorf("the answer is not the domain's: %s", words(fmt.Sprint(err)))
	}
	if !slices.Contains(encTypes(), rep.DecryptedEncPart.Key.KeyType) {
		return reply{}, address, fmt.Errorf("the session's key is of kind %d, and not of AES",
			rep.DecryptedEncPart.Key.KeyType)
	}

	cache, err := cacheOf(rep)
	if err != nil {
		return reply{}, address, err
	}
	return reply{
		cache: cache,
		start: rep.DecryptedEncPart.AuthTime,
		end:   rep.DecryptedEncPart.EndTime,
	}, address, nil
}

// sign adds the proof that the key is known: the time, encrypted (RFC 4120, 5.2.7.2).
func sign(request *messages.ASReq, a account) error {
	key, version, err := a.keytab.GetEncryptionKey(a.name, a.realm, 0, a.kind)
	if err != nil {
		return fmt.Errorf("find key: %w", err)
	}
	now, err := types.GetPAEncTSEncAsnMarshalled()
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}

	secret, err := crypto.GetEncryptedData(now, key, keyusage.AS_REQ_PA_ENC_TIMESTAMP, version)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	value, err := secret.Marshal()
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	request.PAData = append(request.PAData, types.PAData{PADataType: patype.PA_ENC_TIMESTAMP, PADataValue: value})
	return nil
}

// send sends a message over TCP and returns the answer: each has its length before it, in four bytes.
func (k Keys) send(ctx context.Context, to string, message []byte) (answer []byte, address netip.Addr, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	conn, err := k.dial(ctx, to)
	if err != nil {
		return nil, address, err
	}
	defer conn.Close()

	address = addressOf(conn)
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, address, err
		}
	}

	head := binary.BigEndian.AppendUint32(nil, uint32(len(message)))
	if _, err := conn.Write(append(head, message...)); err != nil {
		return nil, address, err
	}
	if _, err := io.ReadFull(conn, head); err != nil {
		return nil, address, fmt.Errorf("read answer: %w", err)
	}

	size := binary.BigEndian.Uint32(head)
	if size > maxReply {
		return nil, address, fmt.Errorf("the answer has %d bytes, and may have %d", size, maxReply)
	}
	answer = make([]byte, size)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return nil, address, fmt.Errorf("read answer: %w", err)
	}

	return answer, address, nil
}

// isRefusal reports whether an answer is a KRB-ERROR, which is [APPLICATION 30].
func isRefusal(answer []byte) bool { return len(answer) > 0 && answer[0] == 0x7e }

// refused is the error of a controller that says no. An error of the controller's own is no refusal of the account.
func refused(answer []byte) error {
	var e messages.KRBError
	if err := e.Unmarshal(answer); err != nil {
		return errors.New("the answer is none of Kerberos")
	}
	said := cmp.Or(words(e.EText), words(errorcode.Lookup(e.ErrorCode)))
	switch e.ErrorCode {
	case errorcode.KDC_ERR_SVC_UNAVAILABLE, errorcode.KRB_ERR_GENERIC:
		return fmt.Errorf("the domain's controller has error %d: %s", e.ErrorCode, said)
	}
	return fmt.Errorf("%w: the domain's controller refuses the account with error %d: %s", credspec.ErrRefused,
		e.ErrorCode, said)
}

// words returns what is kept of another's words.
func words(said string) string {
	if len(said) > 4*maxWords {
		said = said[:4*maxWords]
	}
	r := []rune(plaintext.OneLine(said))
	return string(r[:min(len(r), maxWords)])
}

// recovered turns a panic into an error.
func recovered(panicked any, err error) error {
	if panicked == nil {
		return err
	}
	return fmt.Errorf("what was read is not understood: %s", words(fmt.Sprint(panicked)))
}
