package hostcall_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/windows/wire/hostcall"
)

type request struct {
	Do   string `json:"do"`
	Much string `json:"much,omitempty"`
}

type answer struct {
	Done string `json:"done"`
}

// call is that of a service which only the operator may ask to "give", and nobody to "shred".
func call() hostcall.Call[request, answer] {
	return hostcall.Call[request, answer]{
		Name: "test",
		Check: func(r *request) error {
			r.Do = strings.ToLower(r.Do)
			if r.Do == "shred" {
				return errors.New("no such request")
			}
			return nil
		},
		Operator: func(r request) bool { return r.Do == "give" },
		Invalid:  hostcall.Refusal{Words: "Invalid Parameter: ", Code: 5},
		Failed:   hostcall.Refusal{Words: "Failed: ", Code: 4},
	}
}

func TestHear(t *testing.T) {
	for in, want := range map[string]string{
		`{"do":"GET"}`:       "",
		`{"do":"get"}{`:      "", // what follows is nobody's
		`{"do":"give"}`:      "Invalid Parameter: only the machine's operator may do that",
		`{"do":"Give"}`:      "Invalid Parameter: only the machine's operator may do that",
		`{"do":"shred"}`:     "Invalid Parameter: no such request",
		`{"do":`:             "Invalid Parameter: unexpected EOF",
		``:                   "Invalid Parameter: EOF",
		`{"do":1}`:           "Invalid Parameter: json: cannot unmarshal number",
		`{"do":"get","much"`: "Invalid Parameter: unexpected EOF",
		`{"do":"get","much":"` + strings.Repeat("a", 1<<16) + `"}`: "Invalid Parameter: unexpected EOF",
	} {
		r, err := call().Hear(strings.NewReader(in), false)
		if want == "" {
			if err != nil || r.Do != "get" {
				t.Errorf("%.40s: %+v, %v", in, r, err)
			}
			continue
		}

		refusal, ok := errors.AsType[*hostcall.Refusal](err)
		if !ok || refusal.Code != 5 || !strings.HasPrefix(refusal.Words, want) {
			t.Errorf("%.40s: %v, want %q", in, err, want)
		}
	}

	if r, err := call().Hear(strings.NewReader(`{"do":"give"}`), true); err != nil || r.Do != "give" {
		t.Errorf("the operator: %+v, %v", r, err)
	}
}

// conn is a connection on which the other side says what is in it.
type conn struct {
	io.Reader
	sent bytes.Buffer
}

func (c *conn) Write(p []byte) (int, error) { return c.sent.Write(p) }

func TestAsk(t *testing.T) {
	c := &conn{Reader: strings.NewReader(`{"done":"yes"}`)}
	a, err := call().Ask(c, request{Do: "get"})
	if err != nil || a.Done != "yes" || c.sent.String() != "{\"do\":\"get\"}\n" {
		t.Errorf("%+v, %v; %q was sent", a, err, c.sent.String())
	}

	c = &conn{Reader: strings.NewReader(`{"error":"The disk is offline.","code":41003}`)}
	_, err = call().Ask(c, request{})
	refusal, ok := errors.AsType[*hostcall.Refusal](err)
	if !ok || err.Error() != "The disk is offline." || refusal.Code != 41003 {
		t.Errorf("refused with %v", err)
	}

	for in, want := range map[string]string{
		"":              "EOF",
		`{"done":`:      "unexpected EOF",
		`{"done":1}`:    "cannot unmarshal",
		`{"error":1}`:   "cannot unmarshal",
		`{"code":-1}`:   "cannot unmarshal",
		`"no": "thing"`: "cannot unmarshal",
	} {
		_, err := call().Ask(&conn{Reader: strings.NewReader(in)}, request{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "service test") {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
		if _, ok := errors.AsType[*hostcall.Refusal](err); ok {
			t.Errorf("%s: %v is taken for a refusal", in, err)
		}
	}
}

// endless says a text that never ends.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	if e.read == 0 {
		p[0] = '"'
	}
	e.read += len(p)
	return len(p), nil
}

func TestAnswerHasAnEnd(t *testing.T) {
	e := &endless{}
	if _, err := call().Ask(&conn{Reader: e}, request{}); err == nil || e.read > 64<<20 {
		t.Errorf("%d bytes were read: %v", e.read, err)
	}
}

func TestRefuse(t *testing.T) {
	if r := call().Refuse(errors.New("no room")); r.Words != "Failed: no room" || r.Code != 4 {
		t.Errorf("%+v", r)
	}
	if r := call().Refuse(hostcall.Refusef(112, "%d bytes", 3)); r.Words != "3 bytes" || r.Code != 112 {
		t.Errorf("%+v", r)
	}
}

func TestNames(t *testing.T) {
	seen := map[hostcall.Name]bool{}
	for _, n := range hostcall.Names() {
		if n.Pipe() != `\\.\pipe\mullion-`+string(n) || seen[n] {
			t.Errorf("service %s has the pipe %s, or is there twice", n, n.Pipe())
		}
		seen[n] = true
	}
}
