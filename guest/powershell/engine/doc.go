// Package engine runs the scripts that package lang reads: scopes, variables, functions, pipelines, errors, programs.
// It binds the parameters of cmdlets and is the Scope that they ask. It knows no cmdlet but those that work on its own
// scopes (Cmdlets); the others it gets in a table.
package engine
