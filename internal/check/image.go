package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/check/manifest"
	"mullion.dev/mullion/internal/windows/winver"
)

// Image is what the name of an image says, and its platforms if they are known.
type Image struct {
	// Repository has no docker.io/ and no library/; Tag is "latest" if the name has neither tag nor digest.
	Repository, Tag string
	Digest          bool
	// OS is "" if the name does not say it.
	OS OS
	// Why says from what OS follows.
	Why string
	// Guessed says that it follows from the tag alone, and the image may well have another platform too.
	Guessed bool
	// Build is the Windows build that the tag names, 0 if none.
	Build uint32
	// Base says that the image is one of Microsoft's base images, which have no tag latest.
	Base bool
	// Platforms are the platforms of the image itself, none if they are not known. If known, they decide OS.
	Platforms []Platform
}

// Platform is a platform for which an image has an entry.
type Platform struct {
	OS           OS // windows, linux, or another
	Architecture string
	// Version is the Windows version (os.version); zero if the image does not say it.
	Version winver.Version
}

// String returns the form of messages: linux/arm64, windows/amd64 10.0.20348.2762.
func (p Platform) String() string {
	s := string(p.OS)
	if p.Architecture != "" {
		s += "/" + p.Architecture
	}
	if !p.Version.IsZero() {
		s += " " + p.Version.String()
	}
	return s
}

// Images looks up the platforms of images. It is called from several goroutines.
type Images interface {
	// Platforms returns none if nothing is known of an image. A *LookupError becomes a fault; any other error ends the
	// run.
	Platforms(ctx context.Context, image string) ([]Platform, error)
}

// LookupError says why the platforms of an image are not known. In one input it is reported once for each About.
type LookupError struct {
	About  string // an image, a repository or a registry
	Err    error
	Remedy string
}

func (e *LookupError) Error() string { return e.Err.Error() }

func (e *LookupError) Unwrap() error { return e.Err }

// lookUp looks up the platforms of a pod's images and decides on the pod's system again. For pods placed on Linux it
// does nothing.
func (c *Checker) lookUp(ctx context.Context, r *Result, p *Pod) error {
	if c.options.Images == nil || (p.OS == Linux && p.By.Places()) {
		return nil
	}

	p.images = map[string][]Platform{}
	for _, k := range p.Containers() {
		for _, v := range k.Values("image") {
			ref := v.Node.Text()
			if _, asked := p.images[ref]; asked || ref == "" || strings.Contains(ref, "{{") {
				continue
			}

			platforms, err := c.options.Images.Platforms(ctx, ref)
			p.images[ref] = platforms
			lookup, ok := errors.AsType[*LookupError](err)
			if err != nil && !ok {
				return fmt.Errorf("look up image %q: %w", ref, err)
			}

			if ok {
				r.unasked = append(r.unasked, unasked{lookup.About, manifest.Fault{
					Pos:     v.At.Pos,
					Message: lookup.Error() + "; it is judged by its name",
					Remedy:  lookup.Remedy,
				}})
			}
		}
	}

	p.Evidence = evidence(p)
	p.OS, p.By = decide(p.Evidence)
	return nil
}

// unasked is a fault of a lookup.
type unasked struct {
	about string
	fault manifest.Fault
}

// Image returns what is known of an image that the pod names.
func (p *Pod) Image(ref string) Image {
	i := ParseImage(ref)
	i.Platforms = p.images[ref]
	if len(i.Platforms) == 0 {
		return i
	}

	windows := 0
	var names []string
	for _, one := range i.Platforms {
		if one.OS == Windows {
			windows++
		}
		if len(names) < maxNamed {
			names = append(names, one.String())
		}
	}

	if more := len(i.Platforms) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}

	i.Why = "it has " + strings.Join(names, ", ")
	switch windows {
	case 0:
		i.Guessed = false
		i.OS = Linux // or a third system, which is not Windows either
	case len(i.Platforms):
		i.OS = Windows
	default:
		i.OS = ""
	}

	return i
}

// maxNamed is how many platforms a message names.
const maxNamed = 6

// windowsRepositories returns the repositories whose images are all for Windows.
// https://learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-base-images
func windowsRepositories() []string {
	return []string{
		"mcr.microsoft.com/windows", "mcr.microsoft.com/dotnet/framework",
		"mcr.microsoft.com/mssql/server/windows",
	}
}

// linuxRepositories are official images of Docker Hub that name no Windows platform in their Architectures:
// https://github.com/docker-library/official-images/tree/master/library
func linuxRepositories() []string {
	return []string{
		"alpine", "busybox", "centos", "debian", "elasticsearch", "fedora", "haproxy", "httpd", "kibana", "logstash",
		"mariadb",
		"memcached", "mysql", "nginx", "node", "php", "postgres", "rabbitmq", "redis", "ruby", "ubuntu", "wordpress",
		"zookeeper",
	}
}

var (
	windowsTag = lazyregexp.New(
		`(^|[-_.])(windows|windowsservercore|nanoserver|servercore|ltsc20(16|19|22|25))([-_.]|$)|nanoserver|servercore`)
	linuxTag = lazyregexp.New(
		`(^|[-_.])(linux|alpine[0-9.]*|debian|ubuntu|bookworm|bullseye|buster|trixie|jammy|focal|noble|musl|distroless|ubi[0-9]*)([-_.]|$)`)
	tagPart = lazyregexp.New(`10\.0\.(\d{5})(?:\.\d+)?|[a-z0-9]+`)
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
			i.OS = Windows
			i.Why = "the repository says so"
			i.Base = strings.HasPrefix(i.Repository, "mcr.microsoft.com/windows")
		}
	}

	switch {
	case i.OS != "":
	case windowsTag.MatchString(i.Tag):
		i.OS, i.Why = Windows, "the tag says so"
	case slices.Contains(linuxRepositories(), i.Repository):
		i.OS, i.Why = Linux, "the repository says so"
	case linuxTag.MatchString(i.Tag):
		i.OS = Linux
		i.Why = "the tag says so"
		i.Guessed = true
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
		last := n == len(parts)-1 || (n == len(parts)-2 && parts[n+1] == "amd64")
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
