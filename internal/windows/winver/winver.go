// Package winver owns the catalogue of Windows Server builds: the numbers each one answers to programs, the version of
// its Host Networking Service, what Kubernetes can do on it, and which container images it accepts. The catalogue is
// data (see builds.go); the host, the node's agent, the checker and the documents read it. The package holds no state
// and touches nothing outside itself.
package winver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Build is one Windows Server release at one servicing level.
type Build struct {
	// Name is the short name used in configuration and in image tags, for example "ltsc2022".
	Name string
	// Aliases are other accepted spellings, for example "2022".
	Aliases []string
	// Version is what RtlGetVersion and the registry answer, with the servicing revision (UBR) as the fourth part.
	Version Version
	// ProductName is the registry value of that name, for example "Windows Server 2022 Datacenter".
	ProductName string
	// ReleaseID is the registry value ReleaseId. It stays "2009" from 20H2 on.
	ReleaseID string
	// DisplayVersion is the registry value of that name, empty before 20H2, where Windows does not have it.
	DisplayVersion string
	// BuildLab is the branch that the registry value BuildLab begins with.
	BuildLab string
	// HNS is what GET /globals/version answers. Zero: the build does not answer it (before 1803).
	HNS HNSVersion
	// Source says where the numbers come from.
	Source string
}

// Version is a Windows version: 10.0.<build>.<revision>.
type Version struct {
	Major, Minor, Build, Revision uint32
}

// HNSVersion is the version of the Host Networking Service, which programs use to decide which features there are.
type HNSVersion struct {
	Major, Minor int
}

// String returns the four-part form used as os.version in image manifests, for example "10.0.20348.2762".
func (v Version) String() string {
	return fmt.Sprintf("%d.%d.%d.%d", v.Major, v.Minor, v.Build, v.Revision)
}

// IsZero reports whether v is unset.
func (v Version) IsZero() bool { return v == Version{} }

// ParseVersion reads the form 10.0.<build>[.<revision>].
func ParseVersion(s string) (Version, error) {
	parts := strings.Split(s, ".")
	if len(parts) != 3 && len(parts) != 4 {
		return Version{}, fmt.Errorf("parse windows version %q: want the form 10.0.20348 or 10.0.20348.2762", s)
	}

	var n [4]uint32
	for i, p := range parts {
		u, err := strconv.ParseUint(p, 10, 32)
		if err != nil {
			return Version{}, fmt.Errorf("parse windows version %q: part %d: %w", s, i+1, err)
		}
		n[i] = uint32(u)
	}

	return Version{
		Major:    n[0],
		Minor:    n[1],
		Build:    n[2],
		Revision: n[3],
	}, nil
}

// Lookup finds a build by name, alias (both without regard to case), build number ("20348") or version
// ("10.0.20348", "10.0.20348.2762": the revision is not compared).
func Lookup(name string) (Build, error) {
	want := strings.ToLower(strings.TrimSpace(name))
	number := want
	if v, err := ParseVersion(want); err == nil && v.Major == 10 && v.Minor == 0 {
		number = strconv.FormatUint(uint64(v.Build), 10)
	}

	for _, b := range All() {
		if b.Name == want || strconv.FormatUint(uint64(b.Version.Build), 10) == number {
			return b, nil
		}
		if slices.Contains(b.Aliases, want) {
			return b, nil
		}
	}

	return Build{}, fmt.Errorf("look up windows version %q: not known; known are %s", name, strings.Join(Names(), ", "))
}

// Names lists the short names, oldest first.
func Names() []string {
	var names []string
	for _, b := range All() {
		names = append(names, b.Name)
	}
	return names
}

// Default returns the build used where none is asked for.
func Default() string { return "ltsc2025" }

// stableABI lists the long-term releases, oldest first, whose containers newer hosts still run.
// https://learn.microsoft.com/virtualization/windowscontainers/deploy-containers/version-compatibility
func stableABI() []uint32 { return []uint32{20348, 26100} }

// Accepts reports whether a process-isolated container of an image with this os.version runs on the build. Before
// Windows Server 2022 the build numbers must be equal; from then on a host runs every build from the last long-term
// release before its own up to its own. The revision is never compared. An unset version is accepted: the image does
// not say what it was made for.
func (b Build) Accepts(image Version) bool {
	if image.IsZero() {
		return true
	}
	if image.Major != b.Version.Major || image.Minor != b.Version.Minor {
		return false
	}

	oldest := b.Version.Build
	for _, lts := range stableABI() {
		if lts < b.Version.Build {
			oldest = lts
		}
	}

	return oldest <= image.Build && image.Build <= b.Version.Build
}
