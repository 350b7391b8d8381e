package absent

import (
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/words"
)

// aliases are PowerShell's aliases of cmdlets that are not implemented, and its own functions
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.utility/get-alias); a program with such a
// name must be called with .exe.
const aliases = " " +
	"asnp cfs clc cli clp cnsn dbp dnsn ebp epal epsn etsn " +
	"exsn fc fhx gbp gcb gcs gin gsn gsnp gtz " +
	"ii invoke ipal ipsn ise iwmi lp more mp nal " +
	"nmo npssc nsn ogv oss pause prompt pumo rbp rcsn rnp rsn rsnp " +
	"rujb rwmi sal sbp sc scb shcm si stz sujb swmi " +
	"trcm "

// Unknown says of a command of Windows' PowerShell that it is not here. All other words are programs, or typing errors.
func Unknown(word string) error {
	switch {
	case Cmdlet(word):
		return words.Errorf("Windows has the cmdlet %s, which is %s", word, words.NotHere)
	case strings.Contains(aliases, " "+strings.ToLower(word)+" "):
		return fmt.Errorf("%s, a name of a cmdlet, is not part of Mullion's PowerShell", word)
	}
	return nil
}

// Alias reports whether a word is an alias that every session of PowerShell begins with, of a cmdlet that is not here.
func Alias(word string) bool {
	functions := []string{"more", "oss", "pause", "prompt"}
	word = strings.ToLower(word)
	return word != "" && strings.Contains(aliases, " "+word+" ") && !slices.Contains(functions, word)
}

// Missing returns the variables of PowerShell's own that are not implemented: they must not be taken for empty
// variables of the script.
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_automatic_variables,
// https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_preference_variables)
func Missing() []string {
	return []string{
		"$", "^", "consolefilename", "foreach", "nestedpromptlevel", "psdebugcontext", "pssenderinfo", "switch",
		"logcommandhealthevent", "logcommandlifecycleevent", "logenginehealthevent", "logenginelifecycleevent",
		"logproviderhealthevent", "logproviderlifecycleevent", "psmoduleautoloadingpreference",
		"pssessionapplicationname", "pssessionconfigurationname", "pssessionoption", "transcript", "verbosehelperrors",
	}
}

// Elsewhere says of the name of a type that Windows has it, if its namespace is one of Windows' own.
func Elsewhere(name string) string {
	space, _, _ := strings.Cut(words.TypeName(name), ".")
	_, inSystem := strings.CutPrefix(strings.ToLower(name), "system.")
	spaces := []string{
		"collections", "componentmodel", "configuration", "data", "diagnostics", "directoryservices", "drawing",
		"globalization", "io", "management", "media", "microsoft", "net", "reflection", "resources", "runtime",
		"security", "serviceprocess", "text", "threading", "timers", "web", "windows", "xml",
	}
	if inSystem || slices.Contains(spaces, space) || slices.Contains(accelerators(), strings.ToLower(name)) {
		return fmt.Sprintf(" The type [%s] is %s.", name, words.NotHere)
	}
	return ""
}

// accelerators returns the names of types that are PowerShell's own
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_type_accelerators), as far
// as the types are not here.
func accelerators() []string {
	return []string{
		"adsi", "adsisearcher", "bigint", "cimclass", "cimconverter", "ciminstance", "cimsession", "cimtype",
		"cultureinfo", "decimal", "float", "initialsessionstate", "int16", "ipendpoint", "mailaddress",
		"physicaladdress", "powershell", "pslistmodifier", "psmoduleinfo", "psprimitivedictionary", "psreference",
		"pstypenameattribute", "psvariable", "ref", "runspace", "runspacefactory", "sbyte", "securestring", "short",
		"single", "uint16", "uint64", "ulong", "ushort", "wmi", "wmiclass", "wmisearcher",
		"x500distinguishedname", "xml",
	}
}
