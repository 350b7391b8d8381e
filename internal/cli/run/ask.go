package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"debug/pe"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/folderimage"
	"mullion.dev/mullion/internal/runtime/imagebuild"
	"mullion.dev/mullion/internal/single"
	"mullion.dev/mullion/internal/windows/pefile"
	"mullion.dev/mullion/internal/windows/winver"
)

// ask returns what the engine is asked for, but for a folder's image.
func (a *commands) ask(args []string, o options) (single.Run, error) {
	if len(args) == 0 || args[0] == "" {
		return single.Run{}, engine.Failed(errors.New("`mullion run` takes IMAGE, FOLDER or FILE.exe, got none"),
			"for example: mullion run ./hello.exe")
	}
	if err := o.check(); err != nil {
		return single.Run{}, err
	}

	ask := single.Run{
		Image:       args[0],
		Pull:        single.Pull(o.pull),
		Windows:     o.version,
		Args:        args[1:],
		Dir:         o.dir,
		User:        o.user,
		Hostname:    o.hostname,
		CPUs:        o.cpus,
		Terminal:    o.terminal,
		Stdin:       o.interactive,
		StopTimeout: time.Duration(o.stopTimeout) * time.Second,
		Network:     single.Network(o.network),
		Name:        o.name,
		Keep:        !o.remove,
	}

	var err error
	if ask.Restart, err = o.restartAsk(isFolder(args[0])); err != nil {
		return ask, err
	}
	if o.entrypoint != "" {
		ask.Entrypoint = []string{o.entrypoint}
	}

	if ask.Memory, err = memoryOf(o.memory); err != nil {
		return ask, err
	}
	if ask.Env, err = engine.Variables(a.Env, o.env, o.envFiles); err != nil {
		return ask, err
	}
	if ask.Labels, err = o.labelsAsk(); err != nil {
		return ask, err
	}

	if err = o.networkAsk(&ask); err != nil {
		return ask, err
	}
	if isPath(args[0]) {
		ask.From = args[0]
	}
	if ask.Mounts, err = o.mountsAsk(); err != nil {
		return ask, err
	}

	if ask.Health, err = o.health.ask(); err != nil {
		return ask, err
	}

	err = o.programAsk(&ask, args[0])
	return ask, err
}

// programAsk completes the request for a program of this machine, or with --go-test checks that it is one of tests.
// Nothing is to be done for an image or a folder.
func (o *options) programAsk(ask *single.Run, what string) error {
	if o.goTest {
		return o.checkTests(what)
	}
	if isPath(what) && !isFolder(what) {
		return ofProgram(ask, what)
	}
	return nil
}

// restartAsk reads --restart. folder says that the image is made for this run.
func (o *options) restartAsk(folder bool) (single.Restart, error) {
	r, err := single.ParseRestart(o.restart)
	switch {
	case err != nil:
		return r, engine.Failed(err, "for example: --restart on-failure:5")
	case r.Policy == "":
		return r, nil
	case o.remove:
		return r, engine.Failed(errors.New("conflicting options: cannot specify both --restart and --rm"), "leave one of them out")
	case !o.detach:
		return r, engine.Failed(errors.New("--restart is for a container in the background: one in the foreground ends with "+
			"its command"), "add -d")

	case folder:
		return r, engine.Failed(errors.New("--restart: the image of a FOLDER is made for its first run alone"),
			"`mullion image build FOLDER -t app:v1 --run` makes one that stays: run app:v1")
	}

	return r, nil
}

// check refuses values that a container cannot have.
func (o *options) check() error {
	pulls := []single.Pull{single.PullMissing, single.PullAlways, single.PullNever}
	switch {
	case o.isolation == "hyperv":
		return engine.Failed(errors.New("--isolation hyperv: a single container has no virtual machine yet"),
			"use a cluster: its pods have runtimeClassName for it")
	case o.isolation != "process" && o.isolation != "default":
		return engine.Failed(fmt.Errorf("--isolation %q is neither process nor hyperv", o.isolation), "")
	case !slices.Contains(pulls, single.Pull(o.pull)):
		return engine.Failed(fmt.Errorf("--pull %q is none of missing, always, never", o.pull), "")
	case o.cpus < 0 || o.stopTimeout < 0:
		return engine.Failed(errors.New("--cpus and --stop-timeout are not below 0"), "")
	}

	if err := errors.Join(checkPlatform(o.platform), checkCPUs(o.cpus)); err != nil {
		return err
	}
	if err := single.CheckName(o.name); err != nil {
		return engine.RefusedRun(err)
	}
	if o.version != "" {
		if _, err := winver.Lookup(o.version); err != nil {
			return engine.Failed(err, "")
		}
	}
	return o.checkExplain()
}

