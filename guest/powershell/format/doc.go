// Package format shows objects as PowerShell does: as tables, as lists, and as text. It writes lines and knows nothing
// of cmdlets.
package format
