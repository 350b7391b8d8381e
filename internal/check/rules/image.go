package rules

import (
	"fmt"
	"strings"

	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/winver"
)

const (
	imageCategory = "image"
	microsoft     = "https://learn.microsoft.com/virtualization/windowscontainers/"
)

func images() []check.Rule {
	versions := check.Source{Title: "Windows container version compatibility", URL: microsoft + "deploy-containers/version-compatibility"}
	field := []string{"image"}
	image := func(note func(p *check.Pod, i check.Image) string) func(*check.Pod) []check.Hit {
		return each(func(p *check.Pod, c check.Container) []check.Hit {
			return hits(c.Values("image"), func(ref string) string { return note(p, check.ParseImage(ref)) })
		})
	}
	return []check.Rule{
		{
			ID: "image-linux", Severity: check.Error, Category: imageCategory, Target: check.OnContainer, Fields: field,
			Title: "this image is for Linux only", Why: "a Windows node finds no image for its platform: the pod stays in ImagePullBackOff", Remedy: "use an image with a Windows platform, or keep the pod on Linux by a node selector",
			Source: check.Source{Title: "Guide for Running Windows Containers in Kubernetes", URL: userGuide + "#ensuring-os-specific-workloads-land-on-the-appropriate-container-host"},
			Func: image(func(_ *check.Pod, i check.Image) string {
				if i.OS == check.Linux {
					return i.Why + " says so"
				}
				return ""
			}),
		},
		{
			ID: "image-build", Severity: check.Error, Category: imageCategory, Target: check.OnContainer, Fields: append(field, "spec.nodeSelector["+check.WindowsBuildLabel+"]"), Source: versions,
			Title: "the image is of a Windows build that nodes do not run", Why: "before Windows Server 2022 the builds of host and image have to be equal; from then on a host also runs the builds since the long-term release before its own",
			Remedy: "use the image for the nodes' build, an image for several builds, or select nodes by " + check.WindowsBuildLabel,
			Func: each(func(p *check.Pod, c check.Container) []check.Hit {
				if p.HostProcess(c) { // which run on every build
					return nil
				}
				return hits(c.Values("image"), func(ref string) string { return wrongBuild(p, check.ParseImage(ref).Build) })
			}),
		},
		{
			ID: "image-base-latest", Severity: check.Error, Category: imageCategory, Target: check.OnContainer, Fields: field,
			Title: "Microsoft's base images have no tag latest", Why: "each tag is of one Windows build, so a build has to be named", Remedy: "name the build: ltsc2022, ltsc2025",
			Source: check.Source{Title: "Windows container base images", URL: microsoft + "manage-containers/container-base-images#image-discovery"},
			Func: image(func(_ *check.Pod, i check.Image) string {
				if i.Base && i.Tag == "latest" && strings.Count(i.Repository, "/") == 2 {
					return i.Repository
				}
				return ""
			}),
		},
		{
			ID: "image-pause", Severity: check.Warning, Category: imageCategory, Target: check.OnContainer, Fields: field,
			Title: "this pause image has no layer for the Windows build", Why: "registry.k8s.io/pause has Windows platforms since 3.4: Windows Server 2022 since 3.6, 2025 since 3.10.2", Remedy: "use registry.k8s.io/pause:3.10.2 or later",
			Source: check.Source{Title: "kubernetes: build/pause/CHANGELOG.md", URL: "https://github.com/kubernetes/kubernetes/blob/v1.36.3/build/pause/CHANGELOG.md"},
			Func:   image(oldPause),
		},
	}
}

// wrongBuild says which builds do not run an image. Without --windows-version the builds are guesses, so it has to be
// wrong for all of them.
func wrongBuild(p *check.Pod, build uint32) string {
	if build == 0 {
		return ""
	}
	image := winver.Version{Major: 10, Build: build}
	var refuse []string
	judged := 0
	for _, b := range p.Options.Windows {
		if pinned := p.Build(); pinned != 0 && pinned != b.Version.Build {
			continue
		}
		judged++
		if !b.Accepts(image) {
			refuse = append(refuse, b.Name)
		}
	}
	if len(refuse) == 0 || !p.Options.Chosen && p.Build() == 0 && len(refuse) < judged {
		return ""
	}
	return fmt.Sprintf("10.0.%d does not run on %s", build, strings.Join(refuse, ", "))
}

// oldPause compares a pause image's version with the build.
func oldPause(p *check.Pod, i check.Image) string {
	switch i.Repository {
	case "registry.k8s.io/pause", "k8s.gcr.io/pause", "gcr.io/google_containers/pause", "gcr.io/google-containers/pause":
	default:
		return ""
	}
	var minor, patch int
	if n, _ := fmt.Sscanf(i.Tag, "3.%d.%d", &minor, &patch); n == 0 {
		return ""
	}
	var lacks []string
	for _, b := range p.Options.Windows {
		min, ok := map[string]int{"ltsc2019": 400, "ltsc2022": 600, "ltsc2025": 1002}[b.Name]
		if pinned := p.Build(); ok && minor*100+patch < min && (pinned == 0 || pinned == b.Version.Build) {
			lacks = append(lacks, b.Name)
		}
	}
	if len(lacks) == 0 {
		return ""
	}
	return i.Tag + " lacks " + strings.Join(lacks, ", ")
}
