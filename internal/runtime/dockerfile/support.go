package dockerfile

import "mullion.dev/mullion/internal/base/support"

// SupportRows lists how much of a Dockerfile is carried out.
func SupportRows() []support.Row {
	const reference = "https://docs.docker.com/reference/dockerfile/"
	row := func(name string, level support.Level, note, anchor string) support.Row {
		return support.Row{
			Area:  "Dockerfiles",
			Name:  name,
			Level: level,
			Note:  note,
			Ref:   reference + anchor,
		}
	}

	return []support.Row{
		row("grammar: directives, variables, heredocs, .dockerignore", support.Supported,
			"BuildKit's own parser reads the file; another frontend (`# syntax=`) is not fetched, and a warning says so", "#format"),
		row("FROM, stages, --target", support.Partly,
			"scratch, another stage, or an image that has a stand-in here (see base images by name); other images, and stages for Linux, are refused with the line if the target needs them, and so is FROM of a stage that has ONBUILD", "#from"),
		row("ARG, --build-arg", support.Supported, "", "#arg"),
		row("ENV, LABEL, MAINTAINER, EXPOSE, VOLUME, STOPSIGNAL, HEALTHCHECK, SHELL, ONBUILD", support.Supported,
			"they are in the image's configuration; what a node does with each say the rows about configuration", "#env"),
		row("USER", support.Supported, "a group is refused: Windows has none there", "#user"),
		row("WORKDIR", support.Supported, "", "#workdir"),
		row("CMD, ENTRYPOINT", support.Supported,
			"the shell form is one command line for cmd /S /C or SHELL, which a node passes on as it is (ArgsEscaped), as Docker on Windows has it", "#shell-and-exec-form"),
		row("COPY", support.Partly,
			"from the folder, from a stage, of heredocs, with patterns, --exclude and --link; --chown and --chmod do nothing, which a warning says; --parents is refused. A file of C:\\Windows that a stand-in has not is left out with a warning: the container has Wine's", "#copy"),
		row("ADD", support.Partly,
			"as COPY; archives (tar, gzip, bzip2, zstd) are unpacked below the target, addresses fetched and held against --checksum; xz and Git repositories are refused", "#add"),
		row("RUN", support.Partly,
			"in a container as of `mullion run`, so as root and with its network (--network=none: without); what it changes on C: and in the registry (HKLM\\Software, the machine's environment, services, the user's settings) is a layer. Accounts that it adds are not, nor owners of files and icacls', nor what it changes in Windows' own files (drivers\\etc\\hosts); links that lead off C: end the build. No step is kept from one build for the next. --mount, --network=host and --security are refused", "#run"),
	}
}
