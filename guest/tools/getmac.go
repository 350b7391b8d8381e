package tools

import (
	"fmt"
	"slices"
	"strings"
)

// getmac prints the hardware addresses of the adapters
// (https://learn.microsoft.com/windows-server/administration/windows-commands/getmac).
func getmac(e Env, args []string) int {
	format, head, verbose, code := parseGetmac(e, args)
	if code >= 0 {
		return code
	}
	adapters, err := e.System.Adapters()
	if err != nil {
		e.complain("ERROR: %v", err)
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
	e.tabulate(format, head, columns, widths, rows)
	return 0
}

// parseGetmac reads the arguments. The code is negative if there is something to do.
func parseGetmac(e Env, args []string) (format string, head, verbose bool, code int) {
	format, head = "table", true
	for i := 0; i < len(args); i++ {
		name, is := option(args[i])
		switch {
		case is && name == "?":
			e.print("GETMAC [/FO format] [/NH] [/V]")
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
			e.unknown("getmac", args[i])
			return "", false, false, 1
		}
	}
	return format, head, verbose, -1
}

// tabulate prints rows as the programs with /FO do.
func (e Env) tabulate(format string, head bool, columns []string, widths []int, rows [][]string) {
	switch format {
	case "csv":
		if head {
			rows = append([][]string{columns}, rows...)
		}
		for _, row := range rows {
			e.print("\"%s\"", strings.Join(row, `","`))
		}
		return
	case "list":
		for _, row := range rows {
			e.print("")
			for i, cell := range row {
				e.print("%s: %s", columns[i], cell)
			}
		}
		return
	}
	line := func(cells []string) {
		var padded []string
		for i, cell := range cells {
			r := []rune(cell)
			padded = append(padded, fmt.Sprintf("%-*s", widths[i], string(r[:min(len(r), widths[i])])))
		}
		e.print("%s", strings.TrimRight(strings.Join(padded, " "), " "))
	}
	if head {
		var bars []string
		for _, w := range widths {
			bars = append(bars, strings.Repeat("=", w))
		}
		e.print("")
		line(columns)
		line(bars)
	}
	for _, row := range rows {
		line(row)
	}
}
