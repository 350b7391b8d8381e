// Package clixml owns the XML in which PowerShell keeps objects in files and sends them to other programs ([MS-PSRP]
// 2.2.5, https://learn.microsoft.com/en-us/openspecs/windows_protocols/ms-psrp/). Numbers, texts, times and lists are
// read as what they were; other objects as their properties alone, of a type whose name begins with Deserialized.
package clixml

// Sealer seals the text of a password for a file, and opens it again.
type Sealer interface {
	Seal(text string) (sealed string, err error)
	Open(sealed string) (text string, err error)
}

// The elements that hold one value each, and those of lists, tables and objects.
const (
	textElement  = "S"
	tableElement = "DCT"
	listElement  = "LST"
	rootElement  = "Objs"
	space        = "http://schemas.microsoft.com/powershell/2004/04"

	// deserialized begins the name of the type of an object that was read.
	deserialized = "Deserialized."
)

const (
	arrayName  = "System.Object[]"
	objectName = "System.Object"
	customName = "System.Management.Automation.PSCustomObject"
)
