package server

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
)

// named returns a request as its client sends it again and again.
func named(n int, function, object string, text ...string) hns.Request {
	return hns.Request{
		Name:     fmt.Sprintf("%032x", n),
		Function: function,
		Object:   object,
		Text:     text,
	}
}

// TestSentAgain: a server is killed at any moment while it carries out a request, and the next one, and the one after
// that, get the request again. It is carried out once, and answered as it was.
func TestSentAgain(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	var data []byte
	next := 0
	begin := func(t *testing.T, state *[]byte) *Service {
		t.Helper()
		s, _ := open(t, filepath.Join(t.TempDir(), "unused"))
		cfg := s.cfg
		cfg.Store = memory{state}
		cfg.Model.NewID = func() string { next++; return fmt.Sprintf("00000000-0000-0000-0000-%012x", next) }
		s, err := Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	ask := func(t *testing.T, s *Service, r hns.Request) hns.Reply {
		t.Helper()
		reply, err := s.Call(t.Context(), r)
		if err != nil {
			t.Fatalf("%s: %v", r.Function, err)
		}
		return reply
	}

	s := begin(t, &data)
	net := ask(t, s, named(1, "HcnCreateNetwork", "", l2bridge)).Object
	ns := ask(t, s, named(2, "HcnCreateNamespace", "", `{"Type":"Host"}`)).Object
	ep := ask(t, s, named(3, "HcnCreateEndpoint", net, `{}`)).Object
	former := bytes.Clone(data)

	for _, r := range []hns.Request{
		named(4, "HcnCreateEndpoint", net, `{"Name":"web"}`),
		named(5, "HNSCall", "", "POST", "/endpoints/", `{"VirtualNetwork":"`+net+`"}`),
		named(6, "HcnModifyNamespace", ns, fmt.Sprintf(`{"ResourceType":"Endpoint","RequestType":"Add","Settings":{"EndpointId":%q}}`, ep)),
		named(7, "HcnDeleteEndpoint", ep),
		named(8, "HNSCall", "", "DELETE", "/endpoints/"+ep),
	} {
		t.Run(fmt.Sprint(r.Name[30:], r.Function), func(t *testing.T) {
			data := bytes.Clone(former)
			s := begin(t, &data)
			begun := len(data)
			want := ask(t, s, r)
			if begun == len(data) {
				t.Fatal("it changes nothing: the test says nothing")
			}

			for part := range 8 { // the last is all of it
				cut := begun + (len(data)-begun)*part/7
				torn := bytes.Clone(data[:cut])
				second := begin(t, &torn)
				got := ask(t, second, r)
				if cut == len(data) && (got.Object != want.Object || got.Text != want.Text) {
					t.Errorf("it is answered %+v, and was %+v", got, want)
				}
				again := ask(t, second, r) // its answer was lost, too
				third := begin(t, &torn)
				last := ask(t, third, r)
				if again.Object != got.Object || last.Object != got.Object || last.Text != got.Text {
					t.Errorf("answers: %+v, %+v, %+v", got, again, last)
				}
				if a, b := objects(t, s), objects(t, third); a != b {
					t.Errorf("cut at %d of %d: %s, want %s", cut, len(data), b, a)
				}
			}
		})
	}
}

// objects counts what there is.
func objects(t *testing.T, s *Service) string {
	t.Helper()
	var all []string
	for _, kind := range []string{"Networks", "Endpoints", "Namespaces"} {
		text := call(t, s, "HcnEnumerate"+kind, "", "").Text
		all = append(all, fmt.Sprintf("%d %s", strings.Count(text, "-")/4, kind))
	}
	return strings.Join(all, ", ")
}

// TestSentAgainOnTheWire: names come with the requests of clients that say so, and a client that is older has none.
func TestSentAgainOnTheWire(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	addr := serve(t)
	name, err := hex.DecodeString("000102030405060708090a0b0c0d0e0f")
	if err != nil {
		t.Fatal(err)
	}

	frame := func(name []byte) []byte {
		return makeFrame(name, []byte("HNSCall"), nil, nil, encodeText("POST"), encodeText("/namespaces"),
			encodeText(`{"IsDefault":false}`))
	}
	var answers []string
	for _, f := range [][]byte{frame(name), frame(name), frame(nil), frame(nil)} {
		c := dialAs(t, addr, helloMagic, "secret") // the connection of the one before has ended
		code, text, err := ask(c, f)
		if err != nil || code != wire.OK {
			t.Fatalf("0x%08x %v", uint32(code), err)
		}
		answers = append(answers, text)
		_ = c.Close()
	}
	if answers[0] != answers[1] || answers[1] == answers[2] || answers[2] == answers[3] {
		t.Errorf("answers: %s", answers)
	}

	_, text, err := ask(dial(t, addr, "secret"), frameOf("HcnEnumerateNamespaces", nil, nil, ""))
	if n := strings.Count(text, `","`) + 1; err != nil || n != 4 { // with the host's own
		t.Errorf("%d namespaces, %v; want 4", n, err)
	}
	for what, f := range map[string][]byte{"short": frame(name[:8]), "long": frame(append(name, 1))} {
		if code, _, err := ask(dialAs(t, addr, helloMagic, "secret"), f); err != nil || code == wire.OK {
			t.Errorf("a %s name: 0x%08x %v", what, uint32(code), err)
		}
	}
}

// TestOldAnswersGo: what is remembered is bounded, also on the disk.
func TestOldAnswersGo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	s, _ := open(t, path)
	first := named(0, "HcnCreateNamespace", "", `{}`)
	made, err := s.Call(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 1024; n++ {
		if _, err := s.Call(t.Context(), named(n, "HcnModifyNetwork", "", "")); err == nil {
			t.Fatal("a network without an ID is modified")
		}
	}
	if again, err := s.Call(t.Context(), first); err != nil || again.Object != made.Object {
		t.Errorf("requests that are refused displace one that is not: %+v, %v", again, err)
	}

	for n := 1; n <= 1024; n++ {
		if _, err := s.Call(t.Context(), named(n, "HcnCreateNamespace", "", `{}`)); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []*Service{s, reopened(t, path)} {
		if again, err := s.Call(t.Context(), first); err != nil || again.Object == made.Object {
			t.Errorf("the oldest of 1025 answers is still known: %+v, %v", again, err)
		}
	}
}

func reopened(t *testing.T, path string) *Service {
	t.Helper()
	s, _ := open(t, path)
	return s
}
