package net

import (
	"strings"

	"mullion.dev/mullion/guest/tools/program"
)

// share is net share (https://learn.microsoft.com/windows-server/administration/windows-commands/net-share). There is
// no service that shares folders here, which it says as Windows' does where that service does not run.
func share(e program.Env, args []string) int {
	for _, arg := range args {
		if arg == "/?" || strings.EqualFold(arg, "/help") {
			e.Complain("The syntax of this command is:\r\n\r\nNET SHARE\r\nsharename\r\n" +
				"          sharename=drive:path [/GRANT:user,[READ | CHANGE | FULL]]\r\n          {sharename | devicename | drive:path} /DELETE\r\n")
			return netDone
		}
	}
	e.Complain("The Server service is not started.\r\n\r\nMore help is available by typing NET HELPMSG 2114.\r\n")
	return netFailed
}

// view is net view (https://learn.microsoft.com/previous-versions/windows/it-pro/windows-server-2012-r2-and-2012/hh875576(v=ws.11)).
// Nothing here lists the computers of a network, nor the shares of another computer.
func view(e program.Env, args []string) int {
	switch {
	case len(args) == 1 && (args[0] == "/?" || strings.EqualFold(args[0], "/help")):
		e.Complain("The syntax of this command is:\r\n\r\nNET VIEW\r\n[\\\\computername [/CACHE] | [/ALL] | /DOMAIN[:domainname]]\r\n")
		return netDone
	case len(args) > 0 && strings.HasPrefix(args[0], `\\`):
		e.Complain("System error 50 has occurred.\r\n\r\nThe request is not supported.\r\n")
	default:
		e.Complain("System error 6118 has occurred.\r\n\r\nThe list of servers for this workgroup is not currently available\r\n")
	}
	return netFailed
}
