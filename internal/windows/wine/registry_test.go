package wine

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sampleHive = `WINE REGISTRY Version 2
;; All keys relative to REGISTRY\\Machine

#arch=win64

[Software\\Microsoft\\Windows NT\\CurrentVersion] 1795225046
#time=1dd7958dcf707a0
"CSDVersion"="Service Pack 1"
"CurrentBuild"="7601"
"DigitalProductId"=hex:00,00,00,\
  00,01
"SystemRoot"="C:\\windows"

[Software\\Odd \[name\]\\x\x00fc] 1795225046
#time=1dd7958dcf707a0
@="default"
"say \"hi\""="C:\\a"

[System\\Services\\winebus] 1795225046
#time=1dd7958dcf707a0
"Start"=dword:00000003

[System\\Services\\winebus\\Parameters] 1795225046
#time=1dd7958dcf707a0

[System\\Services\\winebus2] 1795225046
#time=1dd7958dcf707a0
#link
`

func TestEditRegistryUnchanged(t *testing.T) {
	got, err := EditRegistry(sampleHive, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sampleHive, got); diff != "" {
		t.Errorf("text changed (-want +got):\n%s", diff)
	}
}

func TestEditRegistry(t *testing.T) {
	got, err := EditRegistry(sampleHive, []Key{
		{
			Path: `software\MICROSOFT\Windows NT\CurrentVersion`,
			Values: []Value{
				SZ("currentbuild", "20348"), DWORD("UBR", 2762), ExpandSZ("PathName", `%SystemRoot%\x`),
				SZ("DigitalProductId", "short"),
			},
			Drop: []string{"csdversion", "not-there"},
		},
		{Path: "Software\\Odd [name]\\x\u00fc", Values: []Value{SZ("", `new "default"`), SZ(`Say "HI"`, "ü𝄞")}},
		{Path: `System\Services\winebus`, Delete: true},
		{Path: `Software\New`, Values: []Value{SZ("a", "b")}},
		{Path: `Software\New`, Values: []Value{SZ("a", "c"), MultiSZ("list", `x\y`, "z"), MultiSZ("none")}},
		{Path: `System\Linked`, Link: `\R\é𝄞`},
	})
	if err != nil {
		t.Fatal(err)
	}

	want := `WINE REGISTRY Version 2
;; All keys relative to REGISTRY\\Machine

#arch=win64

[Software\\Microsoft\\Windows NT\\CurrentVersion] 1795225046
#time=1dd7958dcf707a0
"currentbuild"="20348"
"DigitalProductId"="short"
"SystemRoot"="C:\\windows"
"UBR"=dword:00000aca
"PathName"=str(2):"%SystemRoot%\\x"

[Software\\Odd \[name\]\\x\x00fc] 1795225046
#time=1dd7958dcf707a0
@="new \"default\""
"Say \"HI\""="\x00fc\xd834\xdd1e"

[System\\Services\\winebus2] 1795225046
#time=1dd7958dcf707a0
#link

[Software\\New] 0
"a"="c"
"list"=str(7):"x\\y\0z\0"
"none"=str(7):""

[System\\Linked] 0
#link
"SymbolicLinkValue"=hex(6):5c,00,52,00,5c,00,e9,00,34,d8,1e,dd
`

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEditRegistryRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "version 1": "WINE REGISTRY Version 1\n", "regedit": "REGEDIT4\n",
		"open key": "WINE REGISTRY Version 2\n\n[Software\n",
	} {
		if _, err := EditRegistry(text, nil); err == nil || !strings.Contains(err.Error(), "parse registry") {
			t.Errorf("%s: err = %v", name, err)
		}
	}
}

// TestLoaderArgv: the preloader begins where the loader would begin anew by it, and the loader knows it then.
func TestLoaderArgv(t *testing.T) {
	const loader = "/usr/lib/wine/wine64"
	for preloader, want := range map[string][]string{
		"":                    {loader},
		loader + "-preloader": {loader + "-preloader", loader},
		"/usr/lib/wine/x86_64-unix/wine-preloader": {loader},
	} {
		s := &System{Install: Install{Loader: loader, Preloader: preloader}}
		if diff := cmp.Diff(want, s.LoaderArgv()); diff != "" {
			t.Errorf("preloader %q: (-want +got):\n%s", preloader, diff)
		}
		for _, env := range [][]string{s.ContainerEnv(), s.HostEnv("/prefix")} {
			if slices.Contains(env, "WINELOADERNOEXEC=1") != (len(want) == 2) {
				t.Errorf("preloader %q: %q", preloader, env)
			}
		}
	}
}

func TestLaterEnv(t *testing.T) {
	first := (&System{Install: Install{Loader: "/usr/lib/wine/wine64"}}).ContainerEnv()
	given := slices.Clone(first)
	later := LaterEnv(first)
	if !slices.Contains(first, "TZ=UTC0") || !slices.Contains(later, "TZ=<+0430>-4:30") || len(first) != len(later) {
		t.Errorf("LaterEnv(%q) = %q", first, later)
	}
	if diff := cmp.Diff(given, first); diff != "" {
		t.Errorf("the environment of the first program is another then:\n%s", diff)
	}

	own := []string{"TZ=Europe/Berlin", "A=1"}
	if diff := cmp.Diff(own, LaterEnv(own)); diff != "" {
		t.Errorf("another zone than the server's is changed:\n%s", diff)
	}
}
