// Package tools owns the table of the small console programs of Windows that scripts, probes and tests call and that
// Wine lacks, has only as empty programs, or has with less in them. A program, or a few small ones of one subject, is a
// package below this one. They take the options that Windows documents, and have the output and exit codes of Windows'
// programs (https://learn.microsoft.com/windows-server/administration/windows-commands/windows-commands); an option
// that is not implemented is refused, mostly in the words with which Windows refuses an unknown one. All of them are
// built as one program, which chooses by the name of its file.
//
// What a program needs of Windows its package says, mostly as an interface System; the rest is plain Go, and is tested
// on any system.
package tools

import (
	"strings"

	"mullion.dev/mullion/guest/tools/certutil"
	"mullion.dev/mullion/guest/tools/console"
	"mullion.dev/mullion/guest/tools/eventcreate"
	"mullion.dev/mullion/guest/tools/findstr"
	"mullion.dev/mullion/guest/tools/forfiles"
	"mullion.dev/mullion/guest/tools/icacls"
	"mullion.dev/mullion/guest/tools/identity"
	"mullion.dev/mullion/guest/tools/machine"
	"mullion.dev/mullion/guest/tools/net"
	"mullion.dev/mullion/guest/tools/netstat"
	"mullion.dev/mullion/guest/tools/network"
	"mullion.dev/mullion/guest/tools/nslookup"
	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/schtasks"
	"mullion.dev/mullion/guest/tools/text"
	"mullion.dev/mullion/guest/tools/volume"
	"mullion.dev/mullion/guest/tools/wevtutil"
	"mullion.dev/mullion/guest/tools/where"
	"mullion.dev/mullion/guest/tools/wmic"
	"mullion.dev/mullion/guest/tools/xcopy"
	"mullion.dev/mullion/internal/windows/wire/ourprograms"
)

// command runs a program with its arguments, and returns its exit code.
type command func(e program.Env, args []string) int

// programs returns the programs of package ourprograms.
func programs() map[string]command {
	return map[string]command{
		"certutil":       func(e program.Env, args []string) int { return certutil.Run(e, certutil.ThisSystem(), args) },
		"chcp":           func(e program.Env, args []string) int { return console.Chcp(e, console.ThisSystem(), args) },
		"chkdsk":         func(e program.Env, args []string) int { return volume.Chkdsk(e, volume.ThisSystem(), args) },
		"choice":         func(e program.Env, args []string) int { return console.Choice(e, console.ThisSystem(), args) },
		"cipher":         volume.Cipher,
		"comp":           text.Comp,
		"curl":           runCurl,
		"eventcreate":    func(e program.Env, args []string) int { return eventcreate.Run(e, eventcreate.ThisSystem(), args) },
		"fc":             text.FC,
		"find":           text.Find,
		"findstr":        findstr.Run,
		"forfiles":       func(e program.Env, args []string) int { return forfiles.Run(e, forfiles.ThisSystem(), args) },
		"getmac":         func(e program.Env, args []string) int { return network.Getmac(e, network.ThisSystem(), args) },
		"gpresult":       func(e program.Env, args []string) int { return identity.Gpresult(e, identity.ThisSystem(), args) },
		"help":           func(e program.Env, args []string) int { return console.Help(e, console.ThisCommander(), args) },
		"hostname":       func(e program.Env, args []string) int { return network.Hostname(e, network.ThisSystem(), args) },
		"hostservice":    runHostService,
		"icacls":         func(e program.Env, args []string) int { return icacls.Run(e, icacls.ThisSystem(), args) },
		"ipconfig":       func(e program.Env, args []string) int { return network.Ipconfig(e, network.ThisSystem(), args) },
		"klist":          func(e program.Env, args []string) int { return identity.Klist(e, identity.ThisSystem(), args) },
		"label":          func(e program.Env, args []string) int { return volume.Label(e, volume.ThisSystem(), args) },
		"logmonitor":     runLogMonitor,
		"more":           func(e program.Env, args []string) int { return text.More(e, text.ThisScreen(), args) },
		"net":            func(e program.Env, args []string) int { return net.Run(e, net.ThisSystem(), args) },
		"netsh":          func(e program.Env, args []string) int { return network.Netsh(e, network.ThisSystem(), args) },
		"netstat":        func(e program.Env, args []string) int { return netstat.Run(e, netstat.ThisSystem(), args) },
		"nltest":         func(e program.Env, args []string) int { return identity.Nltest(e, identity.ThisSystem(), args) },
		"nslookup":       func(e program.Env, args []string) int { return nslookup.Run(e, nslookup.ThisSystem(), args) },
		"query":          func(e program.Env, args []string) int { return identity.Query(e, identity.ThisSystem(), args) },
		"quser":          func(e program.Env, args []string) int { return identity.Quser(e, args) },
		"qwinsta":        func(e program.Env, args []string) int { return identity.Qwinsta(e, identity.ThisSystem(), args) },
		"robocopy":       runRobocopy,
		"route":          func(e program.Env, args []string) int { return network.Route(e, network.ThisSystem(), args) },
		"sc":             runSC,
		"schtasks":       runSchtasks,
		"servicemonitor": runServiceMonitor,
		"setx":           func(e program.Env, args []string) int { return machine.Setx(e, machine.ThisSystem(), args) },
		"shutdown":       func(e program.Env, args []string) int { return machine.Shutdown(e, machine.ThisSystem(), args) },
		"sort":           text.Sort,
		"systeminfo":     func(e program.Env, args []string) int { return machine.Systeminfo(e, machine.ThisSystem(), args) },
		"takeown":        func(e program.Env, args []string) int { return identity.Takeown(e, identity.ThisSystem(), args) },
		"tar":            runTar,
		"taskeng":        func(e program.Env, _ []string) int { return schtasks.Engine(e) },
		"tasklist":       func(e program.Env, args []string) int { return machine.Tasklist(e, machine.ThisSystem(), args) },
		"timeout":        func(e program.Env, args []string) int { return console.Timeout(e, console.ThisSystem(), args) },
		"tracert":        func(e program.Env, args []string) int { return network.Tracert(e, network.ThisTracing(), args) },
		"tree":           func(e program.Env, args []string) int { return volume.Tree(e, volume.ThisSystem(), args) },
		"tzutil":         func(e program.Env, args []string) int { return machine.Tzutil(e, machine.ThisSystem(), args) },
		"w32tm":          func(e program.Env, args []string) int { return machine.W32tm(e, machine.ThisSystem(), args) },
		"w3svc":          runW3SVC,
		"wevtutil":       func(e program.Env, args []string) int { return wevtutil.Run(e, wevtutil.ThisSystem(), args) },
		"where":          where.Run,
		"whoami":         func(e program.Env, args []string) int { return identity.Whoami(e, identity.ThisSystem(), args) },
		"wmic":           func(e program.Env, args []string) int { return wmic.Run(e, wmic.ThisSystem(), args) },
		"xcopy":          xcopy.Run,
	}
}

// exitUnknown is the exit code for a name that is no program of the table.
const exitUnknown = 1

// Run runs the program named by the file self, and returns its exit code.
func Run(e program.Env, self string, args []string) int {
	name := strings.ToLower(self[strings.LastIndexAny(self, `\/`)+1:])
	name, _, _ = strings.Cut(name, ".")
	run, ok := programs()[name]
	if !ok {
		e.Complain("%s: the programs here are %s", name, strings.Join(ourprograms.Names(), ", "))
		return exitUnknown
	}
	return run(e, args)
}
