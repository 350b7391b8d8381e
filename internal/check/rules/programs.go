package rules

import "mullion.dev/mullion/internal/check"

// ProgramsCategory is the category of the rules about programs.
const ProgramsCategory = "programs"

// The rules about programs, which package programs applies.
const (
	Program32Bit           = "program-32-bit"
	ProgramOtherProcessor  = "program-other-processor"
	ProgramNetFramework    = "program-net-framework"
	ProgramDriver          = "program-driver"
	ProgramMissingLibrary  = "program-missing-library"
	ProgramMissingFunction = "program-missing-function"
	ProgramStubFunction    = "program-stub-function"
)

// Programs lists the rules about programs. They are about Mullion's nodes, not about Windows'.
func Programs() []check.Rule {
	const wine = "https://gitlab.winehq.org/wine/wine/-/"
	rules := []check.Rule{
		{
			ID:       Program32Bit,
			Severity: check.Error,
			Title:    "32-bit programs do not start",
			Why:      "only the 64-bit half of Wine is installed",
			Remedy:   "take the 64-bit edition of the program",
			Source: check.Source{
				Title: "Running 32-bit applications",
				URL:   "https://learn.microsoft.com/windows/win32/winprog64/running-32-bit-applications",
			},
		},
		{
			ID:       ProgramOtherProcessor,
			Severity: check.Warning,
			Title:    "the program is for another processor",
			Why:      "nodes are x86-64 only",
			Remedy:   "take the edition for x86-64 (amd64, x64)",
			Source:   check.Source{Title: "PE format", URL: "https://learn.microsoft.com/windows/win32/debug/pe-format#machine-types"},
		},
		{
			ID:       ProgramNetFramework,
			Severity: check.Error,
			Title:    "the program needs .NET Framework, which is not there",
			Why:      "it is code of .NET without a runtimeconfig.json, and Microsoft's .NET Framework does not install under Wine",
			Remedy:   "build it for .NET, with its runtime",
			Source:   check.Source{Title: ".NET Framework", URL: "https://learn.microsoft.com/dotnet/framework/"},
		},
		{
			ID:       ProgramDriver,
			Severity: check.Warning,
			Title:    "drivers do not work",
			Why:      "there is no Windows kernel",
			Remedy:   "do without the driver",
			Source:   check.Source{Title: "Windows drivers", URL: "https://learn.microsoft.com/windows-hardware/drivers/"},
		},
		{
			ID:       ProgramMissingLibrary,
			Severity: check.Error,
			Title:    "a library is not there, so the program does not start",
			Why:      "it imports the library, and neither its files nor Wine nor Mullion have it; Wine ends it with 0xc0000135",
			Remedy:   "add the library to the image if it is one of the program's own; if it is one of Windows, there is no way",
			Source: check.Source{
				Title: "Wine's loader, load_dll", URL: wine + "blob/wine-8.0/dlls/ntdll/loader.c",
			},
		},
		{
			ID:       ProgramMissingFunction,
			Severity: check.Warning,
			Title:    "the program ends when it calls a function that Wine does not have",
			Why:      "it imports the function, so it starts: Wine puts code in its place that raises an exception",
			Remedy:   "try whether what you use of the program gets there; another version of it may do without",
			Source: check.Source{
				Title: "Wine's loader, allocate_stub", URL: wine + "blob/wine-8.0/dlls/ntdll/loader.c",
			},
		},
		{
			ID:       ProgramStubFunction,
			Severity: check.Warning,
			Title:    "the program ends when it calls a function that is only a name in Wine",
			Why:      "Wine's library exports the function as a stub, which raises an exception",
			Remedy:   "try whether what you use of the program gets there; another version of it may do without",
			Source: check.Source{
				Title: "Wine's libraries, @ stub in their .spec files", URL: wine + "tree/wine-8.0/dlls",
			},
		},
	}

	for i := range rules {
		rules[i].Category, rules[i].Target = ProgramsCategory, check.OnProgram
	}

	return rules
}
