package single

import "mullion.dev/mullion/internal/base/support"

// SupportRows lists how much of `docker run` for Windows containers is supported.
func SupportRows() []support.Row {
	const (
		reference = "https://docs.docker.com/reference/cli/docker/container/run/"
		exit      = "https://docs.docker.com/engine/containers/run/#exit-status"
		limited   = "https://learn.microsoft.com/virtualization/windowscontainers/manage-containers/resource-controls"
		networks  = "https://docs.docker.com/engine/network/"
		ports     = "https://docs.docker.com/engine/network/port-publishing/"
		later     = "refused, with what to do instead"
		gotest    = "https://pkg.go.dev/cmd/go#hdr-Test_packages"

		containers = "https://docs.docker.com/reference/cli/docker/container/"
		images     = "https://docs.docker.com/reference/cli/docker/image/"
		commands   = "https://docs.docker.com/reference/cli/docker/"
		restarts   = "https://docs.docker.com/engine/containers/start-containers-automatically/"
		volumes    = "https://docs.docker.com/engine/storage/volumes/"
		health     = "https://docs.docker.com/reference/dockerfile/#healthcheck"
		engineEnds = "https://docs.docker.com/engine/daemon/live-restore/"
	)

	row := func(name string, level support.Level, note, ref string) support.Row {
		return support.Row{
			Area:  "Single containers (mullion run)",
			Name:  name,
			Level: level,
			Note:  note,
			Ref:   ref,
		}
	}

	return []support.Row{
		row("IMAGE [ARGUMENT…], --entrypoint", support.Supported, "", reference),
		row("FOLDER, FILE.exe in place of an image", support.Supported,
			"Mullion's own: a folder becomes an image as `mullion image build` makes one; a program has its folder read-only at C:\\app", reference),
		row("Dockerfile", support.Not, "a folder with one and without image.yaml is refused: `mullion image build --run` builds it", reference),
		row("exit code; 125, 126, 127", support.Supported,
			"the program's modulo 256, never 0 for a failure; an exception is named on standard error", exit),
		row("-e, --env-file, -w, -h", support.Supported, "", reference),
		row("-u", support.Partly, "ContainerAdministrator and ContainerUser; accounts that an image adds are pods'", reference),
		row("-i, -t", support.Partly, "input with its end, a console that follows the terminal's size; no keys to detach", reference),
		row("Ctrl-C, SIGTERM, --stop-timeout", support.Supported,
			"CTRL_C_EVENT, and a second one kills; CTRL_SHUTDOWN_EVENT", reference),
		row("-m, --cpus", support.Supported,
			"whole processors are counted, others are a share of all of the machine's, as Docker has it", limited),
		row("-v", support.Partly,
			"folders and files of the machine, which have to be there: what their owner has is the container's user's, what root owns can only be read; volumes with a name and without, with ro and rw", reference),
		row("--mount", support.Partly, "type=bind and type=volume, with source, target, readonly and volume-nocopy; no tmpfs and no npipe", reference),
		row("volumes", support.Partly,
			"made when they are first named, filled with what the image has there (Docker on Windows copies nothing), kept until they are removed; those without a name, VOLUME of the image too, go with --rm. No driver but local, no --volumes-from, no limit of their size", volumes),
		row("docker volume ls, inspect, create, rm, prune", support.Partly,
			"Docker's columns, fields and words; filters dangling, driver, label, name; no driver's options", volumes),
		row("HEALTHCHECK, --health-cmd and its like, --no-healthcheck", support.Supported,
			"with Docker's rules and defaults, in `container ls`, its filter and `inspect`; each change is a line in the engine's log", health),
		row("-q, --cidfile, --platform", support.Supported, "the platform is windows/amd64", reference),
		row("--pull", support.Supported,
			"with the registries of hosts.toml; images of Windows have stand-ins as in a cluster; `mullion image load --run` loads archives", reference),
		row("--windows-version", support.Supported, "Mullion's own: any version of the catalogue. Without it the container has the Windows that its image is for, which is prepared at its first use; an image of a build that the catalogue lacks, or of another than the one that is named, is refused", reference),
		row("--network", support.Partly,
			"nat, where containers reach what the machine reaches (IPv4: TCP, UDP, ping) and each other, and none; no networks of one's own", networks),
		row("-p", support.Supported,
			"TCP and UDP; it listens on 127.0.0.1 unless an address is given, where Docker listens on all of them. Ranges, and any free port (-p 80); at most 512 of a container", ports),
		row("-P, --expose", support.Supported, "at free ports of 127.0.0.1, where Docker takes all addresses; at most 512", ports),
		row("-l, --label-file", support.Supported, "beside the image's; `mullion container ls --filter label=…` finds them", reference),
		row("names of containers, --dns", support.Partly,
			"a container's --hostname and the beginning of its id are known to the others; other names are asked of the machine's name servers, or of --dns; no --dns-search, --add-host, --network-alias", networks),
		row("--isolation", support.Partly, "process; hyperv is refused", reference),
		row("-d, --name, --rm", support.Supported,
			"a container that has ended keeps its log and exit code until it is removed, but with --rm; what it has written to its C: goes with its program. Of more than 200 that have ended the oldest go. In the foreground it ends with its command, also if that is killed", reference),
		row("--explain", support.Supported,
			"Mullion's own: image and base, command line, user, variables, mounts, network, limits, and what becomes of each field of the image's configuration, as text or JSON; an image that is not there is pulled, nothing is run", reference),
		row("mullion test, --go-test", support.Partly,
			"Mullion's own: go test for Windows, each package's tests in a container, with its flags, coverage, profiles, -fuzz, -bench and -json; a module that root owns is read-only. No -race, -msan and -asan, which need cgo, no go in the tests, no results of an earlier run", gotest),
		row("--restart", support.Partly,
			"no, on-failure[:TIMES], always and unless-stopped, with -d and with Docker's pauses; each time with the C: of its image. An engine that begins after its end or kill, with the next command, has them begin again; nothing starts it with the machine. Not one whose image was made of a FOLDER", restarts),
		row("docker container ls, inspect", support.Partly,
			"Docker's columns and fields, as far as there is something to say; --format takes templates, json and table. Filters but expose, is-task, isolation; no sizes. inspect has the container's own address (NetworkSettings)", containers+"ls/"),
		row("docker container logs", support.Supported,
			"-f, -n, --since, --until, -t. A log has at most 30 MB, then its beginning goes; a line is there when it has ended", containers+"logs/"),
		row("docker container exec", support.Partly,
			"-d, -i, -t, -e, --env-file, -w. -u takes the container's own user alone: Wine has one in a container. -d with -i or -t is refused", containers+"exec/"),
		row("docker container stop, kill, wait, rm, prune", support.Supported,
			"stop is CTRL_SHUTDOWN_EVENT, -t and --time its time; kill -s knows KILL, INT and TERM; rm has -f and -v, prune the filters until, label and label!", containers+"stop/"),
		row("docker container start, restart", support.Partly,
			"it begins anew, in the background, with what it was run with, but with the C: of its image, which is said: what it had written there went with its program. Not one whose image was made of a FOLDER; start has no -a and -i", containers+"start/"),
		row("docker container rename, port", support.Supported,
			"other containers find it by its new name at once", containers+"rename/"),
		row("docker container stats", support.Supported,
			"processors, memory, network, disks, and Linux processes, Wine's own among them; the columns are those of Linux containers", containers+"stats/"),
		row("docker container cp", support.Partly,
			"files and folders, of a container that runs, by its own tar.exe as its user; no links, sparse files, owners and no -, the archive, which is refused with the tar that does it", containers+"cp/"),
		row("docker container attach, top", support.Partly,
			"attach hears from now on and passes on Ctrl-C, but no input; top is the container's tasklist.exe", containers+"attach/"),
		row("docker container commit, create, diff, export, pause, update", support.Not,
			"refused, with what to do instead; export, pause and update Docker refuses too for Windows containers", containers),
		row("the engine's end", support.Supported,
			"containers end with it: told to end, it notes how; killed, they are listed with exit code 255, as by Docker, and --rm is heeded. It does not end while one runs", engineEnds),
		row("docker image ls, inspect, history, prune, load, save, rm, tag, pull, push", support.Partly,
			"with --run; Docker's filters, fields and templates, history without the layers' sizes; rm takes the one name of an image that has others. save has one image, pull and push no --all-tags", images),
		row("docker login, search, network, events, system, compose, swarm and others", support.Not,
			"not here: each is refused with the command that does it, as `mullion system prune` with the prunes of containers, images and volumes", commands),
		row("docker system prune", support.Partly,
			"`mullion container prune`, `mullion image prune --run` and `mullion volume prune`; `mullion down --run` ends the engine with all containers, and removes its images too; volumes with a name stay, unless --volumes is given", reference),
		row("--gpus, --cap-add, --privileged and others of Linux", support.Not, "refused: Windows containers have none", reference),
	}
}
