package main

import (
	"fmt"
	"strings"

	batch "mullion.dev/mullion/guest/cmdexe/constructs"
)

// writeBatch writes the constructs of batch. All of them are carried out: one that is not fails its test.
func writeBatch(b *strings.Builder, areas []batch.Area) {
	count := 0
	for _, a := range areas {
		count += len(a.Constructs)
	}
	fmt.Fprintf(b, "\n## cmd.exe: %d constructs\n\n", count)
	b.WriteString("`TestConstructs` of `guest/cmdexe/shell` runs each of them and compares what it prints, its errors and its exit code;\n" +
		"`TestWinrun/cmd_constructs` runs a part of them on Wine. What cmd.exe lacks is said among the\n" +
		"[programs of the Windows API](windows-api.md).\n")

	for _, a := range areas {
		fmt.Fprintf(b, "\n## cmd.exe: %s\n\n| what | support | as | document |\n|---|---|---|---|\n", a.Title)
		for _, c := range a.Constructs {
			source := c.Source
			if source == "" {
				source = a.Source
			}
			fmt.Fprintf(b, "| %s | supported | %s | [source](%s) |\n",
				strings.ReplaceAll(c.Name, "_", " "), code(c.Script+c.Line), source)
		}
	}
}

// code returns a script as it can stand in a table: its lines are joined, and it is cut where it is long.
func code(script string) string {
	const most = 100
	text := []rune(strings.NewReplacer("\n", " ⏎ ", "|", `\|`, "\t", " ").Replace(script))
	if len(text) > most {
		text = append(text[:most], '…')
	}
	shown := strings.TrimSuffix(string(text), `\`)
	if strings.Contains(shown, "`") {
		return "`` " + shown + " ``"
	}
	return "`" + shown + "`"
}
