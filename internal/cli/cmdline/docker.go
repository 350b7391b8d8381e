package cmdline

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Remedies that stand for several words.
const (
	withDocker = "that is of Docker's engine: `mullion docker up` brings one up for Windows containers, and `docker` itself does it"
	swarm      = "clusters here are Kubernetes': `mullion up`, then `mullion kubectl`"
	engineEnv  = "`eval \"$(mullion docker env)\"`"
)

// DockerWords returns, for what people type who know Docker's commands, what does it here, where that is no command of
// nearly the same name (those are in OtherWords). The key is what is typed behind the program's name; the longest one
// holds.
func DockerWords() map[string]string {
	return map[string]string{
		"builder":        "`mullion image build --no-cache` makes every step anew; what builds keep lies in /var/cache/mullion (~/.cache/mullion), which may be removed",
		"commit":         "a Dockerfile makes the same: `mullion image build`, with a RUN for what was done by hand",
		"compose":        "`sudo mullion docker up`, " + engineEnv + ", then `docker compose`",
		"context":        "`mullion kubeconfig` is for clusters' contexts, " + engineEnv + " for the one of Docker's engine",
		"create":         "`mullion up` makes a cluster, `mullion run -d` a container, which starts at once",
		"diff":           "`mullion container cp` copies what is there while the program runs",
		"docker-compose": "`sudo mullion docker up`, " + engineEnv + ", then `docker compose`",
		"events":         "`mullion container ls -a` and `mullion container inspect` show containers, `mullion kubectl get events` what a cluster's pods meet",
		"export":         "`mullion image save` writes an image, `mullion container cp` copies files, `mullion export logs` has a cluster's logs",
		"login":          "`docker login` or `podman login` keeps credentials, which are used here too; without either: `mullion image pull REFERENCE --user NAME --password-stdin`",
		"logout":         "`docker logout` or `podman logout` forgets credentials, of which nothing is kept here",
		"manifest":       "`mullion image build` writes an image for several versions of Windows at once; `mullion image inspect` shows one",
		"network":        "containers are on one network, nat, where they reach each other by --name (`mullion run --network none`: on none); networks of one's own take Docker's engine, `mullion docker up`, or a cluster, `mullion up`",
		"pause":          "Windows containers cannot be paused: `mullion container stop` ends one, `mullion stop` a cluster",
		"plugin":         withDocker,
		"scout":          "`mullion check programs` says what a program lacks here; what is wrong with an image's files nothing here says",
		"search":         "registries are not searched: `mullion run` and `mullion image pull` take an image's name",
		"secret":         swarm, "service": swarm, "stack": swarm, "swarm": swarm,
		"start":         "`mullion container start` is for a container, `mullion up` for a cluster",
		"stop":          "it ends the whole cluster; `mullion container stop` is for a container, `mullion node stop` for a node",
		"system":        "`mullion container ls -a`, `mullion image ls --run` and `mullion volume ls` show what there is; their `prune` removes what is not used, `mullion down --run` all",
		"system df":     "`mullion image ls --run` has the sizes of images, `du -sh /var/lib/mullion-run` that of all",
		"system events": "`mullion container ls -a` and `mullion container inspect` show containers",
		"system info":   "`mullion version` and `mullion doctor` show what there is, `mullion container ls` what runs",
		"system prune":  "`mullion container prune`, `mullion image prune --run` and `mullion volume prune` remove what is not used, `mullion down --run` all but volumes with a name",
		"trust":         withDocker,
		"unpause":       "Windows containers cannot be paused",
		"update":        "run it again with other limits: `mullion run`",
		"node ls":       "`mullion kubectl get nodes` lists them",
		"volume update": "a volume's labels stay as they are: `mullion volume create --label` gives them",
	}
}

