package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/internal/windows/wire/credspec"
)

// Klist lists the tickets of the container's account
// (https://learn.microsoft.com/windows-server/administration/windows-commands/klist). The tickets are the container's, and
// there is one session. Tickets are not purged: the node gives the container another one only when it renews it.
func Klist(e program.Env, sys System, args []string) int {
	command := "tickets"
	if len(args) > 0 {
		command = strings.ToLower(args[0])
	}
	if len(args) > 1 || (command != "tickets" && command != "tgt" && command != "sessions") {
		e.Print("klist.exe [tickets | tgt | sessions]")
		return 1
	}

	e.Print("")
	if command == "sessions" {
		e.Print("Current LogonId is 0:0x3e7")
		e.Print("[0] Session 0 0:0x3e7 Kerberos:Service")
		return 0
	}

	tickets, err := sys.Tickets()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.Complain("klist: %v", err)
		return 1
	}

	e.Print("Current LogonId is 0:0x3e7")
	if command == "tgt" {
		tickets = granting(tickets)
		if len(tickets) == 0 {
			e.Print("")
			e.Print("Error calling API LsaCallAuthenticationPackage (Ticket Granting Ticket substatus): 1312")
			e.Print("klist failed with 0xc000005f/-1073741729: A specified logon session does not exist. It may already have been terminated.")
			return 1
		}
	}

	e.Print("")
	e.Print("Cached Tickets: (%d)", len(tickets))
	for i, t := range tickets {
		e.Print("")
		e.Print("#%d>\tClient: %s @ %s", i, t.Client, t.ClientRealm)
		e.Print("\tServer: %s @ %s", t.Server, t.ServerRealm)
		e.Print("\tKerbTicket Encryption Type: %s", keyKind(t.Kind))
		e.Print("\tTicket Flags 0x%x -> %s", t.Flags, flagNames(t.Flags))
		e.Print("\tStart Time: %s", localTime(t.Start))
		e.Print("\tEnd Time:   %s", localTime(t.End))
		e.Print("\tRenew Time: %s", localTime(t.RenewTill))
		e.Print("\tSession Key Type: %s", keyKind(t.Kind))
	}

	return 0
}

// granting returns the ticket-granting tickets.
func granting(all []credspec.Cached) []credspec.Cached {
	var some []credspec.Cached
	for _, t := range all {
		if strings.HasPrefix(t.Server, "krbtgt/") {
			some = append(some, t)
		}
	}
	return some
}

func localTime(t time.Time) string {
	if t.IsZero() {
		return "0"
	}
	t = t.Local()
	return fmt.Sprintf("%s %d:%s (local)", t.Format("1/2/2006"), t.Hour(), t.Format("04:05"))
}

func keyKind(kind int) string {
	switch kind {
	case 17:
		return "AES-128-CTS-HMAC-SHA1-96"
	case 18:
		return "AES-256-CTS-HMAC-SHA1-96"
	}
	return fmt.Sprintf("Unknown (%d)", kind)
}

// flagNames returns the names of a ticket's flags, the highest bit first (RFC 4120, 2).
func flagNames(flags uint32) string {
	var names []string
	for i, name := range []string{
		"", "forwardable", "forwarded", "proxiable", "proxy", "may_postdate", "postdated", "invalid", "renewable", "initial",
		"pre_authent", "hw_authent", "transited_policy_checked", "ok_as_delegate", "", "name_canonicalize",
	} {
		if name != "" && flags&(1<<(31-i)) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}
