package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
)

func open(t *testing.T, path string) (*Service, *dataplane.Fake) {
	t.Helper()
	fake := &dataplane.Fake{}
	s, err := Open(t.Context(), Config{
		Model:     hns.Config{Version: wire.Version{Major: 15}, Adapters: []string{"Ethernet"}},
		Store:     FileStore{Path: path},
		DataPlane: fake,
		Log:       slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}

	return s, fake
}

func TestKernelRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hns", "state.json")
	s, fake := open(t, path)
	namespace := hns.Request{Function: "HcnCreateNamespace", Text: []string{`{"Type":"Host"}`}}
	first, err := s.Call(t.Context(), namespace)
	if err != nil {
		t.Fatal(err)
	}

	want := fake.Dump()
	fake.Err = errors.New("no more namespaces")
	if _, err := s.Call(t.Context(), namespace); err == nil || !strings.Contains(err.Error(), "no more namespaces") {
		t.Errorf("err = %v", err)
	}
	if got := fake.Dump(); got != want {
		t.Errorf("plan after the refusal:\n%swant\n%s", got, want)
	}

	again, fake := open(t, path) // what a restart finds
	if got := fake.Dump(); got != want || !strings.Contains(got, first.Object) {
		t.Errorf("plan after a restart:\n%swant\n%s", got, want)
	}
	if _, err := again.Call(t.Context(), hns.Request{Function: "HcnOpenNamespace", Object: first.Object}); err != nil {
		t.Error(err)
	}
}

