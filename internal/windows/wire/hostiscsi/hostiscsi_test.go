package hostiscsi

import (
	"strings"
	"testing"
)

func TestHear(t *testing.T) {
	for in, want := range map[string]string{
		`{"do":"get"}`: "",
		`{"do":"addPortal","address":"10.0.0.1"}`:                                              "",
		`{"do":"addPortal","address":"fd00::1","port":3261}`:                                   "",
		`{"do":"addPortal","address":"Storage.Example.com"}`:                                   "",
		`{"do":"addPortal"}`:                                                                   "not named",
		`{"do":"addPortal","address":"-oProxy"}`:                                               "neither an address",
		`{"do":"addPortal","address":"a b"}`:                                                   "neither an address",
		`{"do":"addPortal","address":"fe80::1%eth0"}`:                                          "neither an address",
		`{"do":"addPortal","address":"10.0.0.1,user=x"}`:                                       "neither an address",
		`{"do":"addPortal","address":"10.0.0.1","port":70000}`:                                 "cannot unmarshal",
		`{"do":"connect","target":"IQN.2026-11.com.example:Disk.1"}`:                           "",
		`{"do":"connect","target":"eui.0123456789abcdef"}`:                                     "",
		`{"do":"connect","target":"iqn.2026-11.com.example:a\u0000TargetName=b"}`:              "not the name",
		`{"do":"connect","target":"iqn.2026-11.com.example:a,b"}`:                              "not the name",
		`{"do":"connect","target":"iqn.2026-11.com.example:` + strings.Repeat("a", 223) + `"}`: "not the name",
		`{"do":"connect"}`: "not named",
		`{"do":"connect","target":"iqn.2026-11.com:a","authentication":"ONEWAYCHAP","secret":"hush-of-the-test"}`:               "",
		`{"do":"connect","target":"iqn.2026-11.com:a","authentication":"ONEWAYCHAP","secret":"short"}`:                          "from 12 to 16",
		`{"do":"connect","target":"iqn.2026-11.com:a","authentication":"KERBEROS"}`:                                             "none of NONE",
		`{"do":"connect","target":"iqn.2026-11.com:a","user":"me"}`:                                                             "without -AuthenticationType",
		`{"do":"connect","target":"iqn.2026-11.com:a","authentication":"ONEWAYCHAP","user":"a\nb","secret":"hush-of-the-test"}`: "control characters",
		`{"do":"setSecret","secret":"hush-of-the-test"}`:                                                                        "",
		`{"do":"setSecret","secret":"hush-of-the-test1"}`:                                                                       "from 12 to 16",
		`{"do":"disconnect","session":"0123456789abcdef-4000013700000002"}`:                                                     "",
		`{"do":"disconnect","session":"../x"}`:                                                                                  "not the identifier",
		`{"do":"disconnect"}`:                                                                                                   "not named",
		`{"do":"format"}`:                                                                                                       "not a request",
	} {
		_, err := Call().Hear(strings.NewReader(in), true)
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: the error has the secret: %v", in, err)
		}
	}
}

func TestClean(t *testing.T) {
	r := Request{Do: AddPortal, Address: "::ffff:10.0.0.1"}
	if err := r.Check(); err != nil || r.Address != "10.0.0.1" || r.Port != Port || r.Authentication != NoAuthentication {
		t.Errorf("%+v, %v", r, err)
	}
	r = Request{Do: Connect, Target: "IQN.2026-11.com.example:Disk"}
	if err := r.Check(); err != nil || r.Target != "iqn.2026-11.com.example:disk" {
		t.Errorf("%+v, %v", r, err)
	}
}
