package powershell

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"unicode/utf16"

	"mullion.dev/mullion/guest/eventlog"
	"mullion.dev/mullion/internal/windows/wire/hostdisk"
	"mullion.dev/mullion/internal/windows/wire/hostiscsi"
	"mullion.dev/mullion/internal/windows/wire/smbmapping"
)

// Session is one run of powershell.exe.
type Session struct {
	// Args are the program's arguments, without its name.
	Args []string
	// Environ is its environment, as name=value.
	Environ []string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	// Self is the program's own file, with which jobs are run.
	Self string
	// Newline ends lines: "\r\n" on Windows.
	Newline string
	// Interrupts, asked for by a prompt only, gives a channel that has a value for each Ctrl+C, which then does not end
	// the process; nil: nobody presses it.
	Interrupts func() <-chan struct{}
	// windows replaces the calls of Windows in tests; nil: the real ones.
	windows *system
}

// system holds the calls of Windows: the Host Networking Service, version 1, access lists, processes, services, network
// adapters and routes, Windows' version, records of DNS, opening a port, clearing the screen, ending a process and
// Windows itself, the registry and WMI.
type system struct {
	hns func(method, path, body string) (string, error)
	// compute asks the Host Compute Service what it runs.
	compute func(query string) (string, error)
	acl     func(path string) (acl, error)
	// setACL gives a file a descriptor's owner and rules. descriptor reads one from its text.
	setACL     func(path string, a acl) error
	descriptor func(sddl string) (acl, error)
	// account finds an account by its name or SID.
	account func(name string) (sid, full string, err error)

	processes func() ([]process, error)
	// commandLine is how a process was started.
	commandLine func(id int64) (string, error)

	adapters func() ([]adapter, error)
	services func() ([]service, error)
	control  func(ctx context.Context, name, action string, force bool) error
	// newService makes a service, setService changes one.
	newService, setService func(change serviceChange) error

	routes func() ([]route, error)
	// addRoute makes a route, removeRoute removes one.
	addRoute, removeRoute func(route) error
	// forwards reports whether packets that are not for this Windows are passed on.
	forwards func() (bool, error)

	// volumes are the volumes of this machine.
	volumes func() ([]volume, error)
	// disks asks for the data disks of the host. mountVolume has an empty folder lead to a volume, unmountVolume makes
	// it a folder again.
	disks         func(ctx context.Context, request hostdisk.Request) (hostdisk.Answer, error)
	mountVolume   func(path, volume string) error
	unmountVolume func(path string) error

	// iscsi asks for the host's iSCSI initiator.
	iscsi func(ctx context.Context, request hostiscsi.Request) (hostiscsi.Answer, error)
	// smb asks for SMB mappings.
	smb func(ctx context.Context, request smbmapping.Request) (smbmapping.Answer, error)

	version func() (string, error)
	resolve func(name string, kind uint16) ([]dnsRecord, error)
	listen  func(ctx context.Context, network, address string) (net.Listener, error)
	clear   func(screen io.Writer) error
	kill    func(id int64) error
	end     func(restart bool) error // ends Windows
	// zone is the ID of the time zone, setZone sets it.
	zone     func() (string, error)
	setZone  func(id string) error
	registry registryCalls
	wmi      func(ctx context.Context, namespace, query string) ([]wmiObject, error)
	events   eventLog
}

func (s *Session) system() system {
	if s.windows != nil {
		return *s.windows
	}
	return system{
		hns:       callHNS,
		compute:   enumerateCompute,
		acl:       readACL,
		processes: processes,

		setACL:     writeACL,
		descriptor: parseACL,
		account:    findAccount,

		commandLine: commandLine,

		adapters:   adapters,
		services:   services,
		control:    control,
		newService: createService,
		setService: changeService,
		routes:     routes,

		addRoute:    addRoute,
		removeRoute: removeRoute,
		forwards:    forwards,
		volumes:     volumes,
		disks:       askForDisks,

		mountVolume:   mountVolume,
		unmountVolume: unmountVolume,

		smb:   askForSMB,
		iscsi: askForISCSI,

		version:  windowsVersion,
		resolve:  resolve,
		listen:   (&net.ListenConfig{}).Listen,
		clear:    clearScreen,
		kill:     killProcess,
		end:      endWindows,
		zone:     currentZone,
		setZone:  setZone,
		registry: theRegistry(),
		wmi:      queryWMI,
		events:   eventlog.System{},
	}
}

// ExitRefused is the exit code of a refused script, and of a script whose last command failed: PowerShell's own
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_powershell_exe).
const ExitRefused = 1

// ignored are the arguments of Windows PowerShell that change nothing here, each with the values that it may have:
// there are no profiles, no prompt, no logo, no window and no apartments of COM, scripts are not signed, and input and
// output are text. Others are refused.
func ignored() map[string][]string {
	policies := []string{"bypass", "unrestricted", "remotesigned"}
	return map[string][]string{
		"noprofile": nil, "nop": nil, "noninteractive": nil, "noni": nil, "nologo": nil, "sta": nil, "mta": nil,
		"executionpolicy": policies, "ex": policies, "ep": policies, "exec": policies,
		"windowstyle":  {"normal", "minimized", "maximized", "hidden"},
		"w":            {"normal", "minimized", "maximized", "hidden"},
		"outputformat": {"text"}, "inputformat": {"text"},
	}
}

// work is the script that the arguments name.
type work struct {
	text string   // a script
	file string   // or a file with one, and
	args []string // its arguments

	prompt bool // or that commands are typed
	nologo bool
}

