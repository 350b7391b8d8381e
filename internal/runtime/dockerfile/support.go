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
			"scratch, another stage, an image of the machine (for root) or of a registry, or what stands in for one of Microsoft's (see base images by name); Windows' own layers are not fetched. A stage for Linux (--platform=linux/amd64, or where its image is there for Linux alone) gives files to COPY and RUN --mount; its image is one of a registry. With --os linux the image itself is for Linux. FROM of a stage or an image that has ONBUILD is refused", "#from"),
		row("--base real", support.Partly,
			"the manifest and the layers of a base in a registry are kept, foreign ones with their addresses, for real Windows, on which that has not been tried; `--push` takes Windows' layers from one registry to the other, and an archive does not have them", "#from"),
		row("cache", support.Supported,
			"a step is made again when its files, its command, its environment or a layer below are others, or Mullion is; --no-cache makes all anew. ADD fetches each time, and what it fetched decides. 10 GiB of earlier builds are kept", "#format"),
		row("ARG, --build-arg", support.Supported, "", "#arg"),
		row("ENV, LABEL, MAINTAINER, EXPOSE, VOLUME, STOPSIGNAL, HEALTHCHECK, SHELL, ONBUILD", support.Supported,
			"they are in the image's configuration; what a node does with each say the rows about configuration", "#env"),
		row("USER", support.Supported, "a group is refused: Windows has none there", "#user"),
		row("WORKDIR", support.Supported, "", "#workdir"),
		row("CMD, ENTRYPOINT", support.Supported,
			"the shell form is one command line for cmd /S /C or SHELL, which a node passes on as it is (ArgsEscaped), as Docker on Windows has it", "#shell-and-exec-form"),
		row("COPY", support.Partly,
			"from the folder, from a stage, from an image for Windows or Linux, of heredocs, with patterns, --exclude and --link; --chown and --chmod (0755, no letters) are for stages for Linux, and do nothing in one for Windows, which a warning says; --parents is refused. A file of C:\\Windows that a stand-in has not is left out with a warning: the container has Wine's", "#copy"),
		row("ADD", support.Partly,
			"as COPY; archives (tar, gzip, bzip2, zstd) are unpacked below the target, addresses fetched and held against --checksum; xz and Git repositories are refused", "#add"),
		row("RUN", support.Partly,
			"in a container as of `mullion run`, so as root and with its network (--network=none: without); what it changes on C: and in the registry (HKLM\\Software, the machine's environment, services, the user's settings) is a layer. Accounts that it adds are not, nor owners of files and icacls', nor what it changes in Windows' own files (drivers\\etc\\hosts); links that lead off C: end the build. --network=host and --security are refused", "#run"),
		row("RUN in a stage for Linux", support.Partly,
			"in a container of runc, for root, with the network of `mullion run`: root there is nobody on the machine, and has no /sys. There is no limit of memory; 8 instances of inotify, no fanotify and no POSIX message queues. Of its image's files devices are left out, and attributes but for capabilities and those of programs (user). A heredoc that begins with #! is refused, and so are an image with users above 65535, a layer of more than 1,000,000 files or 64 GiB, and a command that leaves a file whose name begins with .wh.", "#run"),
		row("RUN --mount", support.Partly,
			"cache, secret (a file, or env=), bind (copies, so nothing of the machine changes) and tmpfs (a folder of the disk, empty and removed afterwards). A cache begins empty: from and source of one are refused, and private ones wait for each other as locked ones do. mode, uid, gid and size do nothing, which a warning says. What one user wrote to a cache another one may not change. ssh is refused", "#run---mount"),
	}
}
