package utility

import (
	"slices"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/format"
	"mullion.dev/mullion/guest/powershell/operator"
)

// Cmdlets returns the cmdlets of this package.
func Cmdlets() []cmdlet.Cmdlet {
	return slices.Concat(
		outputCmdlets(), pipelineCmdlets(), otherCmdlets(), sortingCmdlets(), textCmdlets(), formatCmdlets(),
		commandCmdlets(), internetCmdlets(), everydayCmdlets(), nothingCmdlets(), memberCmdlets(), consoleCmdlets(),
		transcriptCmdlets(), clixmlCmdlets(), htmlCmdlets(),
	)
}

func outputCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		{
			Name:      "Write-Output",
			Aliases:   []string{"echo", "write"},
			About:     "gives its arguments",
			Run:       writeOutput,
			Values:    []string{cmdlet.ObjectName},
			Positions: []string{cmdlet.ObjectName},
			Rest:      true,
			Takes:     cmdlet.ObjectName,
			Needs:     []string{cmdlet.ObjectName},
			Stream:    true,
		},
		{
			Name:      "Write-Host",
			About:     "prints its arguments; colours are not shown",
			Run:       writeHost,
			Values:    []string{"object", "separator", "foregroundcolor", "backgroundcolor"},
			Allowed:   map[string][]string{"foregroundcolor": colours(), "backgroundcolor": colours()},
			Flags:     []string{"nonewline"},
			Positions: []string{"object"},
			Rest:      true,
			Takes:     "object",
			Stream:    true,
		},
		writeErrorCmdlet(),
		cmdlet.OfMessage(cmdlet.Cmdlet{
			Name:  "Write-Debug",
			About: "prints what $DebugPreference lets it",
			Run:   writes("debug", "DEBUG"),
		}),
		cmdlet.OfMessage(cmdlet.Cmdlet{
			Name:  "Write-Verbose",
			Flags: []string{"verbose"},
			About: "prints what $VerbosePreference or -Verbose lets it",
			Run:   writes("verbose", "VERBOSE"),
		}),
		cmdlet.OfMessage(cmdlet.Cmdlet{
			Name:  "Write-Warning",
			About: "prints a warning, unless $WarningPreference keeps it",
			Run:   writes("warning", "WARNING"),
		}),
		{
			Name:   "Out-Null",
			About:  "takes everything",
			Run:    func(*cmdlet.Call) error { return nil },
			Values: []string{cmdlet.ObjectName},
			Takes:  cmdlet.ObjectName,
			Stream: true,
		},
		{
			Name:   "Out-String",
			About:  "one string of what would be shown, or with -Stream one of each line",
			Run:    outString,
			Values: []string{cmdlet.ObjectName, "width"},
			Flags:  []string{"stream"},
			Takes:  cmdlet.ObjectName,
			Needs:  []string{cmdlet.ObjectName},
		},
		{
			Name:   "oss",
			About:  "Out-String -Stream",
			Run:    func(c *cmdlet.Call) error { return outLines(c, &format.Formatter{Newline: c.State.Newline}) },
			Values: []string{cmdlet.ObjectName},
			Takes:  cmdlet.ObjectName,
			Needs:  []string{cmdlet.ObjectName},
		},
	}
}

// colours returns the names of the console's colours.
func colours() []string {
	return []string{
		"black", "darkblue", "darkgreen", "darkcyan", "darkred", "darkmagenta", "darkyellow", "gray", "darkgray",
		"blue", "green", "cyan", "red", "magenta", "yellow", "white",
	}
}

func pipelineCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		{
			Name:      "Where-Object",
			Aliases:   []string{"where", "?"},
			Run:       whereObject,
			About:     "picks with a script block, or by a property: Name -eq value",
			Values:    append(operator.Comparisons(), "filterscript", "property"),
			Positions: []string{"filterscript"},
			Takes:     cmdlet.ObjectName,
			Needs:     []string{"filterscript|property"},
			Stream:    true,
		},
		{
			Name:    "ForEach-Object",
			Aliases: []string{"%", "foreach"},
			About:   "a script block for each, or a property or method of it",
			Begin:   forEachBegin,
			Run:     forEachObject,
			End:     forEachEnd,
			Values: []string{
				"process", "begin", "end", "remainingscripts", cmdlet.ObjectName, "membername", "argumentlist",
			},
			Positions: []string{"process"},
			Rest:      true,
			Takes:     cmdlet.ObjectName,
			Needs:     []string{"process|membername|begin|end"},
			Stream:    true,
		},
		{
			Name:      "Select-Object",
			Aliases:   []string{"select"},
			Run:       selectObject,
			Enough:    enoughSelected,
			About:     "the first, last or different objects, or properties of them",
			Values:    []string{"property", "first", "last", "skip", "skiplast", "index", "expandproperty", "excludeproperty"},
			Flags:     []string{"unique", "wait"},
			Positions: []string{"property"},
			Takes:     cmdlet.ObjectName,
		},
		{
			Name:      "ConvertFrom-Json",
			About:     "objects of a text; dates stay text",
			Run:       convertFromJSON,
			Values:    []string{cmdlet.ObjectName},
			Positions: []string{cmdlet.ObjectName},
			Takes:     cmdlet.ObjectName,
			Needs:     []string{cmdlet.ObjectName},
		},
		{
			Name:      "ConvertTo-Json",
			About:     "a text of objects: of objects of Windows the properties that are shown",
			Run:       convertToJSON,
			Values:    []string{cmdlet.ObjectName, "depth"},
			Flags:     []string{"compress"},
			Positions: []string{cmdlet.ObjectName},
			Takes:     cmdlet.ObjectName,
			Needs:     []string{cmdlet.ObjectName},
		},
	}
}

func otherCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		{
			Name:      "Start-Sleep",
			Aliases:   []string{"sleep"},
			About:     "waits",
			Run:       startSleep,
			Values:    []string{"seconds", "milliseconds"},
			Positions: []string{"seconds"},
			Needs:     []string{"seconds|milliseconds"},
		},
		{
			Name:      "New-Object",
			Lists:     permitsType,
			About:     "an object of one of the types that are here, or one with any properties",
			Run:       newObjectCmdlet,
			Values:    []string{"typename", "argumentlist", "property"},
			Also:      map[string]string{"args": "argumentlist"},
			Positions: []string{"typename", "argumentlist"},
			Needs:     []string{"typename"},
		},
	}
}
