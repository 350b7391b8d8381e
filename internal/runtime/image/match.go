package image

import (
	"fmt"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/containerd/platforms"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"mullion.dev/mullion/internal/windows/winver"
)

// MismatchMessage is Windows' error for a container whose build cannot run on the host (HCS_E_IMAGE_MISMATCH,
// https://learn.microsoft.com/virtualization/api/hcs/reference/hcshresult).
const MismatchMessage = "The container operating system does not match the host operating system."

// MismatchCode is the HRESULT that goes with MismatchMessage.
const MismatchCode = 0xc0370101

// MismatchError says that an image's Windows build cannot run on the node. Its text is that of containerd's shim on
// Windows, as pod events show it (https://github.com/containerd/nerdctl/issues/751: "failed to create shim:
// hcs::CreateComputeSystem 29e9…: The container operating system does not match the host operating system.: unknown"),
// with the code and the two versions added.
type MismatchError struct {
	// Container is the container's ID; empty if no container is being made.
	Container string
	// Image and Node are the two Windows versions.
	Image, Node string
}

// Error returns Windows' own words.
func (e *MismatchError) Error() string {
	call := strings.TrimSpace("hcs::CreateComputeSystem " + e.Container)
	return fmt.Sprintf("%s: %s (0x%x: image %s, node %s)", call, MismatchMessage, uint32(MismatchCode), e.Image, e.Node)
}

// Unwrap classes the error as a failed precondition.
func (e *MismatchError) Unwrap() error { return errdefs.ErrFailedPrecondition }

// SystemError says that an image has no manifest for Windows.
type SystemError struct {
	// Node is the node's platform, Offered are the image's.
	Node    string
	Offered []string
}

func (e *SystemError) Error() string {
	return fmt.Sprintf("no match for platform in manifest: %v: the node is %s, the image has %v", errdefs.ErrNotFound,
		e.Node, e.Offered)
}

// Unwrap classes the error as something that is not there.
func (e *SystemError) Unwrap() error { return errdefs.ErrNotFound }

// Linux reports whether the image is one for Linux.
func (e *SystemError) Linux() bool {
	return len(e.Offered) > 0 && strings.HasPrefix(e.Offered[0], "linux")
}

// OtherProcessor reports whether the image is one for Windows, but for none of amd64.
func (e *SystemError) OtherProcessor() bool {
	windows := func(name string) bool { return strings.HasPrefix(name, "windows") }
	amd64 := func(name string) bool { return strings.Contains(name, "/amd64") }
	return slices.ContainsFunc(e.Offered, windows) &&
		!slices.ContainsFunc(e.Offered, func(name string) bool { return windows(name) && amd64(name) })
}

// matcher chooses among the manifests of an index as containerd's platforms.Default does on a Windows machine
// (https://github.com/containerd/platforms/blob/v1.0.0-rc.5/defaults_windows.go): only windows/amd64, only a build that
// the node's accepts, and of those the highest os.version, compared as text.
type matcher struct {
	platforms.Matcher
}

// Less orders the better platform first.
func (m matcher) Less(a, b ocispec.Platform) bool {
	inA, inB := m.Match(a), m.Match(b)
	if inA && inB {
		return a.OSVersion > b.OSVersion
	}
	return inA && !inB
}

// newMatcher returns the matcher of a node. With Process isolation the build rule is containerd's own: the same build
// before 20348; from 20348 (Server 2022) on, whose kernel interface is stable, also the builds back to the LTSC release
// before the host's own
// (https://github.com/containerd/platforms/blob/v1.0.0-rc.5/platform_windows_compat.go, after
// https://learn.microsoft.com/virtualization/windowscontainers/deploy-containers/version-compatibility).
// With HyperV isolation it is any build up to the node's, the table of that same page.
func newMatcher(osVersion string, iso Isolation) matcher {
	if iso == anyBuild {
		return matcher{platforms.All}
	}
	if iso == HyperV {
		return matcher{hyperVMatcher(osVersion)}
	}
	return matcher{platforms.NewMatcher(ocispec.Platform{
		OS:           "windows",
		Architecture: "amd64",
		OSVersion:    osVersion,
	})}
}

// hyperVMatcher accepts windows/amd64 of any build up to its own.
type hyperVMatcher string

// Match reports whether an image of platform p can run.
func (h hyperVMatcher) Match(p ocispec.Platform) bool {
	norm := platforms.Normalize(p)
	norm.OSFeatures = slices.DeleteFunc(slices.Clone(norm.OSFeatures), func(f string) bool { return f == "win32k" })
	if norm.OS != "windows" || norm.Architecture != "amd64" || norm.Variant != "" || len(norm.OSFeatures) != 0 {
		return false
	}
	if p.OSVersion == "" || h == "" {
		return true
	}

	host, err := parseVersion(string(h))
	if err != nil {
		return false
	}
	guest, err := parseVersion(p.OSVersion)
	if err != nil {
		return false
	}

	return host.Major == guest.Major && host.Minor == guest.Minor && guest.Build <= host.Build
}

func parseVersion(s string) (winver.Version, error) { return winver.ParseVersion(s) }

// checkPlatform returns an error if no container of an image with platform p can be made on the node.
func checkPlatform(p ocispec.Platform, node string, iso Isolation) error {
	if newMatcher(node, iso).Match(p) {
		return nil
	}
	if p.OS != "windows" || p.Architecture != "amd64" {
		return noMatch([]ocispec.Platform{p}, node, iso)
	}
	return &MismatchError{Image: p.OSVersion, Node: node}
}

// noMatch returns the error for a reference without a manifest that the node can use. It begins with containerd's words
// (https://github.com/containerd/containerd/blob/v2.4.2/core/images/handlers.go, LimitManifests; as a pod event:
// https://github.com/containerd/containerd/issues/6989); if Windows images of other builds are offered, Windows' own
// words follow.
func noMatch(offered []ocispec.Platform, node string, iso Isolation) error {
	var names []string
	builds := false
	var first string
	for _, p := range offered {
		if p.OS == "" || p.OS == "unknown" {
			continue // attestations
		}
		if p.OS == "windows" && p.Architecture == "amd64" && !builds {
			builds, first = true, p.OSVersion
		}
		if name := platforms.FormatAll(p); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}

	want := platforms.FormatAll(ocispec.Platform{
		OS:           "windows",
		Architecture: "amd64",
		OSVersion:    node,
	})
	if iso == HyperV {
		want += " or older"
	}

	if builds {
		return fmt.Errorf("%w: %w", &SystemError{Node: want, Offered: names}, &MismatchError{
			Image: first,
			Node:  node,
		})
	}

	return &SystemError{Node: want, Offered: names}
}
