package identity

import (
	"slices"
	"strings"

	"mullion.dev/mullion/guest/token"
	"mullion.dev/mullion/guest/tools/program"
)

// identity holds whoami's arguments
// (https://learn.microsoft.com/windows-server/administration/windows-commands/whoami).
type identity struct {
	printed                          bool // whether there is a part before
	format                           string
	user, groups, privileges, claims bool
	noHeader                         bool
	single                           string // upn, fqdn or logonid
}

// Whoami prints the user whom the program runs as.
func Whoami(e program.Env, sys System, args []string) int {
	w, code := parseWhoami(e, args)
	if code >= 0 {
		return code
	}
	who, err := sys.Identity()
	if err != nil {
		e.Complain("ERROR: %v", err)
		return 1
	}

	switch {
	case w.single == "logonid":
		e.Print("%s", who.Logon)
		return 0
	case w.single != "":
		e.Complain("ERROR: Unable to get %s as the current logged-on user", map[string]string{
			"upn": "User Principal Name (UPN)", "fqdn": "Fully Qualified Distinguished Name (FQDN)",
		}[w.single])
		e.Complain("       is not a domain user.")
		return 1

	case !w.user && !w.groups && !w.privileges && !w.claims:
		e.Print("%s", strings.ToLower(who.User))
		return 0
	}

	w.print(e, who)
	return 0
}

// parseWhoami reads the arguments. The code is negative if there is something to print.
func parseWhoami(e program.Env, args []string) (w identity, code int) {
	w.format = "table"
	for i := 0; i < len(args); i++ {
		name, _ := program.Option(args[i])
		switch name {
		case "?":
			e.Print("")
			e.Print("WHOAMI has several options. Without one it displays the user name as DOMAIN\\username.")
			e.Print("")
			e.Print("WHOAMI [/UPN | /FQDN | /LOGONID]")
			e.Print("WHOAMI { [/USER] [/GROUPS] [/CLAIMS] [/PRIV] } [/FO format] [/NH]")
			e.Print("WHOAMI /ALL [/FO format] [/NH]")
			return w, 0

		case "fo":
			if i++; i == len(args) {
				e.Invalid("whoami", "Value expected for '"+args[i-1]+"'.")
				return w, 1
			}
			w.format = strings.ToLower(args[i])
			if !slices.Contains([]string{"table", "list", "csv"}, w.format) {
				e.Invalid("whoami", "'"+args[i]+"' value is not allowed for '"+args[i-1]+"' option.")
				return w, 1
			}

		default:
			if !w.take(name) {
				e.Unknown("whoami", args[i])
				return w, 1
			}
		}
	}

	if w.single != "" && (len(args) > 1) {
		e.Invalid("whoami", "")
		return w, 1
	}
	if w.noHeader && w.format == "list" {
		e.Invalid("whoami", `/NH option is allowed only for "TABLE" and "CSV" formats.`)
		return w, 1
	}

	return w, -1
}

// take takes an option without a value, if there is such a one.
func (w *identity) take(name string) bool {
	switch name {
	case "upn", "fqdn", "logonid":
		w.single = name
	case "user":
		w.user = true
	case "groups":
		w.groups = true
	case "priv":
		w.privileges = true
	case "claims":
		w.claims = true
	case "all":
		w.user = true
		w.groups = true
		w.claims = true
		w.privileges = true
	case "nh":
		w.noHeader = true
	default:
		return false
	}

	return true
}

// print prints the parts that are asked for, each after an empty line.
func (w *identity) print(e program.Env, who token.Identity) {
	if w.user {
		w.section(e, "USER INFORMATION", []string{"User Name", "SID"}, [][]string{{strings.ToLower(who.User), who.SID}})
	}

	if w.groups {
		var rows [][]string
		for _, g := range who.Groups {
			rows = append(rows, []string{g.Name, g.Type, g.SID, strings.Join(g.Attributes, ", ")})
		}
		w.section(e, "GROUP INFORMATION", []string{"Group Name", "Type", "SID", "Attributes"}, rows)
	}

	if w.privileges {
		var rows [][]string
		for _, p := range who.Privileges {
			state := "Disabled"
			if p.Enabled {
				state = "Enabled"
			}
			rows = append(rows, []string{p.Name, p.Description(), state})
		}

		w.section(e, "PRIVILEGES INFORMATION", []string{"Privilege Name", "Description", "State"}, rows)
	}

	if w.claims {
		e.Print("")
		if w.format != "csv" {
			w.title(e, "USER CLAIMS INFORMATION")
		}
		e.Print("User claims unknown.")
		e.Print("")
		e.Print("Kerberos support for Dynamic Access Control on this device has been disabled.")
	}
}

func (w *identity) title(e program.Env, title string) {
	e.Print("%s", title)
	e.Print("%s", strings.Repeat("-", len(title)))
	e.Print("")
}

// section prints one part in the format that is asked for.
func (w *identity) section(e program.Env, title string, columns []string, rows [][]string) {
	if w.format != "csv" || w.printed {
		e.Print("")
	}

	w.printed = true
	switch w.format {
	case "csv":
		if !w.noHeader {
			e.Print("%s", program.Quoted(columns))
		}
		for _, row := range rows {
			e.Print("%s", program.Quoted(row))
		}

	case "list":
		w.title(e, title)
		width := 0
		for _, c := range columns {
			width = max(width, len(c)+1)
		}

		for i, row := range rows {
			if i > 0 {
				e.Print("")
			}
			for k, cell := range row {
				e.Print("%-*s %s", width, columns[k]+":", cell)
			}
		}

	default:
		if !w.noHeader {
			w.title(e, title)
		}
		w.table(e, columns, rows)
	}
}

// table prints rows below columns that are as wide as what is in them.
func (w *identity) table(e program.Env, columns []string, rows [][]string) {
	widths := make([]int, len(columns))
	for _, row := range append([][]string{columns}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}

	line := func(cells []string) {
		var padded []string
		for i, cell := range cells {
			padded = append(padded, cell+strings.Repeat(" ", widths[i]-len([]rune(cell))))
		}
		e.Print("%s", strings.Join(padded, " "))
	}

	if !w.noHeader {
		line(columns)
		var bars []string
		for _, width := range widths {
			bars = append(bars, strings.Repeat("=", width))
		}
		line(bars)
	}

	for _, row := range rows {
		line(row)
	}
}
