// Package prog holds the tests that run on Windows, which here is Wine with Mullion's shims: one test for each gap of
// the Windows API that the shims close, call by call, as Go programs make those calls. The same tests pass on Windows
// itself.
//
// It owns no code of its own. Package winapi builds and runs it.
package prog
