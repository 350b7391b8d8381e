package check

import (
	"regexp"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/winver"
)

// Image is what the name of an image says, without asking a registry.
type Image struct {
	// Repository has no docker.io/ and no library/; Tag is "latest" where neither tag nor digest is written.
	Repository, Tag string
	Digest          bool
	// OS is "" where the name does not say it.
	OS OS
	// Why names the part that says it.
	Why string
	// Build is the Windows build that the tag names, 0 if none.
	Build uint32
	// Base: the image is one of Microsoft's base images, which have no tag latest.
	Base bool
}

// windowsRepositories are those whose images are all for Windows.
// https://learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-base-images
func windowsRepositories() []string {
	return []string{"mcr.microsoft.com/windows", "mcr.microsoft.com/dotnet/framework", "mcr.microsoft.com/mssql/server/windows"}
}

// linuxRepositories are official images of Docker Hub that name no Windows platform in their Architectures:
// https://github.com/docker-library/official-images/tree/master/library
func linuxRepositories() []string {
	return []string{
		"alpine", "busybox", "centos", "debian", "elasticsearch", "fedora", "haproxy", "httpd", "kibana", "logstash", "mariadb",
		"memcached", "mysql", "nginx", "node", "php", "postgres", "rabbitmq", "redis", "ruby", "ubuntu", "wordpress", "zookeeper",
	}
}

var (
	windowsTag = regexp.MustCompile(`(^|[-_.])(windows|windowsservercore|nanoserver|servercore|ltsc20(16|19|22|25))([-_.]|$)|nanoserver|servercore`)
	linuxTag   = regexp.MustCompile(`(^|[-_.])(linux|alpine[0-9.]*|debian|ubuntu|bookworm|bullseye|buster|trixie|jammy|focal|noble|musl|distroless|ubi[0-9]*)([-_.]|$)`)
	tagPart    = regexp.MustCompile(`10\.0\.(\d{5})(?:\.\d+)?|[a-z0-9]+`)
)

// ParseImage reads the name of an image.
func ParseImage(ref string) Image {
	var i Image
	name, digest, _ := strings.Cut(strings.ToLower(strings.TrimSpace(ref)), "@")
	i.Digest = digest != ""
	i.Repository = name
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		i.Repository, i.Tag = name[:colon], name[colon+1:]
	} else if !i.Digest {
		i.Tag = "latest"
	}
	for _, prefix := range []string{"docker.io/", "index.docker.io/", "library/"} {
		i.Repository = strings.TrimPrefix(i.Repository, prefix)
	}
	if i.Repository == "" || strings.Contains(ref, "{{") {
		return i
	}
	for _, r := range windowsRepositories() {
		if i.Repository == r || strings.HasPrefix(i.Repository, r+"/") {
			i.OS, i.Why, i.Base = Windows, "the repository", strings.HasPrefix(i.Repository, "mcr.microsoft.com/windows")
		}
	}
	switch {
	case i.OS != "":
	case windowsTag.MatchString(i.Tag):
		i.OS, i.Why = Windows, "the tag"
	case linuxTag.MatchString(i.Tag):
		i.OS, i.Why = Linux, "the tag"
	case slices.Contains(linuxRepositories(), i.Repository):
		i.OS, i.Why = Linux, "the repository"
	}
	if i.OS == Windows {
		i.Build = tagBuild(i.Tag)
	}
	return i
}

// tagBuild finds the build in a tag such as 4.8-windowsservercore-ltsc2022, nanoserver-1809 or 10.0.20348.2762. Short
// names that are also version numbers of other things count only as the last part.
func tagBuild(tag string) uint32 {
	parts := tagPart.FindAllString(tag, -1)
	for n, part := range slices.Backward(parts) {
		last := n == len(parts)-1 || n == len(parts)-2 && parts[n+1] == "amd64"
		year := last && len(part) == 4
		if !year && !strings.HasPrefix(part, "ltsc") && !strings.HasPrefix(part, "10.0.") {
			continue
		}
		if b, err := winver.Lookup(part); err == nil {
			return b.Version.Build
		}
	}
	return 0
}
