package frame

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/screen"
)

// widestHelp is in how many columns a text is still read with ease.
const widestHelp = 120

// Help has a command and all below it print help that is broken at so many columns.
func Help(root *cobra.Command, columns int) {
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := fmt.Fprint(cmd.OutOrStderr(), usageText(cmd, columns))
		return err
	})

	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		text := cmd.Long
		if text == "" {
			text = cmd.Short
		}
		text = strings.TrimRight(screen.Paragraphs(text, columns), " \n")
		_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n%s", text, usageText(cmd, columns)) // there is nobody to tell
	})
}

// usageText returns what cobra's own template says, broken at so many columns.
func usageText(cmd *cobra.Command, columns int) string {
	var b strings.Builder
	section := func(title, text string) {
		if text = strings.TrimRight(text, " \n"); text != "" {
			fmt.Fprintf(&b, "\n%s\n%s\n", title, text)
		}
	}

	b.WriteString("Usage:\n")
	if cmd.Runnable() {
		fmt.Fprintf(&b, "  %s\n", screen.Hang(cmd.UseLine(), 4, columns))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s [command]\n", cmd.CommandPath())
	}

	section("Examples:", cmd.Example)
	for _, g := range cmd.Groups() {
		section(g.Title, commandList(cmd, g.ID, columns))
	}

	title := "Available Commands:"
	if len(cmd.Groups()) > 0 {
		title = "Additional Commands:"
	}

	section(title, commandList(cmd, "", columns))
	section("Flags:", cmd.LocalFlags().FlagUsagesWrapped(columns))
	section("Global Flags:", cmd.InheritedFlags().FlagUsagesWrapped(columns))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nUse \"%s [command] --help\" for more information about a command.\n", cmd.CommandPath())
	}

	return b.String()
}

// commandList returns a line for each command below one, of a group.
func commandList(cmd *cobra.Command, group string, columns int) string {
	var b strings.Builder
	for _, c := range cmd.Commands() {
		if c.GroupID != group || (!c.IsAvailableCommand() && c.Name() != "help") {
			continue
		}
		name := screen.Pad(c.Name(), c.NamePadding())
		fmt.Fprintf(&b, "  %s %s\n", name, screen.Hang(c.Short, len(name)+3, columns))
	}
	return b.String()
}
