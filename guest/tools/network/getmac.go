package network

import (
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/tools/program"
)

// Getmac prints the hardware addresses of the adapters
// (https://learn.microsoft.com/windows-server/administration/windows-commands/getmac).
func Getmac(e program.Env, sys System, args []string) int {
	format, head, verbose, code := parseGetmac(e, args)
	if code >= 0 {
		return code
	}
	adapters, err := sys.Adapters()
	if err != nil {
		e.Complain("ERROR: %v", err)
		return 1
	}

	columns := []string{"Physical Address", "Transport Name"}
	widths := []int{19, 58}
	if verbose {
		columns, widths = append([]string{"Connection Name", "Network Adapter"}, columns...), append([]int{15, 15}, widths...)
	}

	var rows [][]string
	for _, a := range adapters {
		if a.Loopback || len(a.Hardware) == 0 {
			continue
		}
		transport := "Media disconnected"
		if a.Up {
			transport = `\Device\Tcpip_` + a.Name
		}

		row := []string{strings.ToUpper(strings.ReplaceAll(a.Hardware.String(), ":", "-")), transport}
		if verbose {
			row = append([]string{a.Name, a.Description}, row...)
		}
		rows = append(rows, row)
	}

	table{
		format:  format,
		head:    head,
		columns: columns,
		widths:  widths,
	}.print(e, rows)

	return 0
}

// parseGetmac reads the arguments. The code is negative if there is something to do.
func parseGetmac(e program.Env, args []string) (format string, head, verbose bool, code int) {
	format, head = "table", true
	for i := 0; i < len(args); i++ {
		name, is := program.Option(args[i])
		switch {
		case is && name == "?":
			e.Print("GETMAC [/FO format] [/NH] [/V]")
			return "", false, false, 0

		case is && name == "nh":
			head = false
		case is && name == "v":
			verbose = true
		case is && name == "fo" && i+1 < len(args) &&
			slices.Contains([]string{"table", "list", "csv"}, strings.ToLower(args[i+1])):
			i++
			format = strings.ToLower(args[i])

		default:
			e.Unknown("getmac", args[i])
			return "", false, false, 1
		}
	}

	return format, head, verbose, -1
}

// table is a table as the programs with /FO print it.
type table struct {
	format  string // table, list or csv
	head    bool
	columns []string
	widths  []int
}

// print prints rows.
func (t table) print(e program.Env, rows [][]string) {
	switch t.format {
	case "csv":
		if t.head {
			rows = append([][]string{t.columns}, rows...)
		}
		for _, row := range rows {
			e.Print("\"%s\"", strings.Join(row, `","`))
		}
		return

	case "list":
		for _, row := range rows {
			e.Print("")
			for i, cell := range row {
				e.Print("%s: %s", t.columns[i], cell)
			}
		}
		return
	}

	line := func(cells []string) {
		var padded []string
		for i, cell := range cells {
			r := []rune(cell)
			padded = append(padded, fmt.Sprintf("%-*s", t.widths[i], string(r[:min(len(r), t.widths[i])])))
		}
		e.Print("%s", strings.TrimRight(strings.Join(padded, " "), " "))
	}

	if t.head {
		var bars []string
		for _, w := range t.widths {
			bars = append(bars, strings.Repeat("=", w))
		}
		e.Print("")
		line(t.columns)
		line(bars)
	}

	for _, row := range rows {
		line(row)
	}
}
