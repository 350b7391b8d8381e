// Package powershell runs the part of PowerShell that Kubernetes' own Windows code, tests and documentation use:
// variables, strings, hash tables, conditions and loops, functions, try, catch and trap, pipelines, native programs,
// the cmdlets of Cmdlets, and of .NET the types of classes with the members that are listed there, among them
// HttpListener. PowerShell itself needs .NET, which neither Wine nor the test images have here.
//
// A script is read to its end before any of it runs. If it uses something of PowerShell that is not implemented here,
// the whole script is refused with the line, and nothing of it is run:
//
//   - syntax, an operator, a type of .NET, a method; a cmdlet, an alias, a parameter, a value of a parameter, if it is
//     written in the script;
//   - a variable of PowerShell's own that is not implemented (see missing), and setting any of PowerShell's own;
//   - wild cards for a cmdlet without them, a path on a drive that the cmdlet does not know: all know disks, a few env:
//     or the registry, HKLM: and HKCU: (see registryParameters); a pipeline into a cmdlet that takes no input;
//   - a regular expression that .NET and RE2 read differently.
//
// Some of this is known only while the script runs: a name, value or path in a variable, the text of Invoke-Expression,
// a script file or module that another one runs and the functions that it defines, a property that an object does not
// have. Then the script ends at this point with a message and exit code 1, which no try catches. An exception (of a
// member of .NET, of -f, of a parameter's attributes, of a web request) and a wrong value (a number that is none) is
// printed and ends one statement, as in PowerShell; try catches it. An error that ends no statement (a missing file) is
// printed, and the script goes on unless it says otherwise. A name that is neither a cmdlet nor an alias is a program,
// which is looked for when it is run.
//
// The results differ from PowerShell's in these points: integers have 64 bits where PowerShell takes 32 or floating
// numbers; a parameter's attributes hold for its argument, not for what is assigned to it later; strings are compared
// by their code points, not by a culture's order; hidden files are shown without -Force too; dates in JSON stay text; a
// cmdlet that does not stream, and a function, outputs nothing before it has all its input; tables have other column
// widths, and objects of .NET are shown as their text where they have one, errors as one line; -Verbose and -Debug of a
// cmdlet say nothing more; the lines that a program writes as errors are text where 2>&1 makes them a part of the
// output (if $ErrorActionPreference is Stop, the first is an error, as in PowerShell); hash tables keep the order in
// which they were filled. The culture is en-US. A module hns.psm1 is not run: the HNS cmdlets of this package take its
// place; other modules are files of functions. A listener takes requests by net/http, not http.sys: it needs no
// reservation of its URL, and two processes cannot share a port. Names in archives have slashes where 5.1 writes
// backslashes, and no item of an archive is unpacked through a link.
//
// Without a script it is a prompt: it reads commands from standard input and runs each as a script of its own, whose
// variables and functions stay. What is refused or ends such a script ends that command only. There is no history, no
// completion and no profile.
//
// The package knows nothing of Wine: on Linux it works on Linux' files, which is how it is tested. Calls of Windows
// (HNS, access lists, processes, network adapters, the registry) are in files of their own, and tests replace them.
//
// Where PowerShell's editions differ it follows Windows PowerShell 5.1 and the .NET Framework, but for output to files,
// which is UTF-8 without a mark, as that of PowerShell 6 is, which upstream's test images carry
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/test/images/busybox/Dockerfile_windows).
//
//	text ── Parse ──▶ Script ── check ──▶ run ──▶ objects ── format ──▶ lines
package powershell