func TestRepair(t *testing.T) {
	fake := &dataplane.Fake{}
	var said bytes.Buffer
	s, err := Open(t.Context(), Config{
		Model:     hns.Config{Version: wire.Version{Major: 15}},
		Store:     FileStore{Path: filepath.Join(t.TempDir(), "state.json")},
		DataPlane: fake,
		Log:       slog.New(slog.NewTextHandler(&said, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}

	made, err := s.Call(t.Context(), hns.Request{Function: "HcnCreateNamespace", Text: []string{`{"Type":"Host"}`}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Repair(t.Context()); err != nil || said.Len() > 0 {
		t.Errorf("repair of what is whole: %v, said %s", err, &said)
	}

	want := fake.Dump()
	fake.Forget()
	fake.Err = errors.New("not now")
	if err := s.Repair(t.Context()); err == nil || !strings.Contains(err.Error(), "not now") {
		t.Errorf("repair that does not work: %v", err)
	}
	if err := s.Repair(t.Context()); err != nil {
		t.Fatal(err)
	}

	if got := fake.Dump(); got != want {
		t.Errorf("after the repair:\n%swant\n%s", got, want)
	}
	if !strings.Contains(said.String(), "missing: namespace "+made.Object) {
		t.Errorf("the log does not say what was put right: %s", &said)
	}

	r := s.Own().Repairs
	if r.Count != 1 || len(r.Found) != 1 || !strings.Contains(r.Found[0], made.Object) || r.Last.IsZero() {
		t.Errorf("it counts %+v", r)
	}
}

// serve starts the service on a loopback port.
func serve(t *testing.T) string {
	t.Helper()
	return serveOpen(t).addr
}

// dial connects as a program does that is older than the server.
func dial(t *testing.T, addr, token string) net.Conn {
	t.Helper()
	return dialAs(t, addr, helloOld, token)
}

func dialAs(t *testing.T, addr, hello, token string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp4", addr)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(60 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(makeFrame([]byte(hello), []byte(token))); err != nil {
		t.Fatal(err)
	}

	return c
}

func ask(c net.Conn, frame []byte) (wire.HRESULT, string, error) {
	if _, err := c.Write(frame); err != nil {
		return 0, "", err
	}
	fields, err := readFrame(c, 1<<30)
	if err != nil {
		return 0, "", err
	}
	text, err := decodeText(fields[2])
	return wire.HRESULT(binary.LittleEndian.Uint32(fields[0])), text, err
}

func TestServe(t *testing.T) {
	addr := serve(t)
	t.Run("several-requests", func(t *testing.T) {
		c := dial(t, addr, "secret")
		for range 3 {
			code, text, err := ask(c, frameOf("HcnEnumerateNetworks", nil, nil, ""))
			if err != nil || code != wire.OK || text != "[]" {
				t.Errorf("0x%08x %q %v", uint32(code), text, err)
			}
		}

		code, _, err := ask(c, frameOf("HcnOpenNetwork", encodeGUID(id), nil))
		if err != nil || code != wire.ENotFound {
			t.Errorf("0x%08x %v", uint32(code), err)
		}
	})

	t.Run("million-bytes", func(t *testing.T) {
		code, _, err := ask(dial(t, addr, "secret"),
			frameOf("HcnCreateNetwork", nil, nil, `{"Name":"`+strings.Repeat("x", 1_000_000)))
		if err != nil || code != wire.InvalidJSON {
			t.Errorf("0x%08x %v", uint32(code), err)
		}
	})

	for name, c := range map[string]func(t *testing.T) net.Conn{
		"wrong-token": func(t *testing.T) net.Conn { t.Helper(); return dial(t, addr, "guess") },
		"no-token":    func(t *testing.T) net.Conn { t.Helper(); return dial(t, addr, "") },
		"too-big": func(t *testing.T) net.Conn {
			t.Helper()
			c := dial(t, addr, "secret")
			_, _ = c.Write(binary.LittleEndian.AppendUint32(nil, maxRequest+1))
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := ask(c(t), frameOf("HcnEnumerateNetworks", nil, nil, "")); err == nil {
				t.Error("answered")
			}
		})
	}

	t.Run("client-dies-in-mid-call", func(t *testing.T) {
		before := runtime.NumGoroutine()
		frame := frameOf("HcnCreateNamespace", nil, nil, `{"Type":"Host"}`)
		for n := range len(frame) { // wherever it is cut off, nothing is carried out or left behind
			c := dial(t, addr, "secret")
			_, _ = c.Write(frame[:n])
			_ = c.Close()
		}

		until(t, func() bool { return runtime.NumGoroutine() <= before })
		_, text, err := ask(dial(t, addr, "secret"), frameOf("HcnEnumerateNamespaces", nil, nil, ""))
		if n := strings.Count(text, `","`) + 1; err != nil || n != 1 { // the host's own
			t.Errorf("%d namespaces, %v; want 1", n, err)
		}
	})

	t.Run("many-clients", func(t *testing.T) {
		var wg sync.WaitGroup
		for range 200 {
			c := dial(t, addr, "secret")
			wg.Go(func() {
				for range 10 {
					code, _, err := ask(c, frameOf("HcnCreateNamespace", nil, nil, `{"Type":"Host"}`))
					if err != nil || code != wire.OK {
						t.Errorf("0x%08x %v", uint32(code), err)
						return
					}
				}
			})
		}

		wg.Wait()
		_, text, err := ask(dial(t, addr, "secret"), frameOf("HcnEnumerateNamespaces", nil, nil, ""))
		if n := strings.Count(text, `","`) + 1; err != nil || n != 2001 {
			t.Errorf("%d namespaces, %v; want 2001", n, err)
		}
	})
}

func TestStats(t *testing.T) {
	s, _ := open(t, filepath.Join(t.TempDir(), "state.json"))
	for id, want := range map[string]string{id: "Element not found.", "x": "parameter is incorrect"} {
		r, err := s.Call(t.Context(), hns.Request{Function: "HNSCall", Text: []string{"GET", "/endpointstats/" + id}})
		if err != nil || !bytes.Contains([]byte(r.Text), []byte(want)) {
			t.Errorf("stats of %s: %s %v", id, r.Text, err)
		}
	}
}
