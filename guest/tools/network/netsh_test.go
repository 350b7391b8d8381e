package network

import (
	"strings"
	"testing"

	"mullion.dev/mullion/guest/tools/program/programtest"
)

func TestURLs(t *testing.T) {
	w := &fake{}
	for _, tc := range []struct {
		line string
		want result
	}{
		{"netsh http add urlacl url=http://+:80/ user=Everyone", result{Out: "\nURL reservation successfully added\n\n"}},
		{
			"netsh http add urlacl http://+:80/ Users",
			result{Code: 1, Err: "Url reservation add failed, Error: 183\nCannot create a file when that file already exists.\n"},
		},
		{"netsh HTTP add urlacl url=http://+:80 user=Everyone", result{Code: 1, Err: "The parameter is incorrect.\n"}},
		{
			"netsh http show urlacl", result{Out: "\nURL Reservations:\n-----------------\n\n    Reserved URL            : http://+:80/\n" +
				"        User: Everyone\n            Listen: Yes\n            Delegate: No\n\n"},
		},
		{"netsh http show urlacl url=http://+:81/", result{Out: "\nURL Reservations:\n-----------------\n\n"}},
		{"netsh http delete urlacl url=http://+:80/", result{Out: "\nURL reservation successfully deleted\n\n"}},
		{
			"netsh http delete urlacl url=http://+:80/",
			result{Code: 1, Err: "Url reservation delete failed, Error: 2\nThe system cannot find the file specified.\n"},
		},
		{"netsh http flush urlacl url=http://+:80/", result{Code: 1, Err: "The following command was not found: http flush urlacl.\n"}},
	} {
		if got := run(t, w, "", strings.Fields(tc.line)...); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.line, got, tc.want)
		}
	}
}

// TestSetInterface sets what is so on a host, as scripts for nodes do, and what is not; a container may not.
func TestSetInterface(t *testing.T) {
	done := result{Out: "Ok.\n\n"}
	denied := result{Code: 1, Err: "The requested operation requires elevation (Run as administrator).\n"}
	syntax := func(word string) result {
		return result{Code: 1, Err: word + " is not a valid argument for this command.\n" +
			"The syntax supplied for this command is not valid. Check help for the correct syntax.\n"}
	}

	for _, tc := range []struct {
		args            string
		host, container result
	}{
		{"int ipv4 set int eth0 for=en", done, denied},
		{"interface ipv4 set interface interface=eth0 forwarding=enabled store=persistent", done, denied},
		{"interface IP SET Interface 3 enabled", done, denied},
		{"int ipv4 set int eth0 weakhostsend=enabled weakhostr=ena", done, done},
		{"int ipv4 set int eth0", done, done},
		{
			"int ipv4 set int eth9 for=en",
			result{Code: 1, Err: "The filename, directory name, or volume label syntax is incorrect.\n"},
			result{Code: 1, Err: "The filename, directory name, or volume label syntax is incorrect.\n"},
		},
		{
			"int ipv4 set int eth0 for=dis",
			result{Code: 1, Err: "netsh: forwarding is always enabled here.\n"},
			done, // so it is
		},
		{
			"int ipv4 set int eth0 mtu=1400",
			result{Code: 1, Err: "netsh: mtu of an interface is Linux' to set, and programs cannot change it here.\n"},
			result{Code: 1, Err: "netsh: mtu of an interface is Linux' to set, and programs cannot change it here.\n"},
		},
		{"int ipv4 set int eth0 color=red", syntax("color=red"), syntax("color=red")},
		{"int ipv4 set int eth0 for=en forwarding=enabled", syntax("forwarding=enabled"), syntax("forwarding=enabled")},
		{"int ipv4 set int eth0 forwarding=", syntax("forwarding="), syntax("forwarding=")},
		{"int ipv4 set int", syntax("interface"), syntax("interface")},
	} {
		for name, forwards := range map[string]bool{"host": true, "container": false} {
			want := tc.host
			if !forwards {
				want = tc.container
			}

			w := &fake{adapters: programtest.Adapters(), forwards: forwards}
			if got := run(t, w, "", strings.Fields("netsh "+tc.args)...); got != want {
				t.Errorf("%s, in a %s: %+v, want %+v", tc.args, name, got, want)
			}
		}
	}
}
