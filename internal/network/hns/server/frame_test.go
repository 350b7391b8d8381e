package server

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
)

const id = "6B29FC40-CA47-1067-B31D-00DD010662DA"

func frameOf(function string, object, wanted []byte, texts ...string) []byte {
	fields := [][]byte{[]byte(function), object, wanted}
	for _, s := range texts {
		fields = append(fields, encodeText(s))
	}
	return makeFrame(fields...)
}

func TestRequest(t *testing.T) {
	frame := frameOf("HNSCall", encodeGUID(id), nil, "GET", "/endpoints/", "größer 𝄞")
	fields, err := readFrame(bytes.NewReader(frame), maxRequest)
	if err != nil {
		t.Fatal(err)
	}

	r, err := decodeRequest(fields)
	if err != nil {
		t.Fatal(err)
	}
	if r.Function != "HNSCall" || r.Object != "6b29fc40-ca47-1067-b31d-00dd010662da" || r.New != "" ||
		!slices.Equal(r.Text, []string{"GET", "/endpoints/", "größer 𝄞"}) {
		t.Errorf("request = %+v", r)
	}
}

// A GUID's bytes as Windows has them in memory: https://learn.microsoft.com/windows/win32/api/guiddef/ns-guiddef-guid.
func TestGUIDBytes(t *testing.T) {
	want := []byte{0x40, 0xfc, 0x29, 0x6b, 0x47, 0xca, 0x67, 0x10, 0xb3, 0x1d, 0x00, 0xdd, 0x01, 0x06, 0x62, 0xda}
	if got := encodeGUID(id); !bytes.Equal(got, want) {
		t.Errorf("encodeGUID = % x", got)
	}
}

func TestBadFrames(t *testing.T) {
	le := func(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }
	tests := map[string][]byte{
		"empty":             {},
		"half-a-length":     {1, 2},
		"too-long":          le(maxRequest + 1),
		"shorter-than-said": append(le(100), 1, 2, 3),
		"field-too-long":    append(le(8), append(le(100), 0, 0, 0, 0)...),
		"field-cut":         append(le(2), 0, 0),
		"too-many-fields":   append(le(4*40), make([]byte, 160)...),
		"no-fields":         le(0),
		"odd-text":          makeFrame([]byte("HNSCall"), nil, nil, []byte{1}),
		"short-guid":        makeFrame([]byte("HNSCall"), []byte{1}, nil),
		"long-name":         frameOf(string(make([]byte, 65)), nil, nil),
	}

	for name, data := range tests {
		t.Run(name, func(t *testing.T) {
			fields, err := readFrame(bytes.NewReader(data), maxRequest)
			if err == nil {
				_, err = decodeRequest(fields)
			}
			if err == nil {
				t.Error("taken for a request")
			}
		})
	}
}

// Whatever comes in is refused or answered by a well-formed frame, and the model's state stays loadable.
func FuzzRequest(f *testing.F) {
	f.Add(frameOf("HcnCreateNetwork", nil, make([]byte, 16),
		`{"Name":"n","Type":"L2Bridge","Ipams":[{"Subnets":[{"IpAddressPrefix":"10.0.0.0/24"}]}]}`))
	f.Add(frameOf("HcnEnumerateEndpoints", nil, nil, `{"Filter":"{\"Name\":\"x\"}"}`))
	f.Add(frameOf("HcnCreateNamespace", nil, nil, `{"Type":"Host"}`))
	f.Add(frameOf("HNSCall", nil, nil, "POST", "/endpoints/",
		`{"VirtualNetwork":"`+id+`","Policies":[{"Type":"OutBoundNAT","ExceptionList":["10.0.0.0/8"]}]}`))
	f.Add(frameOf("HNSCall", nil, nil, "GET", "/networks/", ""))
	f.Add(frameOf("HcnDeleteNetwork", encodeGUID(id), nil))
	f.Add(makeFrame(make([]byte, 16), []byte("HcnCreateNamespace"), nil, nil, encodeText(`{}`)))

	f.Fuzz(func(t *testing.T, data []byte) {
		fields, err := readFrame(bytes.NewReader(data), maxRequest)
		if err != nil {
			return
		}
		r, err := decodeRequest(fields)
		if len(fields) > 0 && len(fields[0]) == 16 {
			r, err = decodeNamed(fields)
		}
		if err != nil {
			return
		}

		m := hns.New(hns.Config{Version: wire.Version{Major: 15}, Adapters: []string{"Ethernet"}})
		reply, err := m.Call(r)
		answer, frameErr := readFrame(bytes.NewReader(response(reply, nil, err)), 1<<30)
		if frameErr != nil || len(answer) != 4 {
			t.Fatalf("answer has %d fields, %v", len(answer), frameErr)
		}

		m.Plan()
		state, err := m.Save()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := hns.Load(hns.Config{}, state); err != nil {
			t.Fatal(err)
		}
	})
}
