package tools

// hostname prints the computer's name in DNS, which is that of the pod or node, in its own case and length
// (https://learn.microsoft.com/windows-server/administration/windows-commands/hostname).
func hostname(e Env, args []string) int {
	if len(args) == 0 {
		e.print("%s", e.System.HostName())
		return 0
	}
	if name, is := option(args[0]); is && name == "?" {
		e.print("")
		e.print("Prints the name of the current host.")
		e.print("")
		e.print("hostname")
		return 0
	}
	e.complain("sethostname: Use the Network Control Panel Applet to set hostname.")
	e.complain("hostname -s is not supported.")
	return 1
}
