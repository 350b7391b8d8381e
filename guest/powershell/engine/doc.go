// Package engine runs the scripts that package lang reads: statements, functions, pipelines, errors, programs. Package
// scope has the names that they see. The engine binds the parameters of cmdlets and is the Scope that they ask. It
// knows no cmdlet but those that work on the script itself (Cmdlets); the others it gets in a table.
package engine
