package cri

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/containerd/errdefs"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/explain"
	"mullion.dev/mullion/internal/runtime/hostpipes"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/windows/wire/credspec"
)

// driveRoot is the Linux path of C:\ in a container. Programs are started there: with a Linux working folder outside a
// drive, Wine gives a program the current directory "unix".
const driveRoot = "/Files"

// prefixVariable names the Wine prefix.
const prefixVariable = "WINEPREFIX="

// driveOf returns the Linux path of C:\ for a container's programs.
func (s *Server) driveOf(c store.Container) string {
	return s.kindOf(c.SandboxID).prefix(c) + driveRoot
}

// commandLine returns what runs in a container: the container's command and arguments in place of the image's entry
// point and command, as Kubernetes says. raw: the image was built with a shell-form instruction, so that its one string
// is a whole command line that Windows splits (ArgsEscaped of the image's configuration).
func commandLine(config *runtimeapi.ContainerConfig, img image.Info) (args []string, raw bool, err error) {
	command, rest := config.GetCommand(), config.GetArgs()
	escaped := img.Config.ArgsEscaped //nolint:staticcheck // Deprecated for new images; Windows images have it.
	if len(command) == 0 {
		command = img.Config.Entrypoint
		if len(rest) == 0 {
			rest = img.Config.Cmd
			raw = escaped && ((len(command) == 1 && len(rest) == 0) || (len(command) == 0 && len(rest) == 1))
		}
	}

	args = append(append([]string{}, command...), rest...)
	if len(args) == 0 || args[0] == "" {
		return nil, false, fmt.Errorf("no command specified: neither the container nor image %q has one: %w", img.ID,
			errdefs.ErrInvalidArgument)
	}

	return args, raw, nil
}

// initArgs returns the command line of a container's first process.
func (s *Server) initArgs(sb store.Sandbox, c store.Container) []string {
	return s.kindOf(sb.ID).firstProcess(sb, c, runSpec{
		report: path.Join(s.workTarget(c), reportName),
		env:    path.Join(s.workTarget(c), envFileName),
		dir:    c.Dir,
		raw:    c.Raw,
		args:   c.Program,
		memory: c.Config.GetWindows().GetResources().GetMemoryLimitInBytes(),
		pipes:  hostpipes.CommandLine(pipesOf(c.Config.ContainerConfig)),
	})
}

// loaderEnv returns the Linux environment of a container's programs.
func (s *Server) loaderEnv(c store.Container) []string {
	env := append([]string{}, s.cfg.Launch.Env...)
	if prefix := s.kindOf(c.SandboxID).prefix(c); prefix != "" {
		env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, prefixVariable) })
		env = append(env, prefixVariable+prefix)
	}
	if c.Config.GetTty() {
		env = append(env, "TERM=xterm")
	}

	if s.credentialSpec(c) != "" {
		env = append(env, "KRB5CCNAME=FILE:"+credspec.CacheFile, "KRB5_CONFIG="+credspec.ConfigFile)
	}
	if s.cfg.Launch.Run == "" {
		env = append(env, unixEnv(c.Env)...)
	}
	return env
}

// runSpec says what mullion-run.exe does. Paths are Linux paths in the container unless said otherwise.
type runSpec struct {
	report, env string
	dir         string   // a Windows path
	memory      int64    // bytes the programs may commit; 0: no limit
	searches    []string // DNS suffixes
	raw         bool
	explain     bool   // Wine's diagnostic lines go to the descriptor of mullion-init
	pipes       string // the Windows command line that has the container's mounted pipes; "": there are none
	args        []string
}

