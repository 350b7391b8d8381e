package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
)

// maxResponse bounds a response: a list of all load balancers of a large cluster is some megabytes.
const maxResponse = 64 << 20

// Client asks a server over a connection, as the DLLs do. Calls run one after another.
type Client struct {
	mu   sync.Mutex
	conn net.Conn
}

// NewClient says hello on the connection and owns it from then on. A wrong token shows at the first call.
func NewClient(conn net.Conn, token string) (*Client, error) {
	if _, err := conn.Write(makeFrame([]byte(helloMagic), []byte(token))); err != nil {
		return nil, errors.Join(fmt.Errorf("greet HNS: %w", err), conn.Close())
	}
	return &Client{conn: conn}, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Call carries one request to the server. If HNS refused the request, the error is a *wire.Error. After any other error
// the connection cannot be used any more.
func (c *Client) Call(ctx context.Context, r hns.Request) (hns.Reply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	fields := [][]byte{nil, []byte(r.Function), guidOrNone(r.Object), guidOrNone(r.New)} // it is never sent again
	for _, text := range r.Text {
		fields = append(fields, encodeText(text))
	}

	_, err := c.conn.Write(makeFrame(fields...))
	var answer [][]byte
	if err == nil {
		answer, err = readFrame(c.conn, maxResponse)
	}
	if err != nil {
		return hns.Reply{}, fmt.Errorf("ask HNS %s: %w", r.Function, errors.Join(ctx.Err(), err))
	}

	return decodeResponse(r.Function, answer)
}

func guidOrNone(id string) []byte {
	if id == "" {
		return nil
	}
	return encodeGUID(id)
}

func decodeResponse(function string, fields [][]byte) (hns.Reply, error) {
	if len(fields) != 4 || len(fields[0]) != 4 {
		return hns.Reply{}, fmt.Errorf("ask HNS %s: an answer of %d fields", function, len(fields))
	}
	object, err := decodeGUID(fields[1])
	if err != nil {
		return hns.Reply{}, err
	}

	text, err := decodeText(fields[2])
	if err != nil {
		return hns.Reply{}, err
	}
	record, err := decodeText(fields[3])
	if err != nil {
		return hns.Reply{}, err
	}

	if code := wire.HRESULT(binary.LittleEndian.Uint32(fields[0])); code != wire.OK {
		return hns.Reply{}, wire.Errorf(code, "%s: %s", function, record)
	}

	return hns.Reply{Object: object, Text: text}, nil
}
