package identity

import (
	"slices"
	"strconv"
	"strings"

	"mullion.dev/mullion/guest/tools/program"
)

// Quser is quser.exe (https://learn.microsoft.com/windows-server/administration/windows-commands/quser). Nobody logs on
// to a host or a container here, so it says of everybody what Windows says of those who are not logged on.
func Quser(e program.Env, args []string) int {
	who, refused := "*", false
	server := false
	for _, arg := range args {
		name, _, has := strings.Cut(strings.ToLower(arg), ":")
		switch {
		case name == "/?":
			e.Print("Display information about users logged on to the system.\r\n\r\n" +
				"QUERY USER [username | sessionname | sessionid] [/SERVER:servername]\r\n")
			return 0
		case name == "/server" && has:
			server = true
		case strings.HasPrefix(arg, "/"), who != "*":
			refused = true
		default:
			who = arg
		}
	}

	switch {
	case refused:
		e.Complain("Invalid parameter(s)\r\nQUERY USER [username | sessionname | sessionid] [/SERVER:servername]")
	case server:
		e.Complain("Error 0x000006BA enumerating sessionnames\r\nError [1722]:The RPC server is unavailable.")
	default:
		e.Complain("No User exists for %s", who)
	}
	return 1
}

// Qwinsta is qwinsta.exe: the sessions, of which there is that of the services and the console's, where nobody is
// logged on (https://learn.microsoft.com/windows-server/administration/windows-commands/qwinsta).
func Qwinsta(e program.Env, sys System, args []string) int {
	want := ""
	for _, arg := range args {
		switch {
		case arg == "/?":
			e.Print("Display information about Remote Desktop Sessions.\r\n\r\nQUERY SESSION [sessionname | username | sessionid] [/SERVER:servername]\r\n")
			return 0
		case strings.HasPrefix(strings.ToLower(arg), "/server:"):
			e.Complain("Error 0x000006BA enumerating sessionnames\r\nError [1722]:The RPC server is unavailable.")
			return 1
		case strings.HasPrefix(arg, "/"), want != "":
			e.Complain("Invalid parameter(s)\r\nQUERY SESSION [sessionname | username | sessionid] [/SERVER:servername]")
			return 1
		}
		want = arg
	}

	rows := [][3]string{{"services", "0", "Disc"}, {"console", "1", "Conn"}}
	rows = slices.DeleteFunc(rows, func(r [3]string) bool {
		return want != "" && want != r[1] && !strings.EqualFold(want, r[0])
	})
	if len(rows) == 0 {
		e.Complain("No session exists for %s", want)
		return 1
	}

	e.Print(" SESSIONNAME       USERNAME                 ID  STATE   TYPE        DEVICE ")
	for _, r := range rows {
		mark := " "
		if r[1] == strconv.Itoa(int(sys.Session())) {
			mark = ">"
		}
		e.Print("%s%-18s%-22s%5s  %-8s%-12s%-7s", mark, r[0], "", r[1], r[2], "", "")
	}
	return 0
}

// Query is query.exe, which leads to the two of them
// (https://learn.microsoft.com/windows-server/administration/windows-commands/query).
func Query(e program.Env, sys System, args []string) int {
	if len(args) > 0 {
		switch strings.ToLower(args[0]) {
		case "user":
			return Quser(e, args[1:])
		case "session":
			return Qwinsta(e, sys, args[1:])
		case "process", "termserver":
			e.Complain("QUERY %s is not here; tasklist lists the processes.", strings.ToUpper(args[0]))
			return 1
		}
	}
	e.Complain("Invalid parameter(s)\r\nQUERY { PROCESS | SESSION | TERMSERVER | USER }")
	return 1
}

// Gpresult is gpresult.exe (https://learn.microsoft.com/windows-server/administration/windows-commands/gpresult). No
// policies of groups are applied here, so there is nothing that it could report, which it says as Windows' does.
func Gpresult(e program.Env, sys System, args []string) int {
	if len(args) == 0 {
		gpresultUsage(e)
		return 1
	}

	q := resultOf{e: e}
	if code, ends := q.read(args); ends {
		return code
	}

	if !q.shows {
		e.Invalid("gpresult", "Specify one of the options /R, /V, /Z, /H or /X.")
		return 1
	}
	if id, err := sys.Identity(); q.who == "" && err == nil {
		q.who = id.User
	}
	e.Print("INFO: The user \"%s\" does not have RSoP data.", q.who)
	return 1
}

// resultOf is what gpresult is asked for.
type resultOf struct {
	e     program.Env
	who   string
	shows bool
}

// read reads the options; ends says that the program is over.
func (q *resultOf) read(args []string) (code int, ends bool) {
	for len(args) > 0 {
		name, is := program.Option(args[0])
		switch {
		case is && name == "?":
			gpresultUsage(q.e)
			return 0, true
		case !is || !slices.Contains([]string{"s", "u", "p", "scope", "user", "r", "v", "z", "h", "x", "f"}, name):
			q.e.Unknown("gpresult", args[0])
			return 1, true
		case name == "r", name == "v", name == "z", name == "f":
			q.shows = q.shows || name != "f"
			args = args[1:]
			continue
		}

		if len(args) > 1 && !strings.HasPrefix(args[1], "/") {
			if !q.value(name, args[0], args[1]) {
				return 1, true
			}
			args = args[2:]
			continue
		}
		if name != "p" { // whose value may be left out
			q.e.Invalid("gpresult", "Value expected for '"+args[0]+"'.")
			return 1, true
		}
		args = args[1:]
	}

	return 0, false
}

// value takes the value of an option; it returns false if it has refused it.
func (q *resultOf) value(name, option, value string) bool {
	switch name {
	case "user":
		q.who = value
	case "s":
		q.e.Complain("ERROR: The RPC server is unavailable.")
		return false
	case "scope":
		if scope := strings.ToLower(value); scope != "user" && scope != "computer" {
			q.e.Invalid("gpresult", "'"+value+"' value is not allowed for '"+option+"' option.")
			return false
		}
	case "h", "x":
		q.shows = true
	}
	return true
}

func gpresultUsage(e program.Env) {
	e.Print("\r\nGPRESULT [/S system [/U username [/P [password]]]] [/SCOPE scope]\r\n" +
		"           [/USER targetusername] [/R | /V | /Z] [(/X | /H) <filename> [/F]]\r\n")
}
