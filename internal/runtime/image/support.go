package image

import "mullion.dev/mullion/internal/base/support"

// SupportRows lists how much of Windows' handling of images is supported.
func SupportRows() []support.Row {
	const (
		versions = "https://learn.microsoft.com/virtualization/windowscontainers/deploy-containers/version-compatibility"
		layers   = "https://github.com/opencontainers/image-spec/blob/v1.1.1/layer.md"
		tarForm  = "https://github.com/microsoft/go-winio/blob/v0.6.2/backuptar/tar.go"
	)

	row := func(name string, level support.Level, note, ref string) support.Row {
		return support.Row{
			Area:  "Images",
			Name:  name,
			Level: level,
			Note:  note,
			Ref:   ref,
		}
	}

	return []support.Row{
		row("selection by os.version", support.Supported, "",
			"https://github.com/containerd/platforms/blob/v1.0.0-rc.5/platform_windows_compat.go"),
		row("build mismatch (0xc0370101)", support.Supported, "", versions),
		row("Hyper-V isolation", support.Partly,
			"a pod of runhcs-wcow-hypervisor has a Linux kernel of its own, in a virtual machine, and may have an image of an older build; without QEMU and a kernel for guests (`make hyperv`) it is refused with Windows' error; with the annotation mullion.dev/isolation: process it runs in process isolation", versions),
		row("registries: HTTPS, hosts.toml, basic and token authentication", support.Supported,
			"mirrors, credentials and authorities are those of registries in the cluster's description, and then those of the machine's /etc/containerd/certs.d and /etc/docker/certs.d",
			"https://github.com/containerd/containerd/blob/v2.4.2/docs/hosts.md"),
		row("registries by an HTTP proxy", support.Supported,
			"that of a Windows host's own HTTP_PROXY, HTTPS_PROXY and NO_PROXY, which SetEnvironmentVariable and setx /M set for the machine, half a minute later; for each that is not set that of the environment in which the cluster is brought up, or proxy in its description. It is for pulling images, not for programs in containers, which have the variables that their pods name",
			"https://kubernetes.io/docs/concepts/windows/intro/"),
		row("base layers (nanoserver, servercore)", support.Partly,
			"recognised, but neither pulled nor unpacked: Wine takes their place, so anything that only real Windows has is missing",
			layers+"#non-distributable-layers"),
		row("base images by name", support.Partly,
			"where their registry cannot be reached, or says nothing for ten seconds, an image without files stands in for Microsoft's nanoserver, servercore, server and windows, by the tags of the catalogue's builds, for the base image of HostProcess containers, and for powershell, dotnet/{runtime,aspnet,sdk} and dotnet/framework/{runtime,aspnet,sdk,wcf}, which then lack pwsh.exe, dotnet.exe and .NET Framework: an event of the pod says so (ImageStandsIn), and `mullion image ls` marks them. The error of a registry that answers stands, and for other images that of one that does not, with the command that makes one",
			"https://learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-base-images"),
		row("base layers without their history (squashed images)", support.Partly,
			"pulled, but without anything in the Windows folder", layers),
		row("sizes", support.Partly,
			"at most 8 MiB for a manifest or configuration, 256 layers, 64 GiB of decompressed layers, 4095 bytes and 255 folders in a file's name, 128 MiB of names in a layer, and 64 MiB that zstd looks back; more is refused; layers are pulled only from their registry, whatever addresses an image names",
			layers),
		row("files replaced in C:\\Windows\\System32", support.Partly,
			"if Wine has a library of that name, Wine's is used, except for the Visual C++ redistributables",
			"https://learn.microsoft.com/cpp/windows/determining-which-dlls-to-redistribute"),
		row("registry changes in layers (Hives)", support.Partly,
			"HKLM\\Software and the machine's environment (setx /M, reg add), deleted keys and values too; services that a layer adds (sc create, New-Service, installers) "+
				"if their program lies on C: outside of C:\\Windows, and sources of the event log; users' own settings (setx, HKCU) from NTUSER.DAT of the container's user, "+
				"or else of Default, and HKU\\.DEFAULT. Not drivers, services whose program is of Windows (svchost.exe), changes of the services that Wine has, "+
				"the rest of HKLM\\System, users' classes (UsrClass.dat), what Windows left in the logs beside NTUSER.DAT, and policies; of accounts those that are added, for runAsUserName and USER. "+
				"A service that is left out, and a file that cannot be read, or of more than 32 MiB, or beyond 64 MiB of changes in all, is named in the node's log", layers),
		row("security descriptors", support.Partly,
			"the default rights of C:\\ by folder; the security descriptors in a layer are not read", tarForm),
		row("file attributes", support.Partly, "read-only, hidden and system",
			"https://learn.microsoft.com/windows/win32/fileio/file-attribute-constants"),
		row("links and junctions", support.Partly, "on C:; links to other volumes lead nowhere", tarForm),
		row("alternate data streams, extended attributes", support.Not, "dropped from every layer", tarForm),
		row("letter case", support.Partly,
			"the first spelling of a name is kept throughout an image; NTFS' own table of letters is not used",
			"https://learn.microsoft.com/windows/win32/fileio/naming-a-file"),
		row("images of `ctr image import`", support.Not, "Windows nodes do not see them; use `mullion image load`",
			"https://github.com/containerd/containerd/blob/v2.4.2/docs/cri/crictl.md"),
		row("imagePullPolicy Always for an image without a registry", support.Partly,
			"images that are loaded as local ones (`mullion conformance images`) are used as they are; for others the registry is asked, as on Windows", "https://kubernetes.io/docs/concepts/containers/images/#image-pull-policy"),
		row("configuration: VOLUME", support.Partly,
			"a folder of the container's own, its user's, that goes with it; also one that the image lacks, and on a drive of its own (VOLUME D:); a mount of the pod at the same place is in its stead. It lies in the container's layer, so one below a mount of the pod is not there; a HostProcess container has none",
			"https://github.com/containerd/containerd/pull/8171"),
		row("configuration: HEALTHCHECK", support.Not,
			"not looked at in pods, as Kubernetes carries it out nowhere: livenessProbe and readinessProbe are the pod's; `mullion run` carries it out", "https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/"),
		row("configuration: SHELL, ONBUILD", support.Not,
			"not looked at: they are for builds", "https://github.com/opencontainers/image-spec/blob/v1.1.1/config.md"),
		row("configuration: STOPSIGNAL", support.Not,
			"not looked at: a container is stopped by CTRL_SHUTDOWN, which is containerd's SIGTERM on Windows", "https://github.com/opencontainers/image-spec/blob/v1.1.1/config.md"),
		row("image build", support.Partly,
			"from a Dockerfile, or from a folder and image.yaml; the base layer is a stand-in, with which real Windows does not run the image",
			"https://github.com/opencontainers/image-spec/blob/v1.1.1/config.md"),
	}
}
