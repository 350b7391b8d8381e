package rules

import (
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/windows/winver"
)

const (
	imageCategory = "image"
	microsoft     = "https://learn.microsoft.com/virtualization/windowscontainers/"
)

func images() []check.Rule {
	versions := check.Source{
		Title: "Windows container version compatibility",
		URL:   microsoft + "deploy-containers/version-compatibility",
	}

	field := []string{"image"}
	image := func(note func(p *check.Pod, i check.Image) string) func(*check.Pod) []check.Hit {
		return each(func(p *check.Pod, c check.Container) []check.Hit {
			return hits(c.Values("image"), func(ref string) string { return note(p, p.Image(ref)) })
		})
	}

	return []check.Rule{
		{
			ID:       "image-linux",
			Severity: check.Error,
			Category: imageCategory,
			Target:   check.OnContainer,
			Fields:   field,
			Title:    "this image is for Linux only",
			Why:      "a Windows node finds no image for its platform: the pod stays in ImagePullBackOff",
			Remedy:   "use an image with a Windows platform, or keep the pod on Linux by a node selector",
			Source: check.Source{
				Title: "Guide for Running Windows Containers in Kubernetes",
				URL:   userGuide + "#ensuring-os-specific-workloads-land-on-the-appropriate-container-host",
			},
			Func: image(func(_ *check.Pod, i check.Image) string {
				if i.OS == check.Linux && !i.Guessed {
					return i.Why
				}
				return ""
			}),
		},
		{
			ID:       "image-linux-tag",
			Severity: check.Warning,
			Category: imageCategory,
			Target:   check.OnContainer,
			Fields:   field,
			Title:    "this image seems to be for Linux only",
			Why:      "a tag may name a system of Linux and the image have a Windows platform all the same; if it has none, the pod stays in ImagePullBackOff",
			Remedy:   "leave --offline out, so that the registry is asked; or use an image with a Windows platform",
			Source: check.Source{
				Title: "Guide for Running Windows Containers in Kubernetes",
				URL:   userGuide + "#ensuring-os-specific-workloads-land-on-the-appropriate-container-host",
			},
			Func: image(func(_ *check.Pod, i check.Image) string {
				if i.OS == check.Linux && i.Guessed {
					return i.Why
				}
				return ""
			}),
		},
		{
			ID:       "image-build",
			Severity: check.Error,
			Category: imageCategory,
			Target:   check.OnContainer,
			Fields:   append(field, "spec.nodeSelector["+check.WindowsBuildLabel+"]"),
			Source:   versions,
			Title:    "the image is for a Windows build that the nodes do not run",
			Why:      "before Windows Server 2022, host and image must have the same build; since then, a host also runs images of the builds since the long-term release before its own",
			Remedy:   "use the image for the nodes' build, an image for several builds, or select nodes by " + check.WindowsBuildLabel,
			Func: each(func(p *check.Pod, c check.Container) []check.Hit {
				if p.HostProcess(c) { // HostProcess containers run on every build
					return nil
				}
				return hits(c.Values("image"), func(ref string) string {
					if i := p.Image(ref); len(i.Platforms) == 0 {
						return wrongBuild(p, i.Build)
					}
					return "" // the image itself is looked at
				})
			}),
		},
		{
			ID:       "image-no-build",
			Severity: check.Error,
			Category: imageCategory,
			Target:   check.OnContainer,
			Fields:   append(field, "spec.nodeSelector["+check.WindowsBuildLabel+"]"),
			Source:   versions,
			Title:    "the image has no entry for the nodes' Windows build",
			Why:      "the node finds no entry for its build in the image's index, so the pod stays in ImagePullBackOff",
			Remedy:   "build the image for the nodes' builds too, or select nodes by " + check.WindowsBuildLabel,
			Func: each(func(p *check.Pod, c check.Container) []check.Hit {
				if p.HostProcess(c) {
					return nil
				}
				return hits(c.Values("image"), func(ref string) string { return noBuild(p, p.Image(ref)) })
			}),
		},
		{
			ID:       "image-tag-build",
			Severity: check.Warning,
			Category: imageCategory,
			Target:   check.OnContainer,
			Fields:   field,
			Source:   versions,
			Title:    "the tag names a Windows build, but the image is for another one",
			Why:      "somebody who chooses nodes by the tag chooses nodes of the wrong build",
			Remedy:   "correct the tag, or push the image that it names",
			Func:     image(otherThanTag),
		},
		{
			ID:       "image-base-latest",
			Severity: check.Error,
			Category: imageCategory,
			Target:   check.OnContainer,
			Fields:   field,
			Title:    "Microsoft's base images have no tag latest",
			Why:      "each tag stands for one Windows build, so the tag has to name a build",
			Remedy:   "name the build: ltsc2022, ltsc2025",
			Source: check.Source{
				Title: "Windows container base images",
				URL:   microsoft + "manage-containers/container-base-images#image-discovery",
			},
			Func: image(func(_ *check.Pod, i check.Image) string {
				if i.Base && len(i.Platforms) == 0 && i.Tag == "latest" && strings.Count(i.Repository, "/") == 2 {
					return i.Repository
				}
				return ""
			}),
		},
		{
			ID:       "image-pause",
			Severity: check.Warning,
			Category: imageCategory,
			Target:   check.OnContainer,
			Fields:   field,
			Title:    "this pause image does not support the nodes' Windows build",
			Why:      "registry.k8s.io/pause has Windows platforms since 3.4: Windows Server 2022 since 3.6, 2025 since 3.10.2",
			Remedy:   "use registry.k8s.io/pause:3.10.2 or later",
			Source: check.Source{
				Title: "kubernetes: build/pause/CHANGELOG.md",
				URL:   "https://github.com/kubernetes/kubernetes/blob/v1.36.3/build/pause/CHANGELOG.md",
			},
			Func: image(oldPause),
		},
	}
}

