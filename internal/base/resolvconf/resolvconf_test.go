package resolvconf

import (
	"os"
	"path/filepath"
	"testing"
)

func TestElsewhere(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{
			"plain", "# by hand\nnameserver 10.0.0.2\nsearch a.example b.example\noptions ndots:2\n",
			"nameserver 10.0.0.2\nsearch a.example b.example\noptions ndots:2\n",
		},
		{"stub", "nameserver 127.0.0.53\noptions edns0\nsearch .\n", "search .\noptions edns0\n"},
		{"one of two", "nameserver ::1\nnameserver 192.0.2.1\n", "nameserver 192.0.2.1\n"},
		{"link local", "nameserver fe80::1%eth0\nnameserver 2001:db8::1\n", "nameserver 2001:db8::1\n"},
		{
			"last wins", "domain a.example\nsearch b.example c.example\ndomain d.example e.example\n",
			"search d.example\n",
		},
		{"garbage", "nameserver\nnameserver x\n;\nnameserver 0.0.0.0\nsortlist 1.2.3.4\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Parse(tt.in).Elsewhere().String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFirst(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}

	stub := write("stub", "nameserver 127.0.0.53\nsearch stub.example\n")
	upstream := write("upstream", "nameserver 192.0.2.9\nsearch real.example\n")
	if got, want := first([]string{stub, filepath.Join(dir, "missing"), upstream}).String(),
		"nameserver 192.0.2.9\nsearch real.example\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := first([]string{stub}).String(); got != "" {
		t.Errorf("no usable server: got %q, want nothing", got)
	}
}
