// Package scope has the names of a session: which variables, functions and aliases there are, scope by scope, the
// drives by which a script reads them (variable:, function:, alias:), and the cmdlets that work on them. It runs
// nothing.
package scope
