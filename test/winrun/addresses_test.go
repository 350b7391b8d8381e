//go:build wine

package winrun

import (
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// testAddresses asks each program and cmdlet that lists the machine's addresses, and compares with Linux.
func testAddresses(t *testing.T, p prefix) {
	t.Helper()
	want := linuxAddresses(t)
	literal := regexp.MustCompile(`(?i)\b(?:\d+\.){3}\d+\b|\b[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?:%\d+)?`)
	for _, tt := range []struct {
		name, line string
		only       string // of a line what is looked at begins behind this
		ipv6       bool
	}{
		{"ipconfig", "ipconfig", "Address", true},
		{"systeminfo", "systeminfo", "]: ", true},
		{"wmic", "wmic nicconfig get IPAddress /value", "IPAddress=", true},
		{"Get-CimInstance", `powershell -c "(Get-CimInstance Win32_NetworkAdapterConfiguration).IPAddress | % { 'is ' + $_ }"`, "is ", true},
		{"Get-NetIPAddress", `powershell -c "(Get-NetIPAddress).IPAddress | % { 'is ' + $_ }"`, "is ", true},
		{"netsh", "netsh interface ipv4 show config", "IP Address:", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := p.run(t, "--raw", "--", "cmd /c "+tt.line)
			var found []string
			for line := range strings.Lines(got.out) {
				if _, rest, is := strings.Cut(line, tt.only); is {
					found = append(found, literal.FindAllString(rest, -1)...)
				}
			}

			var addresses []string
			for _, text := range found {
				text, _, _ = strings.Cut(text, "%")
				if ip := net.ParseIP(text); ip != nil && !ip.IsLoopback() {
					addresses = append(addresses, ip.String())
				}
			}

			slices.Sort(addresses)
			left := func(address string) bool { return !tt.ipv6 && strings.Contains(address, ":") }
			wanted := slices.DeleteFunc(slices.Clone(want), left)
			if got.code != 0 || !slices.Equal(addresses, wanted) {
				t.Errorf("it has %q, Linux %q; %+v", addresses, wanted, got)
			}
		})
	}

	const script = `(Get-NetIPAddress | ? { $_.PrefixOrigin -ne 'Manual' }).Count; ` +
		`@(Get-CimInstance Win32_NetworkAdapterConfiguration | ? { $_.DHCPEnabled }).Count`
	if got := p.run(t, "--", "powershell", "-c", script); got.out != "0\n0\n" {
		t.Errorf("ipconfig says that no adapter has DHCP; addresses and adapters of DHCP: %+v", got)
	}
}

// linuxAddresses returns the machine's, without those of the loopback.
func linuxAddresses(t *testing.T) []string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, a := range all {
		if n, is := a.(*net.IPNet); is && !n.IP.IsLoopback() {
			found = append(found, n.IP.String())
		}
	}
	slices.Sort(found)
	return found
}
