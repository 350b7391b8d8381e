// Package powershell runs the part of PowerShell that Kubernetes' own Windows code and tests use: variables, strings,
// if, foreach, while, functions, pipelines, native programs, and the cmdlets of Cmdlets. PowerShell itself needs .NET,
// which neither Wine nor the test images have here.
//
// A script is read to its end before any of it runs. What PowerShell has and this part has not refuses the whole script
// with its line, and nothing of it is run:
//
//   - syntax, an operator, a type of .NET, a method; a cmdlet, an alias, a parameter, a value of a parameter that
//     stands in the script;
//   - a variable of PowerShell's own (missing lists them), and setting one;
//   - wild cards for a cmdlet that has none, a path of another drive than a disk's or env:, a pipeline into a cmdlet
//     that takes none;
//   - running a file or block in this scope (. file), a regular expression that .NET and RE2 read differently.
//
// The same ends a script with a message and 1 where it is known only while the script runs: such a name, value or path
// in a variable, the text of Invoke-Expression, a script file that another one runs, a property that an object does not
// have. What came before it has been run then. An error that in PowerShell ends one statement ends the script here; one
// that ends none (a file that is not there) is printed, and the script goes on unless it says otherwise. What is
// neither a cmdlet nor an alias is a program, and whether that is there is seen when it is its turn.
//
// What is carried out differs from PowerShell in these: integers have 64 bits where PowerShell takes 32 or floating
// numbers; strings are compared by their characters' numbers, not as a culture sorts them; files that are hidden are
// shown without -Force too; dates in JSON stay text; a cmdlet that does not take objects one by one gives nothing
// before it has all; columns of tables are as wide as they are here, and
// objects of JSON are shown as lists. A module hns.psm1 is not run: the cmdlets for HNS
// that are here come in its place.
//
// The package knows nothing of Wine: on Linux it works on Linux' files, which is how it is tested. What only Windows
// tells (HNS, access lists, processes) lies in files of its own, and tests put theirs in its place.
//
// Where PowerShell's editions differ it follows PowerShell 6, which upstream's test images carry: output to files is
// UTF-8 without a mark (https://github.com/kubernetes/kubernetes/blob/v1.36.3/test/images/busybox/Dockerfile_windows).
//
//	text ── Parse ──▶ Script ── check ──▶ run ──▶ objects ── format ──▶ lines
package powershell
