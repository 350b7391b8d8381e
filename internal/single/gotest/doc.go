// Package gotest owns how a test program that was built for Windows runs in a container as if it ran on this machine:
// what `go test -exec` and cargo's runner call, by `mullion run --go-test`. The program finds the module at the same
// path on C: (/home/me/mod is C:\home\me\mod), works in its package's folder, and has the environment but for what is
// Linux' own. Files that its flags name, for profiles, coverage and fuzzing, are its own while it runs, and are put in
// their places when it has ended.
//
// It does not own how a container is asked for and followed (package single), or how go test is called.
package gotest