// memoryOf reads a size as docker does; "" is none.
func memoryOf(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	const least = 6 << 20 // Docker's
	size, err := units.RAMInBytes(text)
	if err == nil && size < least {
		err = errors.New("the least is 6m")
	}
	if err != nil {
		return 0, engine.Failed(fmt.Errorf("--memory %q: %w", text, err), "for example: -m 512m")
	}
	return size, nil
}

// labelsAsk returns the labels of the files, and then of the flags.
func (o *options) labelsAsk() (map[string]string, error) {
	lines, err := engine.Lines("labels", o.labelFiles)
	if err != nil {
		return nil, err
	}

	labels := map[string]string{}
	for _, line := range append(lines, o.labels...) {
		name, value, _ := strings.Cut(line, "=")
		if name == "" {
			return nil, engine.Failed(fmt.Errorf("%q is no label", line), "for example: -l team=web")
		}
		labels[name] = value
	}

	if len(labels) == 0 {
		return nil, nil //nolint:nilnil // there are none
	}
	return labels, nil
}

// isPath reports whether what is to run is on this machine, and not in an image: it begins with a dot or a slash, or is
// a program.
func isPath(what string) bool {
	return what == "." || strings.HasPrefix(what, "./") || strings.HasPrefix(what, "../") || what == ".." ||
		strings.HasPrefix(what, "/") || strings.HasSuffix(strings.ToLower(what), ".exe")
}

// isFolder reports whether what is to run is a folder of this machine.
func isFolder(what string) bool {
	if !isPath(what) {
		return false
	}
	info, err := os.Stat(what)
	return err == nil && info.IsDir()
}

// appFolder is where a program and its folder are in a container.
const appFolder = `C:\app`

