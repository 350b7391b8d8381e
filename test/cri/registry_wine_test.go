//go:build wine

package cri

import (
	"strings"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/windows/regf"
	"mullion.dev/mullion/internal/windows/regf/regftest"
)

// TestRegistryOfImage runs programs on an image whose layers change the registry, as layers of `RUN setx /M` and of
// `RUN reg add` do.
func TestRegistryOfImage(t *testing.T) {
	n := newNode(t)
	text := func(name, value string) regf.Value {
		return regf.Value{Name: name, Type: 1, Data: regftest.UTF16(value)}
	}
	const environment = `ControlSet001\Control\Session Manager\Environment`
	first, err := windowsLayer(
		file{"Hives/System_Delta", regftest.Build(regf.Key{Path: environment, Values: []regf.Value{
			{Name: "Path", Type: 2, Data: regftest.UTF16(`%SystemRoot%\system32;%SystemRoot%;C:\own`)}, text("OWN", "of the image"), text("OTHER", "first"), text("NUMBER_OF_PROCESSORS", "99"),
		}})},
		file{"Hives/Software_Delta", regftest.Build(
			regf.Key{Path: `Own\Kept`, Values: []regf.Value{{Name: "Number", Type: 4, Data: []byte{42, 0, 0, 0}}, text("Gone", "x")}},
			regf.Key{Path: `Own\Deleted\Below`, Values: []regf.Value{text("a", "b")}},
			regf.Key{Path: `Wine\Own`, Values: []regf.Value{text("a", "not for an image to say")}},
		)},
		file{"Hives/Sam_Delta", []byte("no hive")})
	if err != nil {
		t.Fatal(err)
	}
	second, err := windowsLayer(
		file{"Hives/System_Delta", regftest.Build(regf.Key{Path: environment, Values: []regf.Value{{Name: "OTHER", Tombstone: true}}})},
		file{"Hives/Software_Delta", regftest.Build(
			regf.Key{Path: `Own\Kept`, Values: []regf.Value{{Name: "Gone", Tombstone: true}}},
			regf.Key{Path: `Own\Deleted`, Layer: regf.Tombstone},
		)})
	if err != nil {
		t.Fatal(err)
	}
	broken, err := windowsLayer(file{"Hives/Software_Delta", []byte("regf, but no more")}, file{"Hives/System_Delta", nil})
	if err != nil {
		t.Fatal(err)
	}
	const ref = "mullion.test/registry:1"
	if err := shared.load(ref, shared.program, first, second, broken); err != nil {
		t.Fatal(err)
	}
	pod, config := n.pod(t, "registry")
	id := n.run1(t, pod, config, nil, func(c *runtimeapi.ContainerConfig) {
		c.Image = &runtimeapi.ImageSpec{Image: ref}
		c.Command = []string{"cmd", "/c", `echo %OWN% [%OTHER%] [%PATH%] %NUMBER_OF_PROCESSORS% & ` +
			`reg query HKLM\Software\Own /s & reg query HKLM\Software\Wine /s`}
	})
	n.waitExit(t, id)
	log := n.log(t, id)
	for _, want := range []string{"of the image [%OTHER%] [", `;C:\own`, `HKEY_LOCAL_MACHINE\Software\Own\Kept`, "0x2a"} {
		if !strings.Contains(log, want) {
			t.Errorf("no %q in:\n%s", want, log)
		}
	}
	for _, not := range []string{"Gone", "Deleted", " 99", "not for an image"} {
		if strings.Contains(log, not) {
			t.Errorf("%q in:\n%s", not, log)
		}
	}
}
