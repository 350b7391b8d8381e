package smbmapping

import (
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	for in, want := range map[string]string{
		`\\Server\Share`: "server share", `\\10.0.0.1\a b`: "10.0.0.1 a b", `//files.contoso.com/data/`: "files.contoso.com data",
		`\\server`: "", `\\server\`: "", `server\share`: "", `\\server\share\folder`: "", `\\..\share`: "", `\\server\..`: "",
		`\\server\a:b`: "", `\\ser ver\share`: "", `\\server\share.`: "", `\\?\C:\x`: "", `\\.\pipe`: "", "": "",
		`\\server\` + strings.Repeat("a", 81): "", `\\-server\share`: "",
	} {
		server, share, err := Split(in)
		if got := strings.TrimSpace(server + " " + share); got != want || (err == nil) != (want != "") {
			t.Errorf("Split(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestHear(t *testing.T) {
	for in, want := range map[string]string{
		`{"do":"new","remote":"\\\\server\\share","user":"me"}`: "",
		`{"do":"get"}`:    "",
		`{"do":"remove"}`: "is not the name of a share",
		`{"do":"format","remote":"\\\\server\\share"}`:                                        "none of new, get, remove",
		`{"do":"new","remote":"\\\\server\\share","local":"C:"}`:                              "not a free drive",
		`{"do":"new","remote":"\\\\server\\share","user":"` + strings.Repeat("u", 513) + `"}`: "more than 512",
		`{`: "EOF",
	} {
		_, err := Call().Hear(strings.NewReader(in), true)
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add(`\\server\share`)
	f.Fuzz(func(t *testing.T, in string) {
		server, share, err := Split(in)
		if err == nil && (strings.ContainsAny(server+share, `/\:`) || strings.HasPrefix(share, ".") || server == "." || server == "..") {
			t.Errorf("Split(%q) = %q, %q", in, server, share)
		}
	})
}
