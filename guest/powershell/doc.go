// Package powershell runs the part of PowerShell that Kubernetes' own Windows code, tests and documentation use:
// variables, strings, hash tables, conditions and loops, functions, try, catch and trap, pipelines, native programs,
// the cmdlets of Cmdlets, and of .NET the types of dotnet.Classes with the members that are listed there, among them
// HttpListener. PowerShell itself needs .NET, which neither Wine nor the test images have here.
//
// A script is read to its end before any of it runs. Only a text that is not PowerShell is refused, with its line and
// column in PowerShell's words, and nothing of it is run. All else is bound late, as there: a cmdlet, parameter, type,
// member or variable that is not here is an error of the statement that needs it, when that is reached. try catches
// it, $ErrorActionPreference rules it, $Error has it, and the script goes on with the next statement. The error says
// "not part of Mullion's PowerShell", so that a person can tell it from a wrong name. Lacks lists beforehand what a
// script's text shows of this: commands, parameters and their values, types, static members, methods, automatic
// variables and drives.
//
// A name that is neither a cmdlet, an alias nor a function is a program, which is looked for when it is run.
//
// The results differ from PowerShell's in these points: integers have 64 bits where PowerShell takes 32 or floating
// numbers, and decimal is floating; a parameter's attributes hold for its argument, not for what is assigned to it
// later; strings are compared by their code points, not by a culture's order; hidden files are shown without -Force
// too; dates in JSON stay text; a cmdlet that does not stream, and a function, outputs nothing before it has all its
// input; tables have other column widths, and objects of .NET are shown as their text where they have one; long lines
// of errors are not folded at the width of a window; -Verbose and -Debug of a cmdlet say nothing more; the lines that a
// program writes as errors are text where 2>&1 makes them a part of the output (if $ErrorActionPreference is Stop, the
// first is an error, as in PowerShell); hash tables keep the order in which they were filled. The culture is en-US. A
// module hns.psm1 is not run: the HNS cmdlets of package hostnetworking take its place; other modules are files of
// functions. A listener takes requests by net/http, not http.sys: it needs no reservation of its URL, and two processes
// cannot share a port. Names in archives have slashes where 5.1 writes backslashes, and no item of an archive is
// unpacked through a link.
//
// Without a script it is a prompt: it reads commands from standard input and runs each as a script of its own, whose
// variables and functions stay. What is refused or ends such a script ends that command only. At a console its lines
// are edited and completed as PSReadLine does (guest/lineedit, completion), errors and warnings have colours, and
// tables are as wide as the window. The history ends with the session: where PSReadLine writes it to a file, here
// nothing that was typed stays behind in a container. There is no profile.
//
// An error is shown as Windows PowerShell 5.1 shows it: the command and the message, the place with the line of the
// script, CategoryInfo and FullyQualifiedErrorId, or its category alone if $ErrorView says CategoryView.
//
// The package knows nothing of Wine: on Linux it works on Linux' files, which is how it is tested. Calls of Windows
// (HNS, access lists, processes, network adapters, the registry) are in package system, and tests replace them.
//
// Where PowerShell's editions differ it follows Windows PowerShell 5.1 and the .NET Framework: > and Out-File write
// UTF-16 with a mark. As pwsh.exe, and in an image whose powershell.exe is PowerShell 6, as that of upstream's test
// images is, they write UTF-8 without one. Set-Content without -Encoding writes UTF-8 without a mark, where 5.1 takes
// the code page of Windows.
//
// This package is a run of powershell.exe: its arguments, a script or a prompt, and the table of all cmdlets. The
// parts are in packages of their own (docs/design/0008-windows.md).
//
//	text ── lang ──▶ Script ── engine, cmdlets ──▶ objects ── format ──▶ lines
package powershell
