package rules

import (
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/check"
)

const volumeCategory = "volume"

func volumes() []check.Rule {
	volume := func(r check.Rule) check.Rule {
		r.Category = volumeCategory
		if r.Target == "" {
			r.Target = check.OnPod
		}
		if r.Source.URL == "" {
			r.Source = volumeStorage()
		}
		return r
	}

	return append([]check.Rule{
		volume(check.Rule{
			ID:       "huge-pages",
			Severity: check.Error,
			Source:   compat("compatibility-v1-pod-spec-containers"),
			Title:    "Windows nodes have no huge pages",
			Why:      "no Windows node offers the volume medium HugePages, so the volume is not set up",
			Remedy:   "use an emptyDir without a medium",
			Match: []check.Match{{
				Path:   "spec.volumes[*].emptyDir.medium",
				Op:     check.Matches,
				Values: []string{"^HugePages"},
			}},
		}),
		volume(check.Rule{
			ID:       "memory-volume",
			Severity: check.Warning,
			Source:   compat("compatibility-v1-pod"),
			Fix:      check.Remove,
			Title:    "the emptyDir is on disk, not in memory",
			Why:      "Windows has no tmpfs, so the medium Memory means nothing",
			Remedy:   "leave the medium out, and do not rely on the content staying off the disk",
			Match: []check.Match{{
				Path:   "spec.volumes[*].emptyDir.medium",
				Op:     check.In,
				Values: []string{"Memory"},
			}},
		}),
		volume(check.Rule{
			ID:       "volume-type",
			Severity: check.Error,
			Title:    "Windows nodes cannot mount this type of volume",
			Why:      "its client exists for Linux only",
			Remedy:   "use SMB through its CSI driver, or another type that Windows has",
			Match: func() []check.Match {
				var ms []check.Match
				for _, t := range []string{
					"nfs", "cephfs", "rbd", "glusterfs", "fc", "iscsi", "cinder", "quobyte",
					"storageos", "scaleIO", "flocker", "portworxVolume",
				} {
					ms = append(ms, present("spec.volumes[*]."+t))
				}
				return ms
			}(),
		}),
		volume(check.Rule{
			ID:       "default-mode",
			Severity: check.Info,
			Fix:      check.Remove,
			Title:    "modes of files do nothing on Windows",
			Why:      "Windows has access lists and no mode bits: every user of the container can read the files",
			Remedy:   "remove the mode; protect the files by the rights of the container's user",
			Match: func() []check.Match {
				var ms []check.Match
				for _, p := range []string{
					"secret.defaultMode", "configMap.defaultMode", "projected.defaultMode", "downwardAPI.defaultMode",
					"secret.items[*].mode", "configMap.items[*].mode",
				} { // the defaults, which the API server writes into every object, say nothing
					ms = append(ms, check.Match{
						Path:   "spec.volumes[*]." + p,
						Op:     check.NotIn,
						Values: []string{"420", "0644", "0o644"},
					})
				}

				return ms
			}(),
		}),
		volume(check.Rule{
			ID:       "sub-path",
			Severity: check.Info,
			Target:   check.OnContainer,
			Title:    "Kubernetes does not list subPath as supported on Windows",
			Why:      "the kubelet tries to mount it, but its documents list it as not supported, and with Docker a single file is not mounted",
			Remedy:   "mount the whole volume in a folder of its own",
			Match:    []check.Match{present("volumeMounts[*].subPath"), present("volumeMounts[*].subPathExpr")},
		}),
	}, slices.Concat(volumeDrivers(), hostPaths(), mountPaths())...)
}

var (
	linuxHostPath = lazyregexp.New(
		`^/($|(proc|sys|dev|etc|run|var/run|usr|lib|lib64|bin|sbin|boot|root|home|mnt|cgroup|var/lib/docker)(/|$))`)
	linuxMount = lazyregexp.New(`^/(proc|sys|dev)(/|$)`)
	socket     = lazyregexp.New(`(\.sock|/docker\.sock|/containerd\.sock)$`)
	reserved   = lazyregexp.New(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)
	drive      = lazyregexp.New(`^[A-Za-z]:`)
)

