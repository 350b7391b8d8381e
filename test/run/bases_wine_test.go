//go:build wine

package run

import (
	"strings"
	"testing"
)

// TestBasesThatPeopleName runs a program in each of Microsoft's images that have a stand-in, by the tags that people
// write, where their registry cannot be reached.
func TestBasesThatPeopleName(t *testing.T) {
	r := theRoom(t)
	for ref, version := range map[string]string{
		"windows/nanoserver:ltsc2022":                                      "ltsc2022",
		"windows/nanoserver:1809":                                          "ltsc2019",
		"windows/servercore:ltsc2025":                                      "ltsc2025",
		"windows/servercore:10.0.17763.5936":                               "ltsc2019",
		"windows/servercore/iis:windowsservercore-ltsc2022":                "ltsc2022",
		"windows/server:ltsc2022-amd64":                                    "ltsc2022",
		"powershell:lts-nanoserver-ltsc2022":                               "ltsc2022",
		"dotnet/runtime:9.0-nanoserver-ltsc2022":                           "ltsc2022",
		"dotnet/aspnet:8.0-nanoserver-ltsc2025":                            "ltsc2025",
		"dotnet/framework/runtime:4.8-windowsservercore-ltsc2022":          "ltsc2022",
		"oss/kubernetes/windows-host-process-containers-base-image:v1.0.0": "ltsc2025",
	} {
		got := r.run(t, "", "--rm", "--windows-version", version, "--entrypoint", "cmd", "mcr.microsoft.com/"+ref,
			"/c", "echo", "here")
		if got.code != 0 || strings.TrimSpace(got.out) != "here" {
			t.Errorf("%s: %+v", ref, got)
		}
	}
}
