package cri

// What this server and the Host Compute Service (package hcs) have in common: how a program of a container is started,
// as whom, with what environment, and how it fared. It is computed here alone.

// Program is a program of a container that is no pod's. Report and Env are Linux paths in the container.
type Program struct {
	// Report is the file to which mullion-run.exe writes how the program fared, Env the one with its environment.
	Report, Env string
	// Dir is the Windows path in which the program starts.
	Dir string
	// CommandLine is a whole command line, which Windows splits; "": the program and its arguments are Args, which are
	// one command line with Raw.
	CommandLine string
	Args        []string
	Raw         bool
	// Memory is how much the programs of the container may commit, in bytes; 0: there is no limit. Searches are its DNS
	// suffixes. Both are the container's, and said with its first program.
	Memory   int64
	Searches []string
	// Settle says that the registry is to be in the container's files once the program has ended.
	Settle bool
}

// Arguments is the Linux command line that runs a program in a running container.
func (l Launch) Arguments(p Program) []string {
	args, raw := p.Args, p.Raw
	if p.CommandLine != "" {
		args, raw = []string{p.CommandLine}, true
	}
	return l.programArgs(runSpec{
		report:   p.Report,
		env:      p.Env,
		dir:      p.Dir,
		memory:   p.Memory,
		searches: p.Searches,
		raw:      raw,
		args:     args,
	})
}

// FirstArguments is the Linux command line of PID 1 of a container, which runs the program.
func (l Launch) FirstArguments(p Program) []string {
	if l.Init == "" {
		return l.Arguments(p)
	}
	first := []string{l.Init}
	if p.Settle {
		first = append(first, "--settle", "--")
	}
	return append(first, l.Arguments(p)...)
}

// Outcome is how a program of a container fared, as it says itself.
type Outcome struct {
	// Started says that the program runs, as the Windows process PID.
	Started bool
	PID     uint32
	// Failed says that it did not start. Code is Windows' error, and Message Windows' words for it.
	Failed  bool
	Message string
	// Exited says that it has ended, with Code.
	Exited bool
	Code   uint32
}

// ReadOutcome reads the report of a program. There is none until mullion-run.exe has written one.
func ReadOutcome(file string) (Outcome, error) {
	r, err := readReport(file)
	return Outcome{
		Started: r.started,
		PID:     r.pid,
		Failed:  r.failed,
		Message: r.message,
		Exited:  r.exited,
		Code:    r.code,
	}, err
}

// UserID is the id in a container of a user that every container has, by its name on Windows.
func UserID(name string) (uint32, error) { return lookupUser(name) }

// Resolver is the resolv.conf of a container.
func Resolver(dns DNS, asLinux bool) (string, error) { return windowsResolver(dns, asLinux) }

// Drive is the Linux path of C:\ in a container, in which its programs are started.
const Drive = driveRoot