func (s *Session) work() (work, error) {
	args := s.Args
	w := work{prompt: true}
	for len(args) > 0 {
		arg := args[0]
		if !strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "/") || strings.Count(arg, "/") > 1 {
			return work{text: strings.Join(args, " ")}, nil
		}
		args = args[1:]
		name := lower(strings.TrimLeft(arg, "-/"))
		switch name {
		case "c", "command":
			return s.command(args)
		case "f", "file":
			if len(args) == 0 {
				return work{}, fmt.Errorf("%s needs a file", arg)
			}
			return work{file: args[0], args: args[1:]}, nil
		case "e", "ec", "enc", "encodedcommand":
			if len(args) == 0 {
				return work{}, fmt.Errorf("%s needs a command", arg)
			}
			text, err := decode(args[0])
			return work{text: text}, err
		default:
			allowed, skip := ignored()[name]
			if !skip {
				return work{}, fmt.Errorf("the argument %s is not part of Mullion's PowerShell", arg)
			}
			if allowed == nil {
				w.nologo = w.nologo || name == "nologo"
				continue
			}
			if len(args) == 0 || !slices.Contains(allowed, lower(args[0])) {
				given := strings.Join(args[:min(1, len(args))], "")
				return work{}, fmt.Errorf("the argument %s with %q is not part of Mullion's PowerShell", arg, given)
			}
			args = args[1:]
		}
	}
	return w, nil
}

// command returns the script of -Command; for - it reads standard input.
func (s *Session) command(args []string) (work, error) {
	if len(args) == 1 && args[0] == "-" {
		text, err := io.ReadAll(s.Stdin)
		return work{text: string(text)}, err
	}
	if len(args) == 0 {
		return work{}, errors.New("-Command needs a command")
	}
	return work{text: strings.Join(args, " ")}, nil
}

// decode reads -EncodedCommand: base64 of UTF-16, the low byte first.
func decode(text string) (string, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data)%2 != 0 {
		return "", errors.New("the encoded command is not base64 of UTF-16")
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = uint16(data[2*i]) | uint16(data[2*i+1])<<8
	}
	return string(utf16.Decode(units)), nil
}

// encode is the reverse of decode.
func encode(text string) string {
	var data []byte
	for _, u := range utf16.Encode([]rune(text)) {
		data = append(data, byte(u), byte(u>>8))
	}
	return base64.StdEncoding.EncodeToString(data)
}

// Run runs the script that the arguments name, and returns the exit code.
func (s *Session) Run(ctx context.Context) int {
	w, err := s.work()
	if err != nil {
		return s.refuse(err)
	}
	if w.prompt {
		return s.prompt(ctx, !w.nologo)
	}
	in := newInterpreter(ctx, s)
	defer in.close()
	if w.file != "" {
		err = in.runFile(in.top, w.file, w.args, feed{}, in.screen)
	} else {
		var script *Script
		if script, err = in.read(in.top, w.text); err == nil {
			defer in.enter(script)()
			err = script.run(in.top, nil, feed{}, in.screen)
		}
	}
	in.format.end()
	return s.code(in, w, err)
}

// close ends what the script has left open.
func (in *interpreter) close() {
	for _, end := range in.closers {
		end()
	}
}

// code is the exit code for how a script ended.
func (s *Session) code(in *interpreter, w work, err error) int {
	var refused *Refusal
	var left *leaving
	switch {
	case errors.As(err, &refused):
		fmt.Fprintf(s.Stderr, "%s%s", refused.lines(s.Newline), s.Newline)
		return ExitRefused
	case errors.As(err, &left) && left.word == "exit":
		return left.code
	case errors.As(err, &left) && left.word != "throw": // return, break: the end of the script
		err = nil
	}
	if err != nil {
		fmt.Fprintf(s.Stderr, "%v%s", err, s.Newline)
		return ExitRefused
	}
	if w.file == "" && !in.ok {
		return ExitRefused
	}
	return 0
}

func (s *Session) refuse(err error) int {
	fmt.Fprintf(
		s.Stderr, "powershell.exe: %v.%[2]sNothing was run. `mullion support` and docs/compat list what Mullion's PowerShell has.%[2]s",
		strings.TrimSuffix(err.Error(), "."), s.Newline)
	return ExitRefused
}

// read parses and checks a script.
func (in *interpreter) read(f *frame, text string) (*Script, error) {
	return in.readIn(f, text, "")
}

// readIn reads and checks a script that is in a file, or in none.
func (in *interpreter) readIn(f *frame, text, file string) (*Script, error) {
	return parseFile(text, file)
}

// readFile reads and checks a script file.
func (in *interpreter) readFile(f *frame, file string) (*Script, error) {
	text, err := os.ReadFile(in.path(file))
	if err != nil {
		return nil, thrown("The script file: %v", because(file, err))
	}
	script, err := in.readIn(f, scriptText(text), in.path(file))
	if err != nil {
		return nil, err
	}
	script.file = in.path(file)
	return script, nil
}

// runFile runs a script file with arguments.
func (in *interpreter) runFile(f *frame, file string, args []string, fed feed, out *sink) error {
	script, err := in.readFile(f, file)
	if err != nil {
		return err
	}
	var passed []argument
	for _, a := range args {
		if name, ok := strings.CutPrefix(a, "-"); ok && name != "" {
			passed = append(passed, argument{param: lower(name), text: a})
		} else {
			passed = append(passed, argument{x: &literal{a}})
		}
	}
	return in.callScript(f, script, passed, fed, out)
}
