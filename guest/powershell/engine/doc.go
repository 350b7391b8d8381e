// Package engine runs the scripts that package lang reads: statements, functions, pipelines, errors, programs. Package
// scope has the names that they see. The engine binds the parameters of cmdlets and is the Scope that they ask. It
// knows no cmdlet but those that work on the script itself (Cmdlets); the others it gets in a table.
//
// The way of a cmdlet from the script to its function and back:
//
//	dispatch.go  run: a statement
//	pipe.go      runPipeline ── step, for each stage ── doStage: what the word names ── runCmdlet
//	cmdlet.go    prepare: binds parameters to values ── runCall ── Cmdlet.Run(Call)
//	             Call.Out ──▶ the next stage's input, or the screen (package format)
package engine
