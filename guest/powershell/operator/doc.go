// Package operator has PowerShell's operators, but for those that may not need their right side: arithmetic,
// comparison, -match, -replace, -split, -join, -f, and items of lists. It knows values alone.
package operator
