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
		return support.Row{Area: "Images", Name: name, Level: level, Note: note, Ref: ref}
	}
	return []support.Row{
		row("selection by os.version", support.Supported, "",
			"https://github.com/containerd/platforms/blob/v1.0.0-rc.5/platform_windows_compat.go"),
		row("build mismatch (0xc0370101)", support.Supported, "", versions),
		row("Hyper-V isolation", support.Partly,
			"images of older builds are accepted; the container shares the machine's kernel all the same", versions),
		row("registries: HTTPS, hosts.toml, basic and token authentication", support.Supported, "",
			"https://github.com/containerd/containerd/blob/v2.4.2/docs/hosts.md"),
		row("base layers (nanoserver, servercore)", support.Partly,
			"recognised and neither fetched nor unpacked: Wine stands in, so what only real Windows has is missing",
			layers+"#non-distributable-layers"),
		row("base layers without their history (squashed images)", support.Partly,
			"fetched, and all in the Windows folder left out", layers),
		row("sizes", support.Partly,
			"manifests and configurations of 8 MiB, 256 layers, 64 GiB of layers when decompressed; more is refused; layers are fetched from their registry alone, whatever addresses an image names",
			layers),
		row("files replaced in C:\\Windows\\System32", support.Partly,
			"libraries that Wine has stay Wine's, but for the Visual C++ redistributables",
			"https://learn.microsoft.com/cpp/windows/determining-which-dlls-to-redistribute"),
		row("registry changes in layers (Hives)", support.Not,
			"kept beside the drive and not applied: what an image set with setx /M or reg add is not there", layers),
		row("security descriptors", support.Partly,
			"the default rights of C:\\ by folder; those that a layer carries are not read", tarForm),
		row("file attributes", support.Partly, "read-only, hidden and system",
			"https://learn.microsoft.com/windows/win32/fileio/file-attribute-constants"),
		row("links and junctions", support.Partly, "on C:; links to other volumes lead nowhere", tarForm),
		row("alternate data streams, extended attributes", support.Not, "dropped, as from every layer", tarForm),
		row("letter case", support.Partly,
			"the first spelling of a name is kept throughout an image; NTFS' own table of letters is not used",
			"https://learn.microsoft.com/windows/win32/fileio/naming-a-file"),
		row("images of `ctr image import`", support.Not, "not seen by Windows nodes; `mullion image load` is",
			"https://github.com/containerd/containerd/blob/v2.4.2/docs/cri/crictl.md"),
		row("imagePullPolicy Always for an image without a registry", support.Partly,
			"images that are loaded as local ones (`mullion conformance images`) are given as they are; others are looked for in their registry, as on Windows", "https://kubernetes.io/docs/concepts/containers/images/#image-pull-policy"),
		row("image build", support.Partly,
			"from a folder and image.yaml, without RUN; the base layer is a stand-in, which real Windows does not run",
			"https://github.com/opencontainers/image-spec/blob/v1.1.1/config.md"),
	}
}
