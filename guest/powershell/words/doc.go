// Package words has the words that all of PowerShell's parts say: errors as sentences of PowerShell's own, and what is
// said of a part that is not here.
package words
