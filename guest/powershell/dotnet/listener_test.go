package dotnet

import (
	"net"
	"testing"
)

// TestPrefixes checks which requests a listener takes, as http.sys does: by host and path.
func TestPrefixes(t *testing.T) {
	for _, tt := range []struct {
		prefix, host, path string
		hostFits, fits     bool
	}{
		{"http://*:80/", "any", "/x", true, true},
		{"http://+:8080/path/", "any:8080", "/path/x", true, true},
		{"http://+:8080/path/", "any", "/PATH", true, true},
		{"http://+:8080/path/", "any", "/other", true, false},
		{"http://localhost/", "LOCALHOST:80", "/", true, true},
		{"http://localhost/", "other", "/", false, false},
		{"http://127.0.0.1:80/", "127.0.0.1", "/", true, true},
		{"http://127.0.0.1:80/", "name", "/", true, true}, // it came to this address
		{"http://127.0.0.2:80/", "name", "/", false, false},
	} {
		p, err := parsePrefix(tt.prefix)
		if err != nil {
			t.Fatal(err)
		}
		hostFits, fits := p.fits(tt.host, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}, tt.path)
		if hostFits != tt.hostFits || fits != tt.fits {
			t.Errorf("%s for %s%s: %v, %v", tt.prefix, tt.host, tt.path, hostFits, fits)
		}
	}
}
