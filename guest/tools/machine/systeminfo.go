package machine

import (
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/tools/program"
)

// Systeminfo prints a description of the machine
// (https://learn.microsoft.com/windows-server/administration/windows-commands/systeminfo). It leaves out what is not
// known here: the BIOS, the disks, the hotfixes and the time zone.
func Systeminfo(e program.Env, sys System, args []string) int {
	format, noHeader := "list", false
	for i := 0; i < len(args); i++ {
		switch name, _ := program.Option(args[i]); {
		case name == "?":
			e.Print("SYSTEMINFO [/FO format] [/NH]")
			return 0

		case name == "nh":
			noHeader = true
		case name == "fo" && i+1 < len(args):
			i++
			if format = strings.ToLower(args[i]); format != "list" && format != "csv" && format != "table" {
				e.Invalid("systeminfo", fmt.Sprintf("'%s' value is not allowed for '%s' option.", args[i], args[i-1]))
				return 1
			}

		default:
			e.Unknown("systeminfo", args[i])
			return 1
		}
	}
	if noHeader && format == "list" {
		e.Invalid("systeminfo", `/NH option is allowed only for "TABLE" and "CSV" formats.`)
		return 1
	}

	m, err := sys.Describe()
	if err != nil {
		e.Complain("ERROR: %v", err)
		return 1
	}
	printFacts(e, m.facts(), format, noHeader)
	return 0
}

// fact is one line of systeminfo, or several.
type fact struct {
	name  string
	lines []string
}

func (m Machine) facts() []fact {
	size := func(bytes uint64) string { return thousands(bytes>>20) + " MB" }
	processors := []string{fmt.Sprintf("%d Processor(s) Installed.", len(m.Processors))}
	for i, name := range m.Processors {
		processors = append(processors, fmt.Sprintf("[%02d]: %s", i+1, name))
	}

	adapters := slices.DeleteFunc(slices.Clone(m.Adapters), func(a program.Adapter) bool { return a.Loopback })
	cards := []string{fmt.Sprintf("%d NIC(s) Installed.", len(adapters))}
	for i, a := range adapters {
		cards = append(cards, fmt.Sprintf("[%02d]: %s", i+1, a.Name), "      IP address(es)")
		for j, address := range a.Addresses {
			cards = append(cards, fmt.Sprintf("      [%02d]: %s", j+1, address.IP.WithZone("")))
		}
	}

	one := func(name, value string) fact { return fact{name, []string{value}} }
	return []fact{
		one("Host Name", m.Host), one("OS Name", m.Product), one("OS Version", m.Version),
		one("OS Manufacturer", "Microsoft Corporation"),
		one("OS Configuration", "Standalone Server"), one("OS Build Type", "Multiprocessor Free"),
		one("Registered Owner", m.Owner), one("Product ID", m.ProductID),
		one("System Boot Time", m.Boot.Format("1/2/2006, 3:04:05 PM")), one("System Type", "x64-based PC"),
		{"Processor(s)", processors},
		one("Windows Directory", m.WindowsDir), one("System Directory", m.SystemDir),
		one("Total Physical Memory", size(m.Memory)), one("Available Physical Memory", size(m.MemoryFree)),
		one("Virtual Memory: Max Size", size(m.Commit)),
		one("Virtual Memory: Available", size(m.CommitFree)),
		one("Virtual Memory: In Use", size(m.Commit-m.CommitFree)), one("Domain", m.Domain),
		{"Network Card(s)", cards},
	}
}

func printFacts(e program.Env, facts []fact, format string, noHeader bool) {
	if format == "list" {
		e.Print("")
		for _, f := range facts {
			for i, line := range f.lines {
				name := ""
				if i == 0 {
					name = f.name + ":"
				}
				e.Print("%-26s %s", name, line)
			}
		}

		return
	}

	var names, values []string
	for _, f := range facts {
		names, values = append(names, f.name), append(values, strings.Join(f.lines, ","))
	}

	if format == "csv" {
		if !noHeader {
			e.Print("%s", program.Quoted(names))
		}
		e.Print("%s", program.Quoted(values))
		return
	}

	rules := make([]string, len(names))
	for i := range names {
		width := max(len(names[i]), len(values[i]))
		names[i], values[i], rules[i] = fmt.Sprintf("%-*s", width, names[i]), fmt.Sprintf("%-*s", width, values[i]),
			strings.Repeat("=", width)
	}

	e.Print("")
	if !noHeader {
		e.Print("%s\r\n%s", strings.Join(names, " "), strings.Join(rules, " "))
	}
	e.Print("%s", strings.Join(values, " "))
}
