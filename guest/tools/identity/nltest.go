package identity

import (
	"fmt"
	"strings"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/internal/windows/wire/credspec"
)

// Nltest says what there is to say of the domain that a container is in: its name, and whether the domain has given the
// container's account a ticket, which is all that a container here has of a secure channel
// (https://learn.microsoft.com/previous-versions/windows/it-pro/windows-server-2012-r2-and-2012/cc731935(v=ws.11)).
func Nltest(e program.Env, sys System, args []string) int {
	if len(args) == 0 {
		return nltestUsage(e)
	}
	command, domain := args[0], ""
	if i := strings.IndexByte(command, ':'); i >= 0 {
		command, domain = command[:i], command[i+1:]
	}

	name, is := program.Option(command)
	if !is || len(args) > 1 {
		return nltestUsage(e)
	}

	d, err := sys.Domain()
	joined := err == nil
	switch name {
	case "parentdomain":
		return parentDomain(e, d, joined)
	case "query":
		if !joined {
			return failed(e, "I_NetLogonControl", credspec.ServerUnavailable)
		}
		e.Print("Flags: 0")
		e.Print("Connection Status = %s", status(d.Status))
		return completed(e)

	case "sc_query", "sc_verify", "sc_reset":
		return channel(e, name, domain, d, joined)
	case "dsgetdc":
		return controller(e, domain, d, joined)
	}

	return nltestUsage(e)
}

func nltestUsage(e program.Env) int {
	e.Print("Usage: nltest [/OPTIONS]")
	e.Print("")
	e.Print("    /QUERY - Query <ServerName> netlogon service")
	e.Print("    /SC_QUERY:<DomainName> - Query secure channel for <Domain> on <ServerName>")
	e.Print("    /SC_VERIFY:<DomainName> - Verify secure channel for <Domain> on <ServerName>")
	e.Print("    /SC_RESET:<DomainName> - Reset secure channel for <Domain> on <ServerName>")
	e.Print("    /DSGETDC:<DomainName> - Call DsGetDcName")
	e.Print("    /PARENTDOMAIN - Get the name of the parent domain of this machine")
	return 1
}

// parentDomain prints the domain; 1 says that its name is that of DNS.
func parentDomain(e program.Env, d credspec.Domain, joined bool) int {
	if !joined {
		return failed(e, "Getting parent domain", credspec.ServerUnavailable)
	}
	e.Print("%s. (1)", strings.TrimSuffix(d.DNSName, "."))
	return completed(e)
}

func completed(e program.Env) int {
	e.Print("The command completed successfully")
	return 0
}

func failed(e program.Env, what string, code int) int {
	e.Print("%s failed: Status = %s", what, status(code))
	return 1
}

// status returns how nltest prints an error: its number twice, and its name.
func status(code int) string {
	name := map[int]string{
		0: "NERR_Success", credspec.NoLogonServers: "ERROR_NO_LOGON_SERVERS", credspec.NoSuchDomain: "ERROR_NO_SUCH_DOMAIN",
		credspec.ServerUnavailable: "RPC_S_SERVER_UNAVAILABLE",
	}[code]
	return strings.TrimRight(fmt.Sprintf("%d 0x%x %s", code, code, name), " ")
}

func channel(e program.Env, command, domain string, d credspec.Domain, joined bool) int {
	switch {
	case !joined:
		return failed(e, "I_NetLogonControl", credspec.ServerUnavailable)
	case domain == "":
		return nltestUsage(e)
	case !ours(d, domain):
		return failed(e, "I_NetLogonControl", credspec.NoSuchDomain)
	}

	flags, dc := "0", ""
	if d.Status == 0 {
		flags, dc = "30 HAS_IP  HAS_TIMESERV", `\\`+d.Controller
		if command == "sc_verify" {
			flags = "b0 HAS_IP  HAS_TIMESERV"
		}
	}

	e.Print("Flags: %s", flags)
	e.Print("Trusted DC Name %s", dc)
	e.Print("Trusted DC Connection Status Status = %s", status(d.Status))
	if command == "sc_verify" {
		e.Print("Trust Verification Status = %s", status(d.Status))
	}

	return completed(e)
}

// ours reports whether a domain is the container's.
func ours(d credspec.Domain, name string) bool {
	name = strings.TrimSuffix(name, ".")
	return strings.EqualFold(name, d.DNSName) || strings.EqualFold(name, d.NetBiosName)
}

func controller(e program.Env, domain string, d credspec.Domain, joined bool) int {
	if !joined || d.Controller == "" || (domain != "" && !ours(d, domain)) {
		return failed(e, "Getting DC name", credspec.NoSuchDomain)
	}
	address := d.Controller
	if d.Address.IsValid() {
		address = d.Address.String()
	}

	for _, row := range [][2]string{
		{"DC", `\\` + d.Controller},
		{"Address", `\\` + address},
		{"Dom Guid", d.GUID},
		{"Dom Name", d.DNSName},
		{"Forest Name", d.DNSTreeName},
		{"Dc Site Name", "Default-First-Site-Name"},
		{"Our Site Name", "Default-First-Site-Name"},
		{"Flags", "KDC DNS_DC DNS_DOMAIN DNS_FOREST"},
	} {
		e.Print("%13s: %s", row[0], row[1])
	}

	return completed(e)
}
