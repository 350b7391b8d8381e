package image

import (
	"archive/tar"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// drives makes a system drive, a lower layer and the layer being written.
func drives(t *testing.T) *names {
	t.Helper()
	system := t.TempDir()
	lower := t.TempDir()
	upper := t.TempDir()
	for _, f := range []string{
		filepath.Join(system, "windows/system32/kernel32.dll"), filepath.Join(system, "windows/system32/msvcp140.dll"),
		filepath.Join(system, "users/Public/x"), filepath.Join(lower, "Files/App/Data/x"),
	} {
		if err := os.MkdirAll(filepath.Dir(f), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Symlink("/etc", filepath.Join(lower, "Files/outside")); err != nil {
		t.Fatal(err)
	}
	n, err := newNames(upper, []string{lower}, system)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n
}

func TestLayerEntry(t *testing.T) {
	uid := os.Getuid() // folders are really made, and only root can give them away
	reg := byte(tar.TypeReg)
	dir := byte(tar.TypeDir)
	sym := byte(tar.TypeSymlink)
	hard := byte(tar.TypeLink)
	attr := func(v string) map[string]string {
		return map[string]string{"MSWINDOWS.fileattr": v, "MSWINDOWS.rawsd": "AA=="}
	}

	tests := []struct {
		name string
		in   tar.Header
		want tar.Header // Name "" means left out
	}{
		{"case-of-system", tar.Header{
			Name:     "Files/Windows/System32/Own.DLL",
			Typeflag: reg,
		}, tar.Header{Name: "Files/windows/system32/Own.DLL", Mode: 0o755}},
		{"system-library-stays", tar.Header{Name: "Files/Windows/System32/KERNEL32.dll", Typeflag: reg}, tar.Header{}},
		{"system-library-not-deleted", tar.Header{
			Name:     "Files/Windows/System32/.wh.kernel32.dll",
			Typeflag: reg,
		}, tar.Header{}},
		{"redistributable-replaces", tar.Header{
			Name:     "Files/Windows/System32/MSVCP140.dll",
			Typeflag: reg,
		}, tar.Header{Name: "Files/windows/system32/msvcp140.dll", Mode: 0o755}},
		{"case-of-lower-layer", tar.Header{
			Name:     `Files/APP/data/New`,
			Typeflag: reg,
		}, tar.Header{Name: "Files/App/Data/New", Mode: 0o755}},
		{"back-slashes", tar.Header{
			Name:     `Files\app\data\n`,
			Typeflag: reg,
		}, tar.Header{Name: "Files/App/Data/n", Mode: 0o755}},
		{"whiteout", tar.Header{
			Name:     "Files/app/.wh.DATA",
			Typeflag: reg,
		}, tar.Header{Name: "Files/App/.wh.Data", Mode: 0o755}},
		{"opaque", tar.Header{
			Name:     "Files/app/.wh..wh..opq",
			Typeflag: reg,
		}, tar.Header{Name: "Files/App/.wh..wh..opq", Mode: 0o755}},
		{"opaque-windows", tar.Header{Name: "Files/Windows/.wh..wh..opq", Typeflag: reg}, tar.Header{}},
		{"read-only", tar.Header{
			Name:       "Files/r",
			Typeflag:   reg,
			PAXRecords: attr("33"),
		}, tar.Header{Name: "Files/r", Mode: 0o555}},
		{"hidden", tar.Header{
			Name:       "Files/h",
			Typeflag:   reg,
			PAXRecords: attr("38"),
		}, tar.Header{
			Name:       "Files/h",
			Mode:       0o755,
			PAXRecords: map[string]string{"SCHILY.xattr.user.DOSATTRIB": "0x6"},
		}},
		{"open-folder", tar.Header{Name: "Files/data", Typeflag: dir}, tar.Header{Name: "Files/data", Mode: 0o1777}},
		{"closed-folder", tar.Header{
			Name:     "Files/Program Files/x",
			Typeflag: dir,
		}, tar.Header{Name: "Files/Program Files/x", Mode: 0o755}},
		{"temp", tar.Header{
			Name:     "Files/Windows/Temp",
			Typeflag: dir,
		}, tar.Header{Name: "Files/windows/Temp", Mode: 0o1777}},
		{"no-set-uid", tar.Header{
			Name:     "Files/s",
			Typeflag: reg,
			Mode:     0o6755,
		}, tar.Header{Name: "Files/s", Mode: 0o755}},
		{"no-capabilities", tar.Header{
			Name:       "Files/cap",
			Typeflag:   reg,
			PAXRecords: map[string]string{"SCHILY.xattr.security.capability": "x"},
		}, tar.Header{Name: "Files/cap", Mode: 0o755}},
		{"device", tar.Header{Name: "Files/dev", Typeflag: tar.TypeChar}, tar.Header{}},
		{"utility-vm", tar.Header{Name: "UtilityVM/Files/x", Typeflag: reg}, tar.Header{}},
		{"hive", tar.Header{
			Name:     "Hives/System_Delta",
			Typeflag: reg,
		}, tar.Header{Name: "Hives/System_Delta", Mode: 0o644}},
		{"link-absolute", tar.Header{
			Name:     "Files/l1",
			Typeflag: sym,
			Linkname: `C:\APP\data`,
		}, tar.Header{
			Name:     "Files/l1",
			Mode:     0o755,
			Linkname: "App/Data",
		}},
		{"link-nt", tar.Header{
			Name:     "Files/App/l2",
			Typeflag: sym,
			Linkname: `\??\C:\users\public`,
		}, tar.Header{
			Name:     "Files/App/l2",
			Mode:     0o755,
			Linkname: "../users/Public",
		}},
		{"link-relative", tar.Header{
			Name:     "Files/App/Data/l3",
			Typeflag: sym,
			Linkname: `..\X`,
		}, tar.Header{
			Name:     "Files/App/Data/l3",
			Mode:     0o755,
			Linkname: "../X",
		}},
		{"link-escapes", tar.Header{
			Name:     "Files/App/l4",
			Typeflag: sym,
			Linkname: "../../../../etc/passwd",
		}, tar.Header{
			Name:     "Files/App/l4",
			Mode:     0o755,
			Linkname: "../etc/passwd",
		}},
		{"link-linux-root", tar.Header{
			Name:     "Files/l5",
			Typeflag: sym,
			Linkname: "/etc/passwd",
		}, tar.Header{
			Name:     "Files/l5",
			Mode:     0o755,
			Linkname: "etc/passwd",
		}},
		{"link-other-volume", tar.Header{
			Name:     "Files/l6",
			Typeflag: sym,
			Linkname: `\\?\Volume{1-2}\x`,
		}, tar.Header{
			Name:     "Files/l6",
			Mode:     0o755,
			Linkname: ".mullion-other-volume",
		}},
		{"hard-link", tar.Header{
			Name:     "Files/h1",
			Typeflag: hard,
			Linkname: "Files/APP/DATA/X",
		}, tar.Header{
			Name:     "Files/h1",
			Mode:     0o755,
			Linkname: "Files/App/Data/x",
		}},
		{"dots", tar.Header{
			Name:     "Files/../../Files/App/q",
			Typeflag: reg,
		}, tar.Header{Name: "Files/App/q", Mode: 0o755}},
		{"names-not-read-through-links", tar.Header{
			Name:     "Files/outside/PASSWD",
			Typeflag: reg,
		}, tar.Header{Name: "Files/outside/PASSWD", Mode: 0o755}},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hdr := tt.in
			f := &layerFilter{names: drives(t), owner: uid}
			ok, err := f.entry(&hdr)
			if err != nil {
				t.Fatal(err)
			}
			if ok != (tt.want.Name != "") {
				t.Fatalf("taken: %v (%+v)", ok, hdr)
			}

			if !ok {
				return
			}

			if hdr.Name != tt.want.Name || hdr.Mode != tt.want.Mode || hdr.Linkname != tt.want.Linkname ||
				hdr.Uid != uid ||
				len(hdr.PAXRecords) != len(tt.want.PAXRecords) ||
				hdr.PAXRecords[paxDOSAttrib] != tt.want.PAXRecords[paxDOSAttrib] {
				t.Errorf("got %+v\nwant %+v", hdr, tt.want)
			}
		})
	}
}

func TestLayerRefused(t *testing.T) {
	for _, name := range []string{"etc/passwd", "Files2/x", "../etc/passwd", ".wh.Files"} {
		f := &layerFilter{names: drives(t)}
		if ok, err := f.entry(&tar.Header{Name: name, Typeflag: tar.TypeReg}); err == nil {
			t.Errorf("%q: taken %v", name, ok)
		}
	}

	f := &layerFilter{names: drives(t)}
	if _, err := f.entry(&tar.Header{
		Name:     "Files/Windows/System32/ntdll.dll",
		Typeflag: tar.TypeReg,
	}); !errors.Is(err, errWindowsInside) {
		t.Errorf("ntdll: %v", err)
	}

	if _, err := f.entry(&tar.Header{
		Name:     "Files",
		Typeflag: tar.TypeSymlink,
		Linkname: "x",
	}); err == nil {
		t.Error("a link is taken for the drive")
	}

	if _, err := f.entry(&tar.Header{
		Name:     "Files/x",
		Typeflag: tar.TypeLink,
		Linkname: "../../etc/shadow",
	}); err == nil {
		t.Error("a hard link out of the drive is taken")
	}
}
