package utility

import (
	"slices"
	"strconv"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/words"
)

// syntax returns how a cmdlet is called, with the names as Windows PowerShell writes them.
func syntax(c cmdlet.Cmdlet) string {
	parts := []string{c.Name}
	for _, p := range c.Values {
		name := "-" + cmdlet.Written(p)
		value := "<Object>"
		if allowed := c.Allowed[p]; len(allowed) > 0 {
			value = "{" + strings.Join(writtenAll(allowed), " | ") + "}"
		}
		switch {
		case slices.Contains(c.Needs, p) && slices.Contains(c.Positions, p):
			parts = append(parts, "["+name+"] "+value)
		case slices.Contains(c.Needs, p):
			parts = append(parts, name+" "+value)
		case slices.Contains(c.Positions, p):
			parts = append(parts, "[["+name+"] "+value+"]")
		default:
			parts = append(parts, "["+name+" "+value+"]")
		}
	}

	for _, p := range c.Flags {
		parts = append(parts, "[-"+cmdlet.Written(p)+"]")
	}
	if c.WhatIf != nil {
		parts = append(parts, "[-WhatIf]")
	}
	return strings.Join(append(parts, "[<CommonParameters>]"), " ")
}

func writtenAll(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = cmdlet.Written(name)
	}
	return all
}

// aboutThis is what Get-Help says without a name.
const aboutThis = `TOPIC
    Mullion's PowerShell

DESCRIPTION
    A part of the language of Windows PowerShell 5.1, on Windows nodes without Windows.
    What a script uses beyond that is an error of the statement that needs it, when it is reached.

    Get-Command          lists the cmdlets, aliases and functions
    Get-Help NAME        says what a cmdlet does, and its parameters
    OBJECT | Get-Member  lists the properties and methods of an object`

// getHelp says what a cmdlet does.
func getHelp(c *cmdlet.Call) error {
	names := c.Items("name")
	if len(names) == 0 {
		return c.Out.Put(strings.ReplaceAll(aboutThis, "\n", c.State.Newline))
	}

	for _, v := range names {
		cmd, ok := c.Scope.Table().Lookup(strings.ToLower(object.Text(v)))
		if !ok {
			err := words.Errorf("Get-Help could not find %s in a help file in this session.", object.Text(v))
			if err := c.Fail(err); err != nil {
				return err
			}
			continue
		}

		if err := c.Out.Put(strings.Join(helpOf(c, cmd), c.State.Newline)); err != nil {
			return err
		}
	}

	return nil
}

// helpOf returns the help of a cmdlet. Examples are those of its page, whose address is named.
func helpOf(c *cmdlet.Call, cmd cmdlet.Cmdlet) []string {
	page := "https://learn.microsoft.com/powershell/module/?term=" + strings.ToLower(cmd.Name)
	if c.Flags["online"] {
		return []string{page}
	}
	if wanted := c.Text("parameter"); wanted != "" {
		return parametersOf(cmd, wanted)
	}

	parts := []string{"NAME", "    " + cmd.Name, "", "SYNOPSIS", "    " + cmd.About, ""}
	if !c.Flags["examples"] {
		parts = append(parts, "SYNTAX", "    "+syntax(cmd))
		if len(cmd.Aliases) > 0 {
			parts = append(parts, "", "ALIASES", "    "+strings.Join(cmd.Aliases, ", "))
		}
	}
	if c.Flags["full"] || c.Flags["detailed"] {
		parts = append(append(parts, "", "PARAMETERS"), parametersOf(cmd, "*")...)
	}
	if c.Flags["full"] || c.Flags["detailed"] || c.Flags["examples"] {
		parts = append(parts, "", "RELATED LINKS", "    Examples: "+page)
	}
	return parts
}

// needed reports whether a parameter is required, perhaps unless another one is given in its place: each of the two
// belongs to a parameter set that requires it.
func needed(cmd cmdlet.Cmdlet, p string) bool {
	return slices.ContainsFunc(cmd.Needs, func(need string) bool {
		return slices.Contains(strings.Split(need, "|"), p)
	})
}

// parametersOf describes the parameters of a cmdlet whose names match.
func parametersOf(cmd cmdlet.Cmdlet, wanted string) []string {
	re, err := pattern.Wildcard(wanted)
	if err != nil {
		return nil
	}

	var parts []string
	for _, p := range slices.Concat(cmd.Values, cmd.Flags) {
		if !re.MatchString(p) {
			continue
		}

		value, position := " <Object>", "named"
		if slices.Contains(cmd.Flags, p) {
			value = " [<SwitchParameter>]"
		}
		if at := slices.Index(cmd.Positions, p); at >= 0 {
			position = strconv.Itoa(at)
		}

		parts = append(parts, "    -"+cmdlet.Written(p)+value,
			"        Required?                    "+strconv.FormatBool(needed(cmd, p)),
			"        Position?                    "+position,
			"        Accept pipeline input?       "+strconv.FormatBool(slices.Contains(strings.Split(cmd.Takes, "|"), p)), "")
	}
	return parts
}
