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
		spec, _, ok := standIn(ref)
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
	if spec, files, ok := standIn("docker.io/microsoft/iis:latest"); !ok || len(spec.OSVersions) > 0 || len(files) == 0 {
		t.Errorf("the image of IIS without a build is %+v with %d files", spec, len(files))
	}
	if spec, _, _ := standIn("mcr.microsoft.com/windows/nanoserver:ltsc2025"); spec.User != "ContainerUser" {
		t.Errorf("nanoserver's user is %q", spec.User)
	}
}

const hexDigits = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestUnreachable(t *testing.T) {
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
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