// programArgs returns the Linux command line that runs a Windows program.
func (l Launch) programArgs(r runSpec) []string {
	args := append([]string{}, l.Loader...)
	if l.Run == "" {
		return append(args, r.args...)
	}
	args = append(args, l.Run, "--report", r.report, "--env-file", r.env, "--cwd", r.dir)
	if r.memory > 0 {
		args = append(args, "--memory-limit", strconv.FormatInt(r.memory, 10))
	}

	if len(r.searches) > 0 {
		args = append(args, "--dns-search", strings.Join(r.searches, ","))
	}
	if r.explain {
		args = append(args, "--debug-fd", strconv.Itoa(explain.DebugFD))
	}
	if r.pipes != "" {
		args = append(args, "--pipes", r.pipes)
	}

	if r.raw {
		args = append(args, "--raw")
	}
	return append(append(args, "--"), r.args...)
}

// reportName is the file in a container's working folder to which mullion-run.exe writes how its program fared.
const reportName = "report"

// report is what mullion-run.exe has written, a line "<verb> <number>[ <text>]" for each event:
//
//	started <Windows process id>
//	failed <Windows error code> <Windows' words for it>   the program did not start
//	exited <32-bit exit code>
//	left <number> <names>                                 programs that ran when the container ended, by mullion-init
//
// The file is the container's user's, and what runs in the container may add to it. So what the report says is taken
// for what the container says of itself: it may call its own start a failure, and is killed for it, but not after it
// has been started.
type report struct {
	started, failed, exited bool
	pid                     uint32 // the Windows process id, if started
	code                    uint32 // the exit code, or the error code if failed
	left                    uint32 // programs that were killed with the container
	leftNames               string
	message                 string
}

// refusal is the error of a program that did not start in a container, in the words of Windows and the form of hcsshim
// (SystemError of https://github.com/microsoft/hcsshim/blob/v0.15.0-rc.4/internal/hcs/errors.go).
func (r report) refusal(container string) error {
	text := strings.TrimSpace(r.message)
	if text == "" {
		text = fmt.Sprintf("error 0x%x", r.code)
	}
	return fmt.Errorf("hcs::System::CreateProcess %s: %s", container, text)
}

// refusalOf is the refusal of a program that is known not to start; nil: it may.
func refusalOf(container string, o Outcome) error {
	if !o.Failed {
		return nil
	}
	return report{code: o.Code, message: fmt.Sprintf("%s (0x%x)", o.Message, o.Code)}.refusal(container)
}

// maxReport is more than mullion-run.exe writes.
const maxReport = 64 * 1024

// openOwned opens a file of a folder that belongs to a container's user, who may put anything there: links are not
// followed, FIFOs not waited on, and what is no regular file is an error.
func openOwned(file string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%q is no regular file", filepath.Base(file))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// readReport reads a report, and only so much of it. Its folder is the container's: see openOwned.
func readReport(file string) (report, error) {
	f, err := openOwned(file)
	if errors.Is(err, os.ErrNotExist) {
		return report{}, nil
	}
	if err != nil {
		return report{}, fmt.Errorf("read report of program: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxReport))
	if err != nil {
		return report{}, fmt.Errorf("read report of program: %w", err)
	}
	return parseReport(string(data)), nil
}

func parseReport(text string) report {
	var r report
	lines := strings.Split(text, "\n")
	for _, line := range lines[:len(lines)-1] { // what follows the last newline is half a line or nothing
		verb, rest, _ := strings.Cut(line, " ")
		number, message, _ := strings.Cut(rest, " ")
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			continue
		}

		switch {
		case r.failed: // mullion-run.exe says no more then
		case verb == "started" && !r.started:
			r.started, r.pid = true, uint32(n)
		case verb == "failed" && !r.started:
			r.failed = true
			r.code = uint32(n)
			r.message = cleanText(message)
		case verb == "exited":
			r.exited, r.code = true, uint32(n)
		case verb == "left":
			r.left, r.leftNames = uint32(n), cleanText(message)
		}
	}

	return r
}

// maxText is how much is kept of a text that comes from a container: what the kubelet takes of a termination message
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/container/runtime.go#L813).
const maxText = 4096

// cleanText makes a text that comes from a container fit for a message of CRI: a string that is no UTF-8 is not sent
// (https://protobuf.dev/programming-guides/proto3/#scalar), and the kubelet would never hear of the container again.
func cleanText(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") // without half a character
	}
	return text
}
