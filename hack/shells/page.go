package main

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	batch "mullion.dev/mullion/guest/cmdexe/constructs"
	"mullion.dev/mullion/guest/powershell"
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/constructs"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/internal/base/support"
)

const head = "# Support: shells\n\n" +
	"Printed by `go run ./hack/shells`; `make update` writes it. The rows are of the tables that the programs run by,\n" +
	"and of the tables of constructs that their tests run: a test is a script of guest/powershell/testdata. A cmdlet is\n" +
	"partly there if Windows PowerShell 5.1 has parameters that it lacks, or if it is known to do less with them, which is\n" +
	"said after a semicolon; -CimSession, -ThrottleLimit and -AsJob are nowhere and not named. The test of a class is a\n" +
	"script that names it as a type; others come out of cmdlets. What is said of both programs as a whole is among the\n" +
	"[programs of the Windows API](windows-api.md).\n\n"

const language = "PowerShell: the language"

// page returns the whole page. tests has the scripts of PowerShell's tests.
func page(tests fs.FS) (string, error) {
	scripts, err := readScripts(tests)
	if err != nil {
		return "", err
	}
	windows, err := windowsCommands()
	if err != nil {
		return "", err
	}

	var rows []support.Row
	for _, c := range constructs.All() {
		rows = append(rows, c.Row(language))
	}
	rows = append(rows, constructs.Absent(language)...)
	rows = append(rows, cmdletRows(powershell.Cmdlets(), windows, scripts)...)
	rows = append(rows, absentRows(powershell.Cmdlets(), windows)...)
	rows = append(rows, classRows(dotnet.Classes(), scripts)...)
	if err := support.Check(rows); err != nil {
		return "", err
	}

	var b strings.Builder
	b.WriteString(head)
	if err := support.Markdown(&b, rows); err != nil {
		return "", err
	}
	writeBatch(&b, batch.Areas())

	return b.String(), nil
}

// script is a script of the tests.
type script struct{ name, text string }

// readScripts returns the scripts that show what is there, in the order of their names.
func readScripts(tests fs.FS) ([]script, error) {
	var all []script
	for _, folder := range []string{"run", "listener"} {
		files, err := fs.Glob(tests, folder+"/*.ps1")
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("find the scripts of the tests in %s: %d, %w", folder, len(files), err)
		}
		for _, file := range files {
			text, err := fs.ReadFile(tests, file)
			if err != nil {
				return nil, fmt.Errorf("read a script of the tests: %w", err)
			}
			all = append(all, script{folder + "/" + strings.TrimSuffix(path.Base(file), ".ps1"), strings.ToLower(string(text))})
		}
	}
	return all, nil
}

// shownBy returns the name of the script that has a pattern most often, of several the first; "" if none has it.
func shownBy(scripts []script, pattern *regexp.Regexp) string {
	name := ""
	most := 0
	for _, s := range scripts {
		if n := len(pattern.FindAllString(s.text, -1)); n > most {
			name = s.name
			most = n
		}
	}
	return name
}

