package image

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStandIn(t *testing.T) {
	for ref, build := range map[string]string{
		"mcr.microsoft.com/windows/servercore:ltsc2019":                       "ltsc2019",
		"mcr.microsoft.com/windows/nanoserver:ltsc2022-amd64":                 "ltsc2022",
		"mcr.microsoft.com/windows/nanoserver:1809":                           "ltsc2019",
		"mcr.microsoft.com/windows/server:10.0.26100.1742":                    "ltsc2025",
		"mcr.microsoft.com/windows:2004":                                      "2004",
		"docker.io/microsoft/nanoserver:1709":                                 "1709",
		"mcr.microsoft.com/windows/servercore:latest":                         "",
		"mcr.microsoft.com/windows/servercore/iis:ltsc2019":                   "",
		"mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2019": "ltsc2019",
		"docker.io/microsoft/iis:windowsservercore-1709":                      "1709",
		"mcr.microsoft.com/windows/servercore:windowsservercore-ltsc2019":     "",
		"mcr.microsoft.com/windows/servercore:ltsc2016":                       "ltsc2016",
		"docker.io/windows/servercore:ltsc2019":                               "",
		"mcr.microsoft.com:8443/windows/servercore:ltsc2019":                  "",
		"mcr.microsoft.com/windows/servercore@sha256:" + hexDigits:            "",
		"mcr.microsoft.com/windows/servercore:ltsc2019@sha256:" + hexDigits:   "",
		"servercore": "", "": "",
	} {
		spec, _, ok := StandIn(ref)
		var got string
		if ok {
			got = strings.Join(spec.OSVersions, ",")
			if diff := cmp.Diff([]string{ref}, spec.Tags); diff != "" {
				t.Errorf("%s: %s", ref, diff)
			}
		}
		if got != build {
			t.Errorf("%s: a stand-in of %q, want %q", ref, got, build)
		}
	}

	for ref, want := range map[string]string{ // builds and user
		"mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image:v1.0.0": ",",
		"mcr.microsoft.com/powershell:lts-nanoserver-ltsc2022":                               "ltsc2022,ContainerUser",
		"mcr.microsoft.com/powershell:latest":                                                ",ContainerUser",
		"mcr.microsoft.com/powershell:7.4-ubuntu-22.04":                                      "none",
		"mcr.microsoft.com/dotnet/runtime:8.0-nanoserver-1809-amd64":                         "ltsc2019,ContainerUser",
		"mcr.microsoft.com/dotnet/aspnet:10.0":                                               ",ContainerUser",
		"mcr.microsoft.com/dotnet/sdk:9.0-windowsservercore-ltsc2025":                        "ltsc2025,",
		"mcr.microsoft.com/dotnet/sdk:10.0-preview.7-nanoserver-ltsc2025":                    "ltsc2025,ContainerUser",
		"mcr.microsoft.com/dotnet/sdk:8.0-alpine3.20":                                        "none",
		"mcr.microsoft.com/dotnet/sdk:8.0-nanoserver-2099":                                   "none",
		"mcr.microsoft.com/dotnet/framework/aspnet:4.8.1-windowsservercore-ltsc2022":         "ltsc2022,",
		"mcr.microsoft.com/dotnet/samples:aspnetapp":                                         "none",
	} {
		got := "none"
		if spec, _, ok := StandIn(ref); ok {
			got = strings.Join(spec.OSVersions, " ") + "," + spec.User
			if lacks := spec.Labels[LabelLacks]; (lacks == "") != strings.Contains(ref, "base-image") {
				t.Errorf("%s: said to lack %q", ref, lacks)
			}
		}
		if got != want {
			t.Errorf("%s: a stand-in of %q, want %q", ref, got, want)
		}
	}

	if spec, files, ok := StandIn("docker.io/microsoft/iis:latest"); !ok || len(spec.OSVersions) > 0 || len(files) == 0 {
		t.Errorf("the image of IIS without a build is %+v with %d files", spec, len(files))
	}
	if spec, _, _ := StandIn("mcr.microsoft.com/windows/nanoserver:ltsc2025"); spec.User != "ContainerUser" {
		t.Errorf("nanoserver's user is %q", spec.User)
	}
}

const hexDigits = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestUnreachable(t *testing.T) {
	dial := &net.OpError{
		Op:  "dial",
		Net: "tcp",
		Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
	}

	for _, tt := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("do request: %w", &url.Error{Op: "Head", Err: dial}), true},
		{&url.Error{Op: "Head", Err: &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host"}}}, true},
		{&url.Error{Op: "Head", Err: &net.OpError{Op: "read", Err: syscall.ECONNRESET}}, false},
		{fmt.Errorf("resolve: %w for 10s", errSilent), true},
		{errors.New("unexpected status: 403 Forbidden"), false},
		{nil, false},
	} {
		if got := unreachable(tt.err); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.err, got, tt.want)
		}
	}
}
