package network

import "mullion.dev/mullion/guest/tools/program"

// Hostname prints the computer's name in DNS, which is that of the pod or node, in its own case and length
// (https://learn.microsoft.com/windows-server/administration/windows-commands/hostname).
func Hostname(e program.Env, sys System, args []string) int {
	if len(args) == 0 {
		e.Print("%s", sys.HostName())
		return 0
	}

	if name, is := program.Option(args[0]); is && name == "?" {
		e.Print("")
		e.Print("Prints the name of the current host.")
		e.Print("")
		e.Print("hostname")
		return 0
	}
	e.Complain("sethostname: Use the Network Control Panel Applet to set hostname.")
	e.Complain("hostname -s is not supported.")

	return 1
}
