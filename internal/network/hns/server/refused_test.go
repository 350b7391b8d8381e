package server

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
)

// TestRefusedIsLogged: at debug a refused request's line has who asked for what, of which object, and why not; at info
// there is none, and none of a request that is carried out.
func TestRefusedIsLogged(t *testing.T) {
	var said bytes.Buffer
	level := logging.NewDial(logging.Info)
	s, err := Open(t.Context(), Config{
		Model:     hns.Config{Version: wire.Version{Major: 15}},
		Store:     FileStore{Path: filepath.Join(t.TempDir(), "state.json")},
		DataPlane: &dataplane.Fake{},
		Log:       logging.New(&said, level),
	})
	if err != nil {
		t.Fatal(err)
	}

	peer := &session{remote: "127.0.0.1:4711"}
	answer := func(fields ...[]byte) {
		s.answer(t.Context(), peer, fields, false)
	}
	missing := [][]byte{[]byte("HcnOpenNetwork"), encodeGUID(id), nil}
	answer(missing...)
	if said.Len() > 0 {
		t.Errorf("at info it logs %s", &said)
	}

	defer level.Hold(logging.Debug)()
	answer([]byte("HcnEnumerateNetworks"), nil, nil, encodeText(""))
	if said.Len() > 0 {
		t.Errorf("of a request that is carried out it logs %s", &said)
	}

	answer(missing...)
	for _, want := range []string{
		"level=DEBUG msg=\"HNS request refused\" remote=127.0.0.1:4711 function=HcnOpenNetwork took=", " object=", " error=",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("no %q in %s", want, &said)
		}
	}

	said.Reset()
	answer([]byte("HcnCreateNetwork"), nil, nil, encodeText("{\"Name\":\nlevel=ERROR"))
	if strings.Count(said.String(), "\n") != 1 || !strings.Contains(said.String(), `text="{\"Name\":\nlevel=ERROR"`) {
		t.Errorf("a text that forges a line: %s", &said)
	}
}
