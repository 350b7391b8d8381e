package dockerfile_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// entry is an entry of an archive.
type entry struct {
	name, text, link string
	kind             byte
}

func archiveOf(t *testing.T, compressed bool, entries ...entry) string {
	t.Helper()
	var out bytes.Buffer
	into := io.WriteCloser(nopCloser{&out})
	if compressed {
		into = gzip.NewWriter(&out)
	}

	w := tar.NewWriter(into)
	for _, e := range entries {
		header := &tar.Header{
			Name:     e.name,
			Typeflag: e.kind,
			Linkname: e.link,
			Size:     int64(len(e.text)),
			Mode:     0o644,
		}

		if e.kind == tar.TypeXGlobalHeader {
			header = &tar.Header{
				Name:       e.name,
				Typeflag:   e.kind,
				PAXRecords: map[string]string{"comment": "c"},
			}
		}

		err := w.WriteHeader(header)
		if err == nil {
			_, err = io.WriteString(w, e.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	if err := errors.Join(w.Close(), into.Close()); err != nil {
		t.Fatal(err)
	}

	return out.String()
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// ADD unpacks an archive below its target, wherever its entries want to be.
func TestArchives(t *testing.T) {
	good := []entry{
		{"pax_global_header", "", "", tar.TypeXGlobalHeader},
		{"./d/", "", "", tar.TypeDir},
		{"d/a", "A", "", tar.TypeReg},
		{"d/same", "", "d/a", tar.TypeLink},
		{"d/link", "", "a", tar.TypeSymlink},
		{"../../up", "U", "", tar.TypeReg},
		{"/root", "R", "", tar.TypeReg},
	}

	const want = "x /\nx/d /\nx/d/a A\nx/d/link ->a\nx/d/same A\nx/root R\nx/up U"
	for _, compressed := range []bool{false, true} {
		m, err := try(t, map[string]string{
			"Dockerfile": nano + "ADD a.tar /x/", "a.tar": archiveOf(t, compressed, good...),
		}, nil)
		if err != nil || m.list() != want {
			t.Errorf("compressed %t: %v\n%s\nwant\n%s", compressed, err, m.list(), want)
		}
	}

	m, err := try(t, map[string]string{
		"Dockerfile": nano + "ADD --unpack=false a.tar /x/\nADD text.tar /x/\nADD bad.gz /x/",
		"a.tar":      archiveOf(t, false, good...), "text.tar": "no archive", "bad.gz": "\x1f\x8bno",
	}, nil)
	if err != nil || m.files["x/text.tar"] != "no archive" || m.files["x/a.tar"] == "" || m.files["x/bad.gz"] == "" {
		t.Errorf("%v\n%q", err, m.files)
	}

	for name, bad := range map[string]struct {
		entries []entry
		want    string
	}{
		"a device":         {[]entry{{"d", "", "", tar.TypeBlock}}, "neither a file"},
		"a pipe":           {[]entry{{"d", "", "", tar.TypeFifo}}, "neither a file"},
		"a link out":       {[]entry{{"d", "", "../../etc/passwd", tar.TypeSymlink}}, "not in the archive"},
		"an absolute link": {[]entry{{"d", "", "/etc/passwd", tar.TypeSymlink}}, "not in the archive"},
		"a drive's link":   {[]entry{{"d", "", `C:\Windows`, tar.TypeSymlink}}, "not in the archive"},
		"a hard link out":  {[]entry{{"d", "", "../../etc/passwd", tar.TypeLink}}, "no file of the archive"},
		"through a link": {
			[]entry{{"d", "", ".", tar.TypeSymlink}, {"d/x", "", "", tar.TypeReg}},
			"is a file, and not a folder",
		},
		"a device's name":   {[]entry{{"d/CON.txt", "", "", tar.TypeReg}}, "names a device"},
		"a deletion's name": {[]entry{{"d/.wh.x", "", "", tar.TypeReg}}, "means a deletion"},
	} {
		_, err := try(t, map[string]string{
			"Dockerfile": nano + "ADD a.tar /x/", "a.tar": archiveOf(t, false, bad.entries...),
		}, nil)
		if err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: %v, want %q", name, err, bad.want)
		}
	}

	_, err = try(t, map[string]string{"Dockerfile": nano + "ADD a.txz /x/", "a.txz": "\xfd7zXZ\x00"}, nil)
	if err == nil || !strings.Contains(err.Error(), "xz") {
		t.Errorf("xz: %v", err)
	}
}

// ADD fetches addresses, and holds them against their checksum.
func TestAddresses(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/a.txt" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, "A")
	}))
	defer server.Close()
	const sum = "sha256:559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd"

	for name, tt := range map[string]struct{ line, want string }{
		"into a folder":   {"ADD URL/a.txt /x/", "x /\nx/a.txt A"},
		"by another name": {"ADD URL/a.txt /b", "b A"},
		"with its sum":    {"ADD --checksum=" + sum + " URL/a.txt /b", "b A"},
		"with another sum": {
			"ADD --checksum=" + strings.Replace(sum, ":5", ":6", 1) + " URL/a.txt /b",
			"error: has the checksum " + sum,
		},
		"no sum":        {"ADD --checksum=sha256:12 URL/a.txt /b", "error: want sha256:"},
		"nothing there": {"ADD URL/b.txt /b", "error: 404"},
		"no name":       {"ADD URL/ /b/", "error: without a file's name"},
	} {
		m, err := try(t, map[string]string{"Dockerfile": nano + strings.Replace(tt.line, "URL", server.URL, 1)}, nil)
		if want, fails := strings.CutPrefix(tt.want, "error: "); fails {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		} else if err != nil || m.list() != tt.want {
			t.Errorf("%s: %v\n%s", name, err, m.list())
		}
	}
}
