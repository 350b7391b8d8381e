package local

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"time"

	"github.com/Microsoft/hnslib"
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"mullion.dev/mullion/internal/windows/winver"
	"mullion.dev/mullion/internal/windows/wire/services"
	"mullion.dev/mullion/internal/winserver"
	"mullion.dev/mullion/internal/winserver/preflight"
)

// poll is the time between two looks.
const poll = time.Second

// Host returns this Windows.
func Host() (winserver.Host, error) {
	return winserver.Host{
		Root:     `C:\`,
		Services: services.Local(),
		Networks: networks{hns: firstAPI{}},
		Firewall: firewall{},
		Routes:   routes{},
		Protect:  protect,
		Trusted:  trusted,
		Version:  programVersion,
		EndPods:  endPods,
		Address:  address,
		Healthy:  healthy,
		Poll:     poll,
	}, nil
}

// firewall is Windows' firewall, by the cmdlets of its module. Names are the agent's own.
type firewall struct{}

// Allow implements winserver.Firewall.
func (firewall) Allow(ctx context.Context, name string, port int) error {
	_ = firewall{}.Remove(ctx, name) // one of a join that was interrupted
	return powershell(ctx, fmt.Sprintf("New-NetFirewallRule -Name %s -DisplayName %s -Direction Inbound -Protocol TCP "+
		"-Action Allow -LocalPort %d | Out-Null", name, name, port))
}

// Remove implements winserver.Firewall.
func (firewall) Remove(ctx context.Context, name string) error {
	return powershell(ctx, "Remove-NetFirewallRule -Name "+name+" -ErrorAction SilentlyContinue")
}

type routes struct{}

// Ensure implements winserver.Routes. A route that another adapter has, as before HNS took its address, gives way.
func (routes) Ensure(ctx context.Context, to netip.Prefix, via netip.Addr) error {
	index, err := interfaceTo(via)
	if err != nil {
		return err
	}
	return powershell(ctx, fmt.Sprintf(`$all = @(Get-NetRoute -DestinationPrefix %[1]s -ErrorAction SilentlyContinue)
if (-not ($all | Where-Object { $_.NextHop -eq '%[3]s' -and $_.ifIndex -eq %[2]d })) {
	Remove-NetRoute -DestinationPrefix %[1]s -NextHop %[3]s -Confirm:$false -ErrorAction SilentlyContinue
	New-NetRoute -DestinationPrefix %[1]s -InterfaceIndex %[2]d -NextHop %[3]s | Out-Null
}`, to, index, via))
}

// Remove implements winserver.Routes.
func (routes) Remove(ctx context.Context, to netip.Prefix, via netip.Addr) error {
	return powershell(ctx, fmt.Sprintf(
		"Remove-NetRoute -DestinationPrefix %s -NextHop %s -Confirm:$false -ErrorAction SilentlyContinue", to, via))
}

func powershell(ctx context.Context, command string) error {
	out, err := exec.CommandContext(ctx, "powershell.exe", "-NoProfile", "-NonInteractive", "-Command",
		"$ErrorActionPreference = 'Stop'; "+command).CombinedOutput()
	if err != nil {
		return fmt.Errorf("PowerShell: %s: %w: %s", command, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// productServer are the product types of servers
// (https://learn.microsoft.com/windows/win32/api/winnt/ns-winnt-osversioninfoexw).
const productWorkstation = 1

// Facts looks at this server.
func Facts(ctx context.Context, a Asked) (preflight.Facts, error) {
	h, err := Host()
	if err != nil {
		return preflight.Facts{}, err
	}

	f := common(ctx, a, h)
	v := windows.RtlGetVersion()
	f.Version = winver.Version{
		Major:    v.MajorVersion,
		Minor:    v.MinorVersion,
		Build:    v.BuildNumber,
		Revision: revision(),
	}

	f.Server = v.ProductType != productWorkstation
	f.Admin = windows.GetCurrentProcessToken().IsElevated()
	if g, err := hnslib.GetHNSGlobals(); err != nil {
		f.HNSError = err.Error()
	} else {
		f.HNS = winver.HNSVersion{Major: g.Version.Major, Minor: g.Version.Minor}
	}

	f.Containers = exists(h.Services, "vmcompute")
	if a.Runtime != "" {
		if err := runtimeAnswers(ctx, a.Runtime); err != nil {
			f.RuntimeError = err.Error()
		}
	}

	root, err := windows.UTF16PtrFromString(`C:\`)
	if err != nil {
		return f, err
	}
	if err := windows.GetDiskFreeSpaceEx(root, &f.Free, nil, nil); err != nil {
		return f, fmt.Errorf("ask for the room on C: %w", err)
	}
	return f, nil
}

func exists(m services.Manager, name string) bool {
	s, err := m.Open(name, services.QueryStatus)
	if err != nil {
		return !errors.Is(err, services.DoesNotExist)
	}
	return s.Close() == nil
}

// revision returns the number of the build's update, which RtlGetVersion does not have; 0 if it cannot be read.
func revision() uint32 {
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, `SOFTWARE\Microsoft\Windows NT\CurrentVersion`,
		registry.QUERY_VALUE)
	if err != nil {
		return 0
	}
	defer k.Close()
	n, _, err := k.GetIntegerValue("UBR")
	if err != nil {
		return 0
	}
	return uint32(n) // it is a DWORD
}