// called matches a cmdlet where a command begins, and not in a text or as a value.
func called(name string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)(^|[|;(){}=&,]|\breturn|\bprocess)[ \t]*` + regexp.QuoteMeta(strings.ToLower(name)) +
		`([^a-z0-9-]|$)`)
}

// named matches a class where it is written as a type, or as New-Object's.
func named(c *object.Class) *regexp.Regexp {
	var names []string
	for _, name := range append([]string{c.Name, strings.TrimPrefix(c.Name, "System.")}, c.Others...) {
		names = append(names, regexp.QuoteMeta(strings.ToLower(name)))
	}
	one := `(` + strings.Join(names, "|") + `)`
	return regexp.MustCompile(`\[` + one + `[]([,]|new-object +(-typename +)?['"]?` + one + `([^a-z0-9.]|$)`)
}

const cmdletDocuments = "https://learn.microsoft.com/powershell/module/"

// cmdletRows returns a row for each cmdlet: partly, if Windows PowerShell's has parameters that it lacks, if nobody
// wrote down which those are, or if it says what it does less.
func cmdletRows(all []cmdlet.Cmdlet, windows map[string]command, scripts []script) []support.Row {
	var rows []support.Row
	for _, c := range all {
		name := strings.ToLower(c.Name)
		there, known := windows[name]
		row := support.Row{
			Area:  "PowerShell: cmdlets",
			Name:  c.Name,
			Level: support.Supported,
			Ref:   cmdletDocuments,
		}

		note := c.About
		if known {
			row.Ref += strings.ToLower(there.module) + "/" + name
			if lacks := lacking(c, there); len(lacks) > 0 {
				row.Level = support.Partly
				note += "; not " + strings.Join(lacks, ", ")
			}
		} else {
			row.Level = support.Partly
			note += "; with " + strings.Join(parameters(c), ", ")
		}
		if strings.Contains(c.About, "; ") {
			row.Level = support.Partly
		}

		row.Note = strings.TrimSuffix(note, "; with ") + "; test: " + shownBy(scripts, called(name))
		rows = append(rows, row)
	}

	slices.SortFunc(rows, func(a, b support.Row) int { return strings.Compare(a.Name, b.Name) })
	return rows
}

// parameters returns a cmdlet's parameters as they are written.
func parameters(c cmdlet.Cmdlet) []string {
	var all []string
	for _, p := range slices.Concat(c.Values, c.Flags) {
		all = append(all, "-"+cmdlet.Written(p))
	}
	return all
}

// lacking returns the parameters that a cmdlet has on Windows and not here.
func lacking(c cmdlet.Cmdlet, there command) []string {
	var all []string
	for _, p := range there.parameters {
		lower := strings.ToLower(p)
		if !slices.Contains(c.Values, lower) && !slices.Contains(c.Flags, lower) {
			all = append(all, "-"+p)
		}
	}
	slices.Sort(all)
	return all
}

// absentRows returns a row for each module whose commands are not all here.
func absentRows(all []cmdlet.Cmdlet, windows map[string]command) []support.Row {
	modules := map[string][]string{}
	for name, c := range windows {
		if !slices.ContainsFunc(all, func(one cmdlet.Cmdlet) bool { return strings.EqualFold(one.Name, name) }) {
			modules[c.module] = append(modules[c.module], c.name)
		}
	}

	var rows []support.Row
	for module, names := range modules {
		slices.Sort(names)
		rows = append(rows, support.Row{
			Area:  "PowerShell: modules with commands that are not here",
			Name:  module,
			Level: support.Not,
			Ref:   cmdletDocuments + strings.ToLower(module),
			Note:  "an error when it is reached, which says that Windows has it: " + strings.Join(names, ", "),
		})
	}

	slices.SortFunc(rows, func(a, b support.Row) int { return strings.Compare(a.Name, b.Name) })
	return append(rows, support.Row{
		Area:  "PowerShell: modules with commands that are not here",
		Name:  "all other modules of Windows Server",
		Level: support.Not,
		Ref:   "https://learn.microsoft.com/powershell/windows/get-started",
		Note:  "an error when it is reached, which says that Windows has it",
	})
}

// classRows returns a row for each class of .NET. Nobody has counted what .NET's own have, so each is partly there.
func classRows(all []*object.Class, scripts []script) []support.Row {
	const dotnetDocuments = "https://learn.microsoft.com/dotnet/api/"
	byName := map[string]support.Row{}
	for _, c := range all {
		var members []string
		for _, f := range c.Fields {
			members = append(members, "::"+f.Name)
		}
		for _, m := range c.Calls {
			members = append(members, "::"+m.Name+"()")
		}
		if c.Make != nil {
			members = append(members, "New-Object")
		}
		for _, f := range c.Props {
			members = append(members, "."+f.Name)
		}
		for _, m := range c.Methods {
			members = append(members, "."+m.Name+"()")
		}

		note := "no member of its own"
		if len(members) > 0 {
			note = "with " + strings.Join(members, ", ")
		}
		if test := shownBy(scripts, named(c)); test != "" {
			note += "; test: " + test
		}
		byName[c.Name] = support.Row{
			Area:  "PowerShell: classes of .NET",
			Name:  c.Name,
			Level: support.Partly,
			Ref:   dotnetDocuments + strings.ToLower(strings.NewReplacer("`", "-", "[", "", "]", "").Replace(c.Name)),
			Note:  note,
		}
	}

	var rows []support.Row
	for _, row := range byName {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b support.Row) int { return strings.Compare(a.Name, b.Name) })

	return rows
}
