// Package absent has the names of what Windows' PowerShell has and this one has not: cmdlets, aliases, variables and
// types. By these an error says that a name is not here, where it would otherwise say that it is wrong.
package absent
