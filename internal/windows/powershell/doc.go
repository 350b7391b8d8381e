// Package powershell runs the part of PowerShell that Kubernetes' own Windows code and tests use: variables, strings, if, foreach, while,
// functions, pipelines, native programs, and the cmdlets of Cmdlets. PowerShell itself needs .NET, which neither Wine nor the test images
// have here.
//
// A script is read to its end before any of it runs. Syntax, a cmdlet, a parameter or a .NET type that is not in this part refuses the
// whole script with its name and place: nothing is done by halves, and nothing passes because a command was not understood. What can be known
// only while a script runs (a property that an object does not have) ends it with an error.
//
// The package knows nothing of Wine: on Linux it works on Linux' files, which is how it is tested.
//
// Where PowerShell's editions differ it follows PowerShell 6, which upstream's test images carry: output to files is UTF-8 without a mark
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/test/images/busybox/Dockerfile_windows).
//
//	text ── Parse ──▶ Script ── check ──▶ run ──▶ objects ── format ──▶ lines
package powershell
