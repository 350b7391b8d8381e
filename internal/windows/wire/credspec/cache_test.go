package credspec_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/windows/wire/credspec"
)

func data(text string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
}

func principal(realm string, parts ...string) []byte {
	b := binary.BigEndian.AppendUint32(nil, 1)
	b = binary.BigEndian.AppendUint32(b, uint32(len(parts)))
	b = append(b, data(realm)...)
	for _, p := range parts {
		b = append(b, data(p)...)
	}
	return b
}

// ticket returns a credential that begins at 1000 and ends at 2000.
func ticket(server []byte) []byte {
	b := append(principal("CONTOSO.COM", "webapp1$"), server...)
	b = append(binary.BigEndian.AppendUint16(b, 18), data("key")...)
	for _, at := range []uint32{1000, 1000, 2000, 0} {
		b = binary.BigEndian.AppendUint32(b, at)
	}
	b = binary.BigEndian.AppendUint32(append(b, 0), 0x40e10000)
	b = binary.BigEndian.AppendUint32(b, 1) // an address
	b = append(binary.BigEndian.AppendUint16(b, 2), data("\x0a\x00\x00\x01")...)
	b = binary.BigEndian.AppendUint32(b, 0)
	return append(append(b, data("ticket")...), data("")...)
}

func cache() []byte {
	b := append([]byte{5, 4, 0, 4, 0, 1, 0, 0}, principal("CONTOSO.COM", "webapp1$")...)
	b = append(b, ticket(principal("CONTOSO.COM", "krbtgt", "CONTOSO.COM"))...)
	return append(b, ticket(principal("X-CACHECONF:", "krb5_ccache_conf_data", "fast_avail"))...)
}

func TestParseCache(t *testing.T) {
	got, err := credspec.ParseCache(cache())
	want := []credspec.Cached{{
		Client: "webapp1$", ClientRealm: "CONTOSO.COM", Server: "krbtgt/CONTOSO.COM", ServerRealm: "CONTOSO.COM",
		Kind: 18, Flags: 0x40e10000, Start: time.Unix(1000, 0), End: time.Unix(2000, 0),
	}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
}

// TestParseCacheOfParts: whatever is missing, it is an error or fewer tickets, and ends.
func TestParseCacheOfParts(t *testing.T) {
	whole := cache()
	for i := range whole {
		if got, err := credspec.ParseCache(whole[:i]); err == nil && len(got) > 1 {
			t.Errorf("of %d bytes: %v", i, got)
		}
		broken := append([]byte{}, whole...)
		broken[i] = 0xff
		_, _ = credspec.ParseCache(broken) // does not hang, and takes no more memory than there is
	}
	if _, err := credspec.ParseCache([]byte("no cache")); err == nil {
		t.Error("a text is taken for a cache")
	}
}
