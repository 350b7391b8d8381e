package cri

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/windows/wire/localgroup"
)

const hpcID = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func imageWith(dir string) image.Info {
	return image.Info{Config: ocispec.ImageConfig{WorkingDir: dir}}
}

// TestHostProcessWorkingDir has the cases of hcsshim's CreateProcess.
func TestHostProcessWorkingDir(t *testing.T) {
	point := `C:\hpc\` + hpcID + `\`
	for _, tc := range []struct{ asked, image, bound, unbound string }{
		{"", "", `C:\hpc`, point + `hpc`},
		{"", `C:\app`, `C:\app`, point + `app`},
		{`C:\work\dir`, `C:\app`, `C:\work\dir`, point + `work\dir`},
		{`C:\`, "", `C:\`, point},
		{`%CONTAINER_SANDBOX_MOUNT_POINT%\bin`, "", `C:\hpc\bin`, point + `bin`},
		{`$env:CONTAINER_SANDBOX_MOUNT_POINT/bin`, "", `C:\hpc/bin`, strings.TrimSuffix(point, `\`) + `/bin`},
	} {
		for _, bind := range []bool{true, false} {
			want := tc.unbound
			if bind {
				want = tc.bound
			}

			h := &HostProcess{BindFilter: bind}
			if got := h.workingDir(&runtimeapi.ContainerConfig{WorkingDir: tc.asked}, imageWith(tc.image),
				h.mountPoint(hpcID)); got != want {
				t.Errorf("working folder for %q, image %q, bind filter %v: %q, want %q", tc.asked, tc.image, bind, got,
					want)
			}
		}
	}
}

func TestHostProcessAccounts(t *testing.T) {
	h := &HostProcess{
		Name:        "win-1",
		LocalGroups: func() (localgroup.Groups, error) { return localgroup.BuiltIn().Add("Builders", "") },
	}

	for _, tc := range []struct{ asked, name, user, err string }{
		{asked: `NT AUTHORITY\SYSTEM`, name: "SYSTEM", user: "WIN-1$"},
		{asked: `nt authority\Local service`, name: "LOCAL SERVICE", user: "LOCAL SERVICE"},
		{asked: `NT AUTHORITY\NetworkService`, name: "NETWORK SERVICE", user: "WIN-1$"},
		{asked: "builders", name: hpcID[:20], user: hpcID[:20]},
		{asked: "administrators", name: hpcID[:20], user: hpcID[:20]},
		{asked: "", err: "empty username or group name passed"},
		{asked: "ContainerAdministrator", err: "failed to logon user: The user name or password is incorrect."},
		{asked: `NT AUTHORITY\Nobody`, err: "The user name or password is incorrect. (0x52e)"},
		{asked: "SYSTEM", err: "The user name or password is incorrect."},
		{asked: "painters", err: "The user name or password is incorrect. (0x52e)"},
	} {
		a, err := h.account(tc.asked, hpcID)
		if a.name != tc.name || a.user != tc.user {
			t.Errorf("account for %q: %q with USERNAME %q, want %q with %q", tc.asked, a.name, a.user, tc.name, tc.user)
		}
		if (err == nil) != (tc.err == "") || (err != nil && !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("account for %q: %v, want %q", tc.asked, err, tc.err)
		}
	}
}

func TestHostProcessGroupsUnreadable(t *testing.T) {
	h := &HostProcess{
		Name:        "win-1",
		LocalGroups: func() (localgroup.Groups, error) { return nil, errors.New("the file is no list") },
	}
	if a, err := h.account("Administrators", hpcID); err == nil ||
		!strings.Contains(err.Error(), "the file is no list") {
		t.Errorf("%v, %v", a, err)
	}
}

func TestHostProcessProgram(t *testing.T) {
	h := &HostProcess{Name: "win-1", BindFilter: true}
	c := store.Container{
		ID:     hpcID,
		User:   `NT AUTHORITY\Local service`,
		Config: store.ContainerConfig{ContainerConfig: &runtimeapi.ContainerConfig{}},
		Program: []string{
			`%CONTAINER_SANDBOX_MOUNT_POINT%\a.exe`, `--x=$env:CONTAINER_SANDBOX_MOUNT_POINT/y`,
			"%PATH%",
		},
		Env: []string{
			`Path=C:\image;`, `At=%CONTAINER_SANDBOX_MOUNT_POINT%\z`, "UserName=mine",
			`container_sandbox_mount_point=forged`,
		},
	}
	h.adapt(&c, imageWith(""))
	if diff := cmp.Diff([]string{`C:\hpc\a.exe`, `--x=C:\hpc/y`, "%PATH%"}, c.Program); diff != "" {
		t.Errorf("program (-want +got):\n%s", diff)
	}

	const profile = `C:\Windows\ServiceProfiles\LocalService`
	want := []string{
		"USERDOMAIN=NT AUTHORITY", "USERPROFILE=" + profile, "HOMEDRIVE=C:",
		`HOMEPATH=\Windows\ServiceProfiles\LocalService`,
		"APPDATA=" + profile + `\AppData\Roaming`, "LOCALAPPDATA=" + profile + `\AppData\Local`,
		"TEMP=" + profile + `\AppData\Local\Temp`, "TMP=" + profile + `\AppData\Local\Temp`,
		`Path=C:\image;C:\hpc\;C:\WINDOWS\System32\WindowsPowerShell\v1.0\;C:\WINDOWS\System32\Wbem`, `At=C:\hpc\z`, "UserName=mine",
		`CONTAINER_SANDBOX_MOUNT_POINT=C:\hpc\`,
	}

	if diff := cmp.Diff(want, c.Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}
