package net

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestShares asks for shares and for computers, of which there are none.
func TestShares(t *testing.T) {
	const stopped = "The Server service is not started.\n\nMore help is available by typing NET HELPMSG 2114.\n\n"
	for _, tt := range []struct {
		args []string
		want result
	}{
		{[]string{"net", "share"}, result{Code: 2, Err: stopped}},
		{[]string{"net", "SHARE", `data=C:\data`, "/grant:everyone,read"}, result{Code: 2, Err: stopped}},
		{[]string{"net", "view"}, result{Code: 2, Err: "System error 6118 has occurred.\n\nThe list of servers for this workgroup is not currently available\n\n"}},
		{[]string{"net", "view", `\\server`}, result{Code: 2, Err: "System error 50 has occurred.\n\nThe request is not supported.\n\n"}},
		{[]string{"net", "view", "/help"}, result{Err: "The syntax of this command is:\n\nNET VIEW\n[\\\\computername [/CACHE] | [/ALL] | /DOMAIN[:domainname]]\n\n"}},
	} {
		if diff := cmp.Diff(tt.want, run(t, &fake{}, "", tt.args...)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.args, diff)
		}
	}
	if got := run(t, &fake{}, "", "net", "share", "/?"); got.Code != 0 || got.Err == "" {
		t.Errorf("net share /?: %+v", got)
	}
}
