package server

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/uuid"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
)

// The protocol between the DLLs (guest/c/computenetwork, guest/c/vmcompute) and the server, over one TCP connection.
// Numbers are 32 bits, little endian. A frame is its length in bytes, then that many bytes: fields, each a length and
// its bytes.
//
//	hello     client: "MHN2", token [, "copies"]                       (once; a wrong one closes the connection)
//	request   client: name, function, object GUID, new GUID, text …    (name and GUIDs 16 bytes, GUIDs as in memory on
//	                                                                     Windows, or none; texts UTF-16, little endian, at most 3)
//	response  server: HRESULT, GUID, text, error record [, generation, object …]
//
// A client that said "copies" gets the objects that an answer names as well: each its GUID and behind it its properties
// in UTF-8. They are good as long as the file of the generation (8 bytes) has the same number in it as the answer.
//
// The answer to a function that fills a structure has that in the text's place, as it lies in memory on Windows. What a
// client reserves is kept as long as its connection. From HcnRegister…Callback on, a connection carries events alone,
// each a response with the event's number in the place of the HRESULT; its end says that there will be no more.
//
// A server that stops ends its side of the connection and reads no more: a request without a whole response by then may
// be sent again, to the next server, with the same name. By it the server knows what it, or one that was killed, has
// carried out already. A client that says "MHN1", as programs do that are older than the server, names no requests.
const (
	helloMagic = "MHN2"
	helloOld   = "MHN1"
	withCopies = "copies"
	maxHello   = 512
	maxRequest = 8 << 20
	maxTexts   = 3
)

// readFrame reads the fields of one frame. A length beyond max is an error before anything is read or allocated.
func readFrame(r io.Reader, max uint32) ([][]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size > max {
		return nil, fmt.Errorf("read frame: %d bytes, at most %d allowed", size, max)
	}

	// Read in steps, so that a client that only announces much does not make the server allocate it.
	body, err := io.ReadAll(io.LimitReader(r, int64(size)))
	if err == nil && len(body) < int(size) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("read frame: %w", err)
	}

	return splitFields(body)
}

func splitFields(body []byte) ([][]byte, error) {
	var fields [][]byte
	for len(body) > 0 {
		if len(body) < 4 || len(fields) > maxTexts+3 { // one before each field
			return nil, fmt.Errorf("read frame: %d bytes after field %d", len(body), len(fields))
		}
		size := binary.LittleEndian.Uint32(body)
		body = body[4:]
		if uint64(size) > uint64(len(body)) {
			return nil, fmt.Errorf("read frame: field %d has %d bytes, %d are there", len(fields), size, len(body))
		}
		fields, body = append(fields, body[:size]), body[size:]
	}

	return fields, nil
}

// makeFrame builds a frame.
func makeFrame(fields ...[]byte) []byte {
	size := 0
	for _, f := range fields {
		size += 4 + len(f)
	}
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+size), uint32(size))
	for _, f := range fields {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(f)))
		b = append(b, f...)
	}
	return b
}

// decodeNamed turns a frame's fields into a request that has a name.
func decodeNamed(fields [][]byte) (hns.Request, error) {
	if len(fields) == 0 || (len(fields[0]) != 16 && len(fields[0]) != 0) {
		return hns.Request{}, errors.New("decode request: its name has not 16 bytes")
	}
	r, err := decodeRequest(fields[1:])
	r.Name = hex.EncodeToString(fields[0])
	return r, err
}

// decodeRequest turns a frame's fields into a request without a name.
func decodeRequest(fields [][]byte) (hns.Request, error) {
	if len(fields) < 3 || len(fields) > 3+maxTexts || len(fields[0]) > 64 {
		return hns.Request{}, fmt.Errorf("decode request: %d fields", len(fields))
	}

	r := hns.Request{Function: string(fields[0])}
	var err error
	if r.Object, err = decodeGUID(fields[1]); err != nil {
		return r, err
	}
	if r.New, err = decodeGUID(fields[2]); err != nil {
		return r, err
	}

	for _, f := range fields[3:] {
		text, err := decodeText(f)
		if err != nil {
			return r, err
		}
		r.Text = append(r.Text, text)
	}

	return r, nil
}

// decodeGUID reads a GUID as it lies in memory on Windows: its first three parts are little endian.
func decodeGUID(b []byte) (string, error) {
	if len(b) == 0 {
		return "", nil
	}
	if len(b) != 16 {
		return "", fmt.Errorf("decode GUID: %d bytes", len(b))
	}
	return swapGUID(uuid.UUID(b)).String(), nil
}

func encodeGUID(id string) []byte {
	u, err := uuid.Parse(id)
	if err != nil {
		u = uuid.Nil
	}
	u = swapGUID(u)
	return u[:]
}

func swapGUID(u uuid.UUID) uuid.UUID {
	u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7] = u[3], u[2], u[1], u[0], u[5], u[4], u[7], u[6]
	return u
}

func decodeText(b []byte) (string, error) {
	if len(b)%2 != 0 {
		return "", fmt.Errorf("decode text: %d bytes are no UTF-16", len(b))
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units)), nil
}

// encodeText is quick with ASCII, which long lists are.
func encodeText(s string) []byte {
	b := make([]byte, 0, 2*len(s))
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			for _, u := range utf16.Encode([]rune(s[i:])) {
				b = binary.LittleEndian.AppendUint16(b, u)
			}
			break
		}
		b = append(b, s[i], 0)
	}
	return b
}

// response returns the frame for a call's outcome; copies are further fields.
func response(reply hns.Reply, copies [][]byte, err error) []byte {
	code, record := wire.OK, ""
	if err != nil {
		code, record = hresult(err), recordOf(err)
		reply = hns.Reply{}
	}

	text := reply.Raw
	if text == nil {
		text = encodeText(reply.Text)
	}
	fields := [][]byte{
		binary.LittleEndian.AppendUint32(nil, uint32(code)), encodeGUID(reply.Object), text,
		encodeText(record),
	}

	return makeFrame(append(fields, copies...)...)
}

// recordOf returns the record of an error: HNS', or that of the service that the error is of.
func recordOf(err error) string {
	var own interface{ Record() string }
	if errors.As(err, &own) {
		return own.Record()
	}
	return hns.V1Error(err)
}
