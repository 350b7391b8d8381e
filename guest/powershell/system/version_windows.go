package system

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// windowsVersion returns Windows' version: major, minor and build.
func windowsVersion() (string, error) {
	v := windows.RtlGetVersion()
	return fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber), nil
}