// wrongBuild names the builds that do not run an image. Without --windows-version the builds are guesses, so the image
// has to be wrong for all of them.
func wrongBuild(p *check.Pod, build uint32) string {
	if build == 0 {
		return ""
	}
	refuse := refusing(p, func(b winver.Build) bool { return b.Accepts(winver.Version{Major: 10, Build: build}) })
	if refuse == "" {
		return ""
	}
	return fmt.Sprintf("10.0.%d does not run on %s", build, refuse)
}

// noBuild names the builds for which an image has no entry.
func noBuild(p *check.Pod, i check.Image) string {
	entries := windowsOnly(i.Platforms)
	if len(entries) == 0 {
		return "" // image-linux
	}
	refuse := refusing(p, func(b winver.Build) bool {
		return slices.ContainsFunc(entries, func(w check.Platform) bool {
			return b.Accepts(w.Version) && (w.Architecture == "" || w.Architecture == "amd64")
		})
	})
	if refuse == "" {
		return ""
	}
	return fmt.Sprintf("%s; nothing for %s", i.Why, refuse)
}

// otherThanTag names the build in the tag if the image is for other builds.
func otherThanTag(_ *check.Pod, i check.Image) string {
	entries := windowsOnly(i.Platforms)
	if i.Build == 0 || len(entries) == 0 ||
		slices.ContainsFunc(entries, func(w check.Platform) bool {
			return w.Version.IsZero() ||
				w.Version.Build == i.Build
		}) {
		return ""
	}
	return fmt.Sprintf("10.0.%d, and %s", i.Build, i.Why)
}

func windowsOnly(all []check.Platform) (out []check.Platform) {
	for _, one := range all {
		if one.OS == check.Windows {
			out = append(out, one)
		}
	}
	return out
}

// refusing names the builds of a pod's nodes for which accepts returns false, "" if that is no finding.
func refusing(p *check.Pod, accepts func(winver.Build) bool) string {
	var refuse []string
	judged := 0
	for _, b := range p.Options.Windows {
		if pinned := p.Build(); pinned != 0 && pinned != b.Version.Build {
			continue
		}
		judged++
		if !accepts(b) {
			refuse = append(refuse, b.Name)
		}
	}
	if len(refuse) == 0 || (!p.Options.Chosen && p.Build() == 0 && len(refuse) < judged) {
		return ""
	}

	return strings.Join(refuse, ", ")
}

// oldPause compares a pause image's version with the build.
func oldPause(p *check.Pod, i check.Image) string {
	if len(i.Platforms) > 0 {
		return "" // the image itself is looked at
	}
	switch i.Repository {
	case "registry.k8s.io/pause", "k8s.gcr.io/pause", "gcr.io/google_containers/pause",
		"gcr.io/google-containers/pause":
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
