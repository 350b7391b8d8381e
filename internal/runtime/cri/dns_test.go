package cri

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWindowsResolver(t *testing.T) {
	const options = "options timeout:1 attempts:3 edns0\n"
	for _, tt := range []struct {
		name string
		in   DNS
		want string // "": refused
	}{
		{
			"ClusterFirst",
			DNS{
				Servers:  []string{"10.96.0.10"},
				Searches: []string{"a.svc.cluster.local", "svc.cluster.local", "cluster.local"},
				Options:  []string{"ndots:5"},
			},
			"nameserver 10.96.0.10\nsearch a.svc.cluster.local\n" + options,
		},
		{
			"None",
			DNS{
				Servers:  []string{"192.0.2.1", "2001:db8::53"},
				Searches: []string{"one.example", "two.example"},
				Options:  []string{"ndots:2"},
			},
			"nameserver 192.0.2.1\nnameserver 2001:db8::53\nsearch one.example\n" + options,
		},
		{"Default without a suffix", DNS{Servers: []string{"192.0.2.1"}}, "nameserver 192.0.2.1\nsearch .\n" + options},
		{"nothing", DNS{}, "search .\n" + options},
		{"a server that is a name", DNS{Servers: []string{"dns.example"}}, ""},
		{"a server with a line", DNS{Servers: []string{"192.0.2.1\nnameserver 192.0.2.2"}}, ""},
		{"a suffix with a line", DNS{Searches: []string{"a\nnameserver 192.0.2.2"}}, ""},
		{"a later suffix with a comma", DNS{Searches: []string{"a.example", "b,c"}}, ""},
		{"an empty suffix", DNS{Searches: []string{""}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := windowsResolver(tt.in, false)
			if (err != nil) != (tt.want == "") {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestLinuxNames(t *testing.T) {
	const options = "options timeout:1 attempts:3 edns0 "
	for _, tt := range []struct {
		name string
		in   DNS
		want string // "": refused
	}{
		{
			"ClusterFirst",
			DNS{
				Servers:  []string{"10.96.0.10"},
				Searches: []string{"a.svc.cluster.local", "svc.cluster.local", "cluster.local"},
				Options:  []string{"ndots:5"},
			},
			"nameserver 10.96.0.10\nsearch a.svc.cluster.local svc.cluster.local cluster.local\n" + options + "ndots:5\n",
		},
		{
			"no ndots",
			DNS{Searches: []string{"one.example", "two.example"}},
			"search one.example two.example\n" + options + "ndots:1\n",
		},
		{"nothing", DNS{}, "search .\n" + options + "ndots:1\n"},
		{"a second suffix with a line", DNS{Searches: []string{"a", "b\nnameserver 192.0.2.2"}}, ""},
		{"an option with a line", DNS{Options: []string{"ndots:5\nnameserver 192.0.2.2"}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := windowsResolver(tt.in, true)
			if (err != nil) != (tt.want == "") {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
