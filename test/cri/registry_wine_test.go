//go:build wine

package cri

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/leases"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/windows/regf"
	"mullion.dev/mullion/internal/windows/sam/samtest"
)

func text(name, value string) regf.Value {
	return regf.Value{
		Name: name,
		Type: 1,
		Data: regf.UTF16(value),
	}
}

// TestRegistryOfImage runs programs on an image whose layers change the registry, as layers of `RUN setx /M` and of
// `RUN reg add` do.
func TestRegistryOfImage(t *testing.T) {
	n := newNode(t)
	const environment = `ControlSet001\Control\Session Manager\Environment`
	first, err := windowsLayer(
		file{"Hives/System_Delta", regf.Build(regf.Key{Path: environment, Values: []regf.Value{
			{Name: "Path", Type: 2, Data: regf.UTF16(`%SystemRoot%\system32;%SystemRoot%;C:\own`)}, text("OWN", "of the image"), text("OTHER", "first"), text("NUMBER_OF_PROCESSORS", "99"),
		}})},
		file{"Hives/Software_Delta", regf.Build(
			regf.Key{Path: `Own\Kept`, Values: []regf.Value{{Name: "Number", Type: 4, Data: []byte{42, 0, 0, 0}}, text("Gone", "x")}},
			regf.Key{Path: `Own\Deleted\Below`, Values: []regf.Value{text("a", "b")}},
			regf.Key{Path: `Wine\Own`, Values: []regf.Value{text("a", "not for an image to say")}},
		)},
		file{"Hives/Sam_Delta", []byte("no hive")})
	if err != nil {
		t.Fatal(err)
	}

	second, err := windowsLayer(
		file{"Hives/System_Delta", regf.Build(regf.Key{Path: environment, Values: []regf.Value{{Name: "OTHER", Tombstone: true}}})},
		file{"Hives/Software_Delta", regf.Build(
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

// TestServicesAndUsersOfImage runs programs on an image whose layers add a service and a driver, as installers do, and
// users' settings, as layers of `RUN setx` do.
func TestServicesAndUsersOfImage(t *testing.T) {
	n := newNode(t)
	exe := filepath.Join(t.TempDir(), "service.exe")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", exe, "../winrun/prog")
	build.Env = append(os.Environ(), "GOOS=windows", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build service: %v\n%s", err, out)
	}

	program, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}

	number := func(name string, value byte) regf.Value {
		return regf.Value{
			Name: name,
			Type: 4,
			Data: []byte{value, 0, 0, 0},
		}
	}

	setting := func(of string) []byte {
		return regf.Build(
			regf.Key{Path: "Environment", Values: []regf.Value{{Name: "OF_USER", Type: 2, Data: regf.UTF16("%USERPROFILE% " + of)}}},
			regf.Key{Path: `Software\Wine`, Values: []regf.Value{text("a", "not for an image to say")}})
	}

	const services = `ControlSet001\Services\`
	first, err := windowsLayer(
		file{"Files/own/service.exe", program},
		file{"Files/own/wait.ps1", []byte(`while (-not ((Get-Content C:\own.log -ErrorAction SilentlyContinue) -match "started")) { Start-Sleep 1 }; Get-Content C:\own.log`)},
		file{"Files/Users/ContainerAdministrator/NTUSER.DAT", setting("administrator")},
		file{"Files/Users/Default/NTUSER.DAT", setting("of a new user")},
		file{"Hives/DefaultUser_Delta", regf.Build(regf.Key{Path: `Software\Own`, Values: []regf.Value{text("a", "of the system")}})},
		file{"Hives/System_Delta", regf.Build(
			regf.Key{Path: services + "own", Values: []regf.Value{
				number("Type", 0x10), number("Start", 3), number("ErrorControl", 1), text("ObjectName", "LocalSystem"), text("DisplayName", "Own service"),
				{Name: "ImagePath", Type: 2, Data: regf.UTF16(`C:\own\service.exe service own C:\own.log s`)},
			}},
			regf.Key{Path: services + "filter", Values: []regf.Value{
				number("Type", 1), number("Start", 1), {Name: "ImagePath", Type: 2, Data: regf.UTF16(`\SystemRoot\filter.sys`)},
			}})})
	if err != nil {
		t.Fatal(err)
	}

	second, err := windowsLayer(file{"Hives/System_Delta", regf.Build(
		regf.Key{Path: services + "own", Values: []regf.Value{number("Start", 2)}})}) // sc config own start= auto
	if err != nil {
		t.Fatal(err)
	}
	const ref = "mullion.test/services:1"
	if err := shared.load(ref, shared.program, first, second); err != nil {
		t.Fatal(err)
	}

	for _, tc := range []struct {
		user, script string
		want         []string
	}{
		{"ContainerAdministrator", `powershell -File C:\own\wait.ps1 & sc qc own & sc query filter & ` +
			`reg query HKCU\Software\Wine & reg query HKU\.Default\Software\Own & echo [%OF_USER%]`, []string{
			`started ["own"]`, "AUTO_START", "Own service", "FAILED 1060", "of the system", `[C:\users\ContainerAdministrator administrator]`,
		}},
		{"ContainerUser", `reg query HKCU\Environment & echo [%OF_USER%]`, []string{`[C:\users\ContainerUser of a new user]`}},
	} {
		pod, config := n.pod(t, strings.ToLower(tc.user))
		id := n.run1(t, pod, config, nil, func(c *runtimeapi.ContainerConfig) {
			c.Image = &runtimeapi.ImageSpec{Image: ref}
			c.Windows = &runtimeapi.WindowsContainerConfig{
				SecurityContext: &runtimeapi.WindowsContainerSecurityContext{RunAsUsername: tc.user},
			}
			c.Command = []string{"cmd", "/c", tc.script}
		})
		n.waitExit(t, id)
		log := n.log(t, id)
		for _, want := range tc.want {
			if !strings.Contains(log, want) {
				t.Errorf("%s: no %q in:\n%s", tc.user, want, log)
			}
		}

		if strings.Contains(log, "not for an image") {
			t.Errorf("%s: a key of Wine's in:\n%s", tc.user, log)
		}
	}
}

// collectAllTheTime has containerd collect what nothing refers to again and again, until the test ends.
func collectAllTheTime(t *testing.T) {
	t.Helper()
	c, err := client.New(shared.socket, client.WithDefaultNamespace(namespace))
	if err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	t.Cleanup(func() {
		stop()
		running.Wait()
		_ = c.Close()
	})
	running.Go(func() {
		for ctx.Err() == nil {
			l, err := c.LeasesService().Create(ctx, leases.WithRandomID())
			if err == nil {
				err = c.LeasesService().Delete(context.WithoutCancel(ctx), l, leases.SynchronousDelete)
			}
			if err != nil && ctx.Err() == nil {
				t.Errorf("collect: %v", err)
				return
			}
		}
	})
}

// TestAccountsOfImage runs programs as accounts that an image's layers add, as layers of `RUN net user NAME /add` do.
func TestAccountsOfImage(t *testing.T) {
	n := newNode(t)
	first, err := windowsLayer(file{"Hives/Sam_Delta", regf.Build(samtest.User("App", 1000), samtest.User("boss", 1001),
		samtest.User("gone", 1002), samtest.Administrators(500, 1001))})
	if err != nil {
		t.Fatal(err)
	}

	second, err := windowsLayer(
		file{"Files/Users/Default/NTUSER.DAT", regf.Build(regf.Key{Path: "Environment", Values: []regf.Value{text("OF_USER", "of a new user")}})},
		file{"Hives/Sam_Delta", regf.Build(regf.Key{Path: samtest.Names + `\gone`, Layer: regf.Tombstone})})
	if err != nil {
		t.Fatal(err)
	}

	const ref = "mullion.test/accounts:1"
	if err := shared.load(ref, shared.program, first, second); err != nil {
		t.Fatal(err)
	}

	collectAllTheTime(t)
	as := func(user string) func(c *runtimeapi.ContainerConfig) {
		return func(c *runtimeapi.ContainerConfig) {
			c.Image = &runtimeapi.ImageSpec{Image: ref}
			c.Windows = &runtimeapi.WindowsContainerConfig{
				SecurityContext: &runtimeapi.WindowsContainerSecurityContext{RunAsUsername: user},
			}
			c.Command = []string{"cmd", "/c", `echo %USERNAME% [%USERPROFILE%] [%TEMP%] [%OF_USER%]& whoami& echo x> %TEMP%\f && type %TEMP%\f & ` +
				`echo x> C:\Windows\f & if exist C:\Windows\f echo administrator`}
		}
	}

	for _, tc := range []struct {
		user, name    string
		administrator bool
	}{{"app", "App", false}, {`.\BOSS`, "boss", true}} {
		pod, config := n.pod(t, tc.name)
		id := n.run1(t, pod, config, nil, as(tc.user))
		n.waitExit(t, id)
		log := n.log(t, id)
		home := `C:\Users\` + tc.name
		for _, want := range []string{
			tc.name + " [" + home + `] [` + home + `\AppData\Local\Temp] [of a new user]`, `\` + strings.ToLower(tc.name), "x",
		} {
			if !strings.Contains(log, want) {
				t.Errorf("%s: no %q in:\n%s", tc.user, want, log)
			}
		}

		if strings.Contains(log, "administrator") != tc.administrator {
			t.Errorf("%s:\n%s", tc.user, log)
		}
	}

	pod, config := n.pod(t, "gone")
	id := n.create(t, pod, config, nil, as("gone"))
	_, err = n.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: id})
	if err == nil || !strings.Contains(err.Error(), "(0x52e)") {
		t.Errorf("start as an account that a layer removes: %v", err)
	}
}
