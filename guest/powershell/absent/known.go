package absent

import (
	_ "embed" // the names
	"slices"
	"strings"
)

// cmdletNames are the nouns of the commands of Windows PowerShell 5.1 and of the modules that Windows Server has, a
// line each with its verbs: those that PSScriptAnalyzer lists for 5.1 on 10.0.14393
// (https://github.com/PowerShell/PSScriptAnalyzer/blob/4b0117ca/Engine/Settings/desktop-5.1.14393.206-windows.json),
// those of the pages of the modules of Windows Server 2016 to 2025
// (https://github.com/MicrosoftDocs/windows-powershell-docs/tree/f113d6bd/docset), and those of PackageManagement and
// PowerShellGet (https://learn.microsoft.com/en-us/powershell/module/?view=powershell-5.1).
//
//go:embed cmdlets.txt
var cmdletNames string

// Cmdlet reports whether Windows has a command of a name, in letters of either case.
func Cmdlet(name string) bool {
	verb, noun, ok := strings.Cut(name, "-")
	if !ok {
		return false
	}
	for line := range strings.Lines(cmdletNames) {
		words := strings.Fields(line)
		if !strings.EqualFold(words[0], noun) {
			continue
		}
		return slices.ContainsFunc(words[1:], func(one string) bool { return strings.EqualFold(one, verb) })
	}
	return false
}
