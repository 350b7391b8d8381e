package cluster

import "mullion.dev/mullion/internal/base/support"

// DockerRows lists how much of Docker's engine for Windows containers `mullion docker` offers to programs of Linux.
func DockerRows() []support.Row {
	const (
		cli    = "https://docs.docker.com/reference/cli/docker/"
		volume = "https://docs.docker.com/engine/storage/"
		ports  = "https://docs.docker.com/engine/network/port-publishing/"
		attack = "https://docs.docker.com/engine/security/#docker-daemon-attack-surface"
		tests  = "https://golang.testcontainers.org/features/garbage_collector/"
	)

	row := func(name string, level support.Level, note, ref string) support.Row {
		return support.Row{
			Area:  "Docker's engine (mullion docker)",
			Name:  name,
			Level: level,
			Note:  note,
			Ref:   ref,
		}
	}

	return []support.Row{
		row("docker run, ps, top, logs -f, exec -it, stats, events, volume, network ls, load", support.Supported, "", cli),
		row("docker exec -u", support.Not, "of another user than the container's: refused", cli+"container/exec/"),
		row("docker build", support.Partly,
			"the classic builder (DOCKER_BUILDKIT=0), with RUN; BuildKit's first folder is a layer without a disk, which windowsfilter does not mount", cli+"image/build/"),
		row("docker cp", support.Partly, "with a container that runs or not, by paths without a drive: the command of Linux takes a drive for a container", cli+"container/cp/"),
		row("docker pull, push", support.Partly,
			"dockerd.exe's own, tried on a Windows host of a cluster; images with Windows' own files were not tried", cli),
		row("docker compose", support.Partly, "up, ps, logs, exec and down, services by their names on a nat network, published ports (v5.6.0); images are built before, by docker build", cli+"compose/"),
		row("docker buildx", support.Not, "ActivateLayer of BuildKit's first folder: ERROR_FILE_NOT_FOUND, see docker build", cli+"buildx/"),
		row("docker -v of a named pipe", support.Supported, "the engine's own (docker_engine), and any other one of the host", volume),
		row("docker -v", support.Partly, "volumes with a name, and folders of the host; no folders of this machine", volume),
		row("docker -p", support.Supported,
			"TCP and UDP, at 127.0.0.1 of this machine, or at --publish-address. A port that another program has is no error of docker's: `mullion docker status` says it", ports),
		row("the engine's socket", support.Supported,
			"mode 0660, of the first user of `sudo mullion docker up` and of --group; who uses it is as good as root", attack),
		row("Testcontainers", support.Partly, "testcontainers-go with a provider whose network is nat, and without its reaper, which mounts /var/run/docker.sock; ryuk itself runs with the engine's named pipe", tests),
		row("dockerd.exe, or a part of its host, is killed", support.Supported,
			"it is started again, and `mullion docker up` brings back what was; containers that ran have ended", cli+"container/start/"),
	}
}