// ofProgram completes the request for a program of this machine.
func ofProgram(ask *single.Run, file string) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	if err := checkProgram(file); err != nil {
		return err
	}

	if len(ask.Entrypoint) > 0 {
		return engine.Failed(errors.New("--entrypoint replaces the program, and FILE.exe is one"), "leave one of them out")
	}
	ask.Image = ""
	ask.Mounts = append(ask.Mounts, single.Mount{
		Source:   filepath.Dir(file),
		Target:   appFolder,
		ReadOnly: true,
	})

	ask.Entrypoint = []string{appFolder + `\` + filepath.Base(file)}
	if ask.Dir == "" {
		ask.Dir = appFolder
	}
	return nil
}

// checkProgram refuses a file that Windows would not start, before anything is made.
func checkProgram(file string) error {
	cannot := func(err error, remedy string) error {
		return &exit.Error{
			Code:   single.CodeCannotStart,
			Err:    fmt.Errorf("run %q: %w", file, err),
			Remedy: remedy,
		}
	}

	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return &exit.Error{
			Code:   single.CodeNotFound,
			Err:    fmt.Errorf("run %q: it is not there", file),
			Remedy: "name a program, a folder that begins with a dot or a slash, or an image",
		}
	}

	if err != nil {
		return cannot(err, "")
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return cannot(errors.Join(errors.New("it is no regular file"), err), "")
	}

	program, err := pefile.Read(f)
	switch {
	case errors.Is(err, pefile.ErrNot):
		return cannot(errors.New("it is no Windows program"),
			"for a script: mullion run FOLDER powershell -File SCRIPT.ps1; with Go: GOOS=windows go build")

	case err != nil:
		return cannot(err, "")
	case program.Library:
		return cannot(errors.New("it is a library, no program"), "")
	case program.Machine == pe.IMAGE_FILE_MACHINE_ARM64 || program.Machine == pe.IMAGE_FILE_MACHINE_ARMNT:
		return cannot(errors.New("it is for ARM processors"), "build it for amd64; with Go: GOOS=windows GOARCH=amd64")
	case program.Subsystem == pe.IMAGE_SUBSYSTEM_NATIVE:
		return cannot(errors.New("it is a driver, no program"), "")
	}

	return nil
}

// folderImage makes an image of a folder, and returns its reference. The image is this run's alone.
func (a *commands) folderImage(ctx context.Context, client *single.Client, dir, version string) (string, error) {
	described := exists(filepath.Join(dir, imagebuild.SpecFile))
	if exists(filepath.Join(dir, "Dockerfile")) && !described {
		return "", engine.Failed(fmt.Errorf("make an image of %q: it has a Dockerfile", dir),
			"build it: `mullion image build "+dir+" -t app:v1 --run`, and run app:v1")
	}
	description, err := folderimage.Description(dir, "")
	if err != nil {
		return "", engine.Failed(err, "`mullion image build --help` describes "+imagebuild.SpecFile)
	}

	if description.OS == imagebuild.Linux {
		return "", engine.Failed(fmt.Errorf("run %q: its image is for Linux", dir), "`docker run` runs such images")
	}

	var versions []string // those of the description
	if version != "" || len(description.OSVersions) == 0 {
		versions = []string{cmp.Or(version, winver.Default())}
	}

	ref := "mullion.local/run:" + strings.ToLower(rand.Text())
	img, err := folderimage.Build(ctx, a.Env, dir, "", imagebuild.Spec{
		Tags:       []string{ref},
		OSVersions: versions,
		Labels:     map[string]string{"dev.mullion.run": ref},
	})
	if err != nil {
		return "", engine.Failed(err, "`mullion image build --help` describes "+imagebuild.SpecFile)
	}

	archive, into := io.Pipe()
	go func() { into.CloseWithError(img.WriteArchive(into)) }()
	if _, err := client.Load(ctx, archive); err != nil {
		return "", engine.RefusedRun(errors.Join(err, archive.Close()))
	}

	return ref, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// flagError is the error of flags that are not right, with what docker users look for.
func flagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := unknown.GetSpecifiedName()
		switch {
		case slices.Contains(linuxFlags(), name):
			return engine.Failed(fmt.Errorf("--%s: Windows containers have none", name), "leave it out")
		case laterFlags()[name] != "":
			return engine.Failed(fmt.Errorf("--%s: a single container does not have that yet", longName(name)), laterFlags()[name])
		}
	}

	wrong := cmdline.FlagError(cmd, err)
	if own, ok := errors.AsType[*exit.Error](wrong); ok {
		return engine.Failed(own.Err, own.Remedy)
	}
	return wrong
}

func longName(name string) string {
	if long := map[string]string{"a": "attach", "c": "cpu-shares"}[name]; long != "" {
		return long
	}
	return name
}

// linuxFlags are flags of `docker run` that Docker refuses, or does not heed, for Windows containers
// (https://docs.docker.com/reference/cli/docker/container/run/).
func linuxFlags() []string {
	return strings.Fields("annotation blkio-weight blkio-weight-device cap-add cap-drop cgroup-parent cgroupns cpu-period " +
		"cpu-quota cpu-rt-period cpu-rt-runtime cpuset-cpus cpuset-mems device-cgroup-rule device-read-bps device-read-iops " +
		"device-write-bps device-write-iops domainname gpus group-add init ipc kernel-memory memory-reservation memory-swap " +
		"memory-swappiness oom-kill-disable oom-score-adj pid pids-limit privileged read-only shm-size sysctl tmpfs ulimit " +
		"userns uts")
}

// laterFlags are flags that a single container does not have yet, with what to do instead.
func laterFlags() map[string]string {
	const cluster = "use a cluster: `mullion up`"
	const cpus = "--cpus limits processors"
	const logs = "a log keeps the last 20 to 30 MB: `mullion container logs` prints it"
	return map[string]string{
		"link":       "containers find each other by --name and --hostname",
		"dns-search": "name servers' suffixes are a cluster's", "dns-option": "leave it out", "dns-opt": "leave it out",
		"add-host": "a name that other containers have is known: --name or --hostname; others are asked of --dns, and a pod has hostAliases: `mullion up`",
		"ip":       cluster, "ip6": cluster, "network-alias": "--hostname gives a second name", "net-alias": "--hostname gives a second name",
		"mac-address": cluster, "link-local-ip": cluster,
		"volumes-from": "-v NAME:PATH for each volume does it", "volume-driver": "leave it out",
		"cpu-shares": cpus, "c": cpus, "cpu-count": cpus, "cpu-percent": cpus,
		"attach": "standard output and error are passed on; -i passes on the input", "a": "standard output and error are passed on; -i passes on the input",
		"security-opt": cluster + "; credential specs are pods'", "device": cluster,
		"stop-signal": "SIGTERM is CTRL_SHUTDOWN_EVENT",
		"log-driver":  logs, "log-opt": logs,
		"storage-opt": "leave it out", "io-maxbandwidth": "leave it out", "io-maxiops": "leave it out",
		"detach-keys": "no keys leave a program behind: -d runs it in the background", "sig-proxy": "Ctrl-C and SIGTERM are passed on: -d runs a program that nobody's signals reach",
		"disable-content-trust": "leave it out: nothing is signed", "runtime": "leave it out: there is one",
		"use-api-socket": "`mullion docker up` has a socket of Docker's",
	}
}
