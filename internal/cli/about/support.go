package about

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/support"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/node/linuxnode"
	"mullion.dev/mullion/internal/node/winnode"
	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/dockerfile"
	"mullion.dev/mullion/internal/runtime/hcs"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/single"
	"mullion.dev/mullion/internal/windows/winapi"
	"mullion.dev/mullion/internal/windows/winver"
)

// supportTables returns the tables that `mullion support` prints, each from the rows of the packages that do the work.
func supportTables() map[string]func() []support.Row {
	return map[string]func() []support.Row{
		"cri":          cri.SupportRows,
		"hcs":          hcs.SupportRows,
		"hns":          hns.SupportRows,
		"images":       imageRows,
		"kubernetes":   cluster.SupportRows,
		"linux-node":   linuxnode.SupportRows,
		"run":          runRows,
		"windows-api":  winapi.SupportRows,
		"windows-host": winnode.SupportRows,
	}
}

// runRows returns the rows about what there is without a cluster.
func runRows() []support.Row { return slices.Concat(single.SupportRows(), cluster.DockerRows()) }

// imageRows returns the rows about images and how they are built.
func imageRows() []support.Row { return slices.Concat(image.SupportRows(), dockerfile.SupportRows()) }

// Support returns the command `mullion support`.
func Support(out io.Writer) *cobra.Command {
	var output string
	names := append(slices.Sorted(maps.Keys(supportTables())), "windows-versions")

	cmd := &cobra.Command{
		Use:       "support [" + strings.Join(names, "|") + "]",
		Short:     "Print what is supported of Windows and Kubernetes, in full or in part",
		Long:      "Prints the support tables: what is supported, what is partly supported (and how), and what is not (and what a program gets instead). docs/compat has the same tables.",
		ValidArgs: names,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Misuse(fmt.Errorf("`mullion support` takes one table at most, got %d", len(args)),
					"without a name it prints them all")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "windows-versions" {
				return printVersions(out, output)
			}
			var rows []support.Row
			for _, name := range slices.Sorted(maps.Keys(supportTables())) {
				if len(args) == 0 || args[0] == name {
					rows = append(rows, supportTables()[name]()...)
				}
			}

			if len(args) == 1 && len(rows) == 0 {
				return exit.Misuse(fmt.Errorf("no support table %q", args[0]), "there are: "+strings.Join(names, ", "))
			}

			switch output {
			case "text":
				return support.Text(out, rows)
			case "json":
				return support.JSON(out, rows)
			case "markdown":
				return support.Markdown(out, rows)
			}

			return badSupportOutput(output)
		},
	}

	cmd.Flags().StringVarP(&output, "output", "o", "text", "text, json or markdown")
	return cmd
}

// printVersions prints the catalogue of Windows versions.
func printVersions(w io.Writer, output string) error {
	switch output {
	case "json":
		return json.NewEncoder(w).Encode(winver.All())
	case "markdown":
		fmt.Fprintln(w, "| name | aliases | build | product | source |\n|---|---|---|---|---|")
		for _, b := range winver.All() {
			fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", b.Name, strings.Join(b.Aliases, ", "), b.Version,
				b.ProductName, b.Source)
		}
		return nil

	case "text":
	default:
		return badSupportOutput(output)
	}

	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tALIASES\tBUILD\tPRODUCT")
	for _, b := range winver.All() {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", b.Name, strings.Join(b.Aliases, ","), b.Version, b.ProductName)
	}

	return t.Flush()
}

func badSupportOutput(output string) error {
	return exit.Misuse(fmt.Errorf("--output %q is neither text, json nor markdown", output), "see `mullion support --help`")
}