// DockerFlags returns, by command, what is said of flags that Docker's has and that are not here: by the flag's long
// name and by its letter.
func DockerFlags() map[string]map[string]string {
	const noKeys = "no keys leave a program behind: `mullion run -d` runs one in the background"
	const oneStore = "one image at a time is asked for, by its name"
	return map[string]map[string]string{
		"container attach": {"detach-keys": "Ctrl-C is passed on; with --sig-proxy=false it ends this command alone"},
		"container cp": {
			"archive": "what is new has this user as its owner", "a": "what is new has this user as its owner",
			"follow-link": "name the file that the link leads to", "L": "name the file that the link leads to",
		},
		"container exec":    {"privileged": "Windows containers have no such thing: leave it out", "detach-keys": noKeys},
		"container inspect": {"size": "what a container has written is not counted", "s": "what a container has written is not counted"},
		"container logs":    {"details": "--log-opt, which it is about, is not here: leave it out"},
		"container ls":      {"size": "what a container has written is not counted", "s": "what a container has written is not counted"},
		"container restart": {"signal": "`mullion container kill -s INT` sends one", "s": "`mullion container kill -s INT` sends one"},
		"container rm":      {"link": "containers find each other by --name, without links", "l": "containers find each other by --name, without links"},
		"container start": {
			"attach": "`mullion container logs -f CONTAINER` prints what it says", "a": "`mullion container logs -f CONTAINER` prints what it says",
			"interactive": "`mullion container exec -it CONTAINER cmd` runs another program there",
			"i":           "`mullion container exec -it CONTAINER cmd` runs another program there",
			"detach-keys": noKeys,
		},
		"container stop": {"signal": "`mullion container kill -s INT` sends one", "s": "`mullion container kill -s INT` sends one"},
		"image build": {
			"add-host": "RUN asks this machine's name servers", "annotation": "--label is kept with the image",
			"attest": "leave it out", "build-context": "COPY --from=IMAGE, and stages, bring other files",
			"cache-from": "earlier builds of this machine are used anyway", "cache-to": "leave it out: /var/cache/mullion keeps it",
			"compress": "leave it out", "force-rm": "leave it out: nothing is left of a step", "rm": "leave it out: nothing is left of a step",
			"isolation": "leave it out", "memory": "leave it out", "m": "leave it out", "metadata-file": "--iidfile has the image's digest",
			"network": "RUN --network=none in the Dockerfile is for a step", "no-cache-filter": "--no-cache is for all steps",
			"provenance": "leave it out", "sbom": "leave it out", "shm-size": "leave it out", "squash": "leave it out",
			"ssh": "--secret brings a key to a RUN", "ulimit": "leave it out", "builder": "leave it out", "cpuset-cpus": "leave it out",
		},
		"image ls":      {"digests": "each digest is a line of its own; --format '{{.Repository}} {{.Digest}}' has them", "tree": "leave it out"},
		"image load":    {"platform": "what is for Windows on amd64 is loaded"},
		"image pull":    {"all-tags": oneStore, "a": oneStore, "disable-content-trust": "leave it out: nothing is signed"},
		"image push":    {"all-tags": oneStore, "a": oneStore, "platform": "all that the image has is pushed", "disable-content-trust": "leave it out: nothing is signed"},
		"image rm":      {"no-prune": "what no image needs goes with the last of them"},
		"image save":    {"platform": "all that the image has is written"},
		"volume create": {"opt": "the driver local has no options", "o": "the driver local has no options"},
	}
}

// dockersOwn are words of docker behind `mullion docker`, which itself has other commands.
func dockersOwn() []string {
	return strings.Fields("attach build builder buildx commit compose container context cp create diff events exec export " +
		"history image images import info inspect kill load login logout logs manifest network pause plugin port ps pull push " +
		"rename restart rm rmi run save search start stats stop swarm system tag top unpause update version volume wait")
}

// dockerRemedy says what does here what words behind a command mean in Docker; "": nothing is known of them. exact: it
// is known of the words, and not of the command alone.
func dockerRemedy(cmd *cobra.Command, words []string) (does string, exact bool) {
	path := strings.Fields(BelowRoot(cmd))
	if slices.Equal(path, []string{"docker"}) && len(words) > 0 && slices.Contains(dockersOwn(), words[0]) {
		return "that is for docker itself: " + engineEnv + ", then `docker " + words[0] + "`", true
	}

	typed := slices.Concat(path, words)
	for n := min(len(typed), 2); n > 0 && n >= len(path); n-- {
		if does, known := DockerWords()[strings.Join(typed[:n], " ")]; known {
			return does, n > len(path)
		}
	}
	return "", false
}