// hostPaths returns the rules about paths of the host.
func hostPaths() []check.Rule {
	hostPath := check.Source{
		Title: "Volumes: hostPath",
		URL:   "https://kubernetes.io/docs/concepts/storage/volumes/#hostpath",
	}
	return []check.Rule{
		{
			ID:       "host-path-linux",
			Severity: check.Warning,
			Category: volumeCategory,
			Target:   check.OnPod,
			Source:   hostPath,
			Title:    "this host path is a path of Linux",
			Why:      `a Windows node looks for this path on its drive C:, where it does not exist or is something else`,
			Remedy:   `give the path on Windows, such as C:\var\log, or leave the volume out there`,
			Fields:   []string{"spec.volumes[*].hostPath.path"},
			Func: func(p *check.Pod) []check.Hit {
				return hits(p.Values("spec.volumes[*].hostPath.path"), func(path string) string {
					if linuxHostPath.MatchString(path) && !socket.MatchString(path) {
						return path
					}
					return ""
				})
			},
		},
		{
			ID:       "host-path-socket",
			Severity: check.Error,
			Category: volumeCategory,
			Target:   check.OnPod,
			Source:   compat("compatibility-linux-similarities"),
			Title:    "the Unix sockets of Linux hosts do not exist on Windows",
			Why:      "programs that listen on Unix sockets on Linux listen on named pipes on Windows",
			Remedy:   `mount the named pipe: hostPath.path \\.\pipe\containerd-containerd, and the same as mountPath; a HostProcess container opens it without a mount`,
			Fields:   []string{"spec.volumes[*].hostPath.path", "spec.volumes[*].hostPath.type"},
			Func: func(p *check.Pod) []check.Hit {
				var out []check.Hit
				for _, v := range p.Values("spec.volumes[*].hostPath") {
					path := v.Node.Get("path").Text()
					if (socket.MatchString(path) || v.Node.Get("type").Text() == "Socket") &&
						!strings.HasPrefix(path, `\\.\pipe\`) {
						v.At.Note = path
						out = append(out, v.At)
					}
				}

				return out
			},
		},
		{
			ID:       "host-path-device",
			Severity: check.Error,
			Category: volumeCategory,
			Target:   check.OnPod,
			Source:   hostPath,
			Title:    "Windows has no device files",
			Why:      "the kubelet finds no device of this type, so the volume is not set up",
			Remedy:   "use a device plugin, or leave the volume out",
			Match: []check.Match{{
				Path:   "spec.volumes[*].hostPath.type",
				Op:     check.In,
				Values: []string{"BlockDevice", "CharDevice"},
			}},
		},
	}
}

// mountPaths returns the rules about paths of the container.
func mountPaths() []check.Rule {
	return []check.Rule{
		{
			ID:       "mount-path-linux",
			Severity: check.Warning,
			Category: volumeCategory,
			Target:   check.OnContainer,
			Source:   compat("api"),
			Title:    "this mount path has its meaning on Linux only",
			Why:      "Windows has no /proc, /sys and /dev: the volume becomes a plain folder of drive C:",
			Remedy:   "leave the mount out on Windows",
			Match: []check.Match{{
				Path:   "volumeMounts[*].mountPath",
				Op:     check.Matches,
				Values: []string{linuxMount.String()},
			}},
		},
		{
			ID:       "mount-path-form",
			Severity: check.Error,
			Category: volumeCategory,
			Target:   check.OnContainer,
			Source:   compat("api"),
			Title:    "a Windows container cannot have a volume at this path",
			Why:      "a volume must not hide drive C: or Windows' own folder, and its path has to be absolute: from a drive, from \\ or a pipe",
			Remedy:   `mount it in a folder such as C:\data`,
			Fields:   []string{"volumeMounts[*].mountPath"},
			Func: each(func(p *check.Pod, c check.Container) []check.Hit {
				if p.HostProcess(c) { // paths below the container's own folder
					return nil
				}
				return hits(c.Values("volumeMounts[*].mountPath"), badMountPath)
			}),
		},
		{
			ID:       "reserved-file-name",
			Severity: check.Error,
			Category: volumeCategory,
			Target:   check.OnContainer,
			Title:    "Windows cannot have a file of this name",
			Why:      `names of devices, the characters < > : " | ? * and a period or space at the end are not allowed in file names`,
			Remedy:   "choose another name",
			Source: check.Source{
				Title: "Naming Files, Paths, and Namespaces",
				URL:   "https://learn.microsoft.com/windows/win32/fileio/naming-a-file#naming-conventions",
			},
			Fields: append([]string{"volumeMounts[*].mountPath", "volumeMounts[*].subPath"}, itemPaths()...),
			Func: func(p *check.Pod) []check.Hit {
				var vs []check.Value
				for _, c := range p.Containers() {
					vs = append(vs, c.Values("volumeMounts[*].mountPath")...)
					vs = append(vs, c.Values("volumeMounts[*].subPath")...)
				}

				for _, path := range itemPaths() {
					vs = append(vs, p.Values(path)...)
				}

				return hits(vs, badFileName)
			},
		},
		{
			ID:       "file-name-case",
			Severity: check.Warning,
			Category: volumeCategory,
			Target:   check.OnPod,
			Title:    "on Windows this file is the same as an earlier one of its volume",
			Why:      "Windows ignores case in the names of files, so one of the two is lost",
			Remedy:   "rename one of them",
			Source: check.Source{
				Title: "Naming Files, Paths, and Namespaces",
				URL:   "https://learn.microsoft.com/windows/win32/fileio/naming-a-file#naming-conventions",
			},
			Fields: itemPaths(),
			Func: func(p *check.Pod) (all []check.Hit) {
				for _, volume := range p.Values("spec.volumes[*]") {
					seen := map[string]string{}
					for _, of := range itemLists() {
						all = append(all, hits(volume.Values(of+".items[*].path"), func(path string) string {
							name := strings.ToLower(strings.ReplaceAll(path, `\`, "/"))
							before, ok := seen[name]
							seen[name] = path
							if ok && before != path {
								return path + " and " + before
							}
							return ""
						})...)
					}
				}

				return all
			},
		},
	}
}

// itemLists returns the fields of a volume that have items, each of which becomes a file.
func itemLists() []string {
	return []string{
		"configMap", "secret", "downwardAPI", "projected.sources[*].configMap", "projected.sources[*].secret",
		"projected.sources[*].downwardAPI",
	}
}

// itemPaths returns the fields with the paths of such files.
func itemPaths() []string {
	var all []string
	for _, of := range itemLists() {
		all = append(all, "spec.volumes[*]."+of+".items[*].path")
	}
	return all
}

// badMountPath returns what is wrong with a mount path, "" if nothing is.
func badMountPath(path string) string {
	clean := strings.ToLower(strings.TrimRight(strings.ReplaceAll(path, "/", `\`), `\`))
	clean = strings.TrimPrefix(clean, "c:")
	switch {
	case strings.HasPrefix(clean, `\\.\pipe`), strings.HasPrefix(clean, `\\?\`):
		return ""
	case clean == "":
		return fmt.Sprintf("%q hides the whole drive", path)
	case clean == `\windows` || (strings.HasPrefix(clean, `\windows\system32`) &&
		!strings.HasPrefix(clean, `\windows\system32\drivers\etc`)):
		return fmt.Sprintf("%q hides Windows itself", path)
	case drive.MatchString(path) && len(path) > 2 && path[2] != '\\' && path[2] != '/':
		return fmt.Sprintf("%q is relative to the folder that a program happens to be in on its drive", path)
	}

	return ""
}

// badFileName returns the part of a path that Windows refuses, "" if there is none.
func badFileName(path string) string {
	path = strings.ReplaceAll(path, `\`, "/")
	for _, prefix := range []string{"//./pipe/", "//?/"} {
		if strings.HasPrefix(path, prefix) {
			return ""
		}
	}

	if drive.MatchString(path) {
		path = path[2:]
	}

	for part := range strings.SplitSeq(path, "/") {
		switch {
		case part == "" || part == "." || part == "..":
		case reserved.MatchString(part):
			return fmt.Sprintf("%q is the name of a device", part)
		case strings.ContainsAny(part, `<>:"|?*`):
			return fmt.Sprintf("%q", part)
		case slices.Contains([]byte{'.', ' '}, part[len(part)-1]):
			return fmt.Sprintf("%q ends in a period or space", part)
		}
	}

	return ""
}
