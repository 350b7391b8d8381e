package certificate

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"slices"
	"strings"
)

// attributes returns the short names of the parts of a name, by their object identifiers
// (https://learn.microsoft.com/en-us/windows/win32/api/wincrypt/nf-wincrypt-certnametostrw).
func attributes() map[string]string {
	return map[string]string{
		"2.5.4.3": "CN", "2.5.4.4": "SN", "2.5.4.5": "SERIALNUMBER", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "S",
		"2.5.4.9": "STREET", "2.5.4.10": "O", "2.5.4.11": "OU", "2.5.4.12": "T", "2.5.4.42": "G", "2.5.4.43": "I",
		"1.2.840.113549.1.9.1": "E", "0.9.2342.19200300.100.1.25": "DC",
	}
}

// nameText returns a name as .NET shows it: its parts from the last to the first, "" for what is no name.
func nameText(der []byte) string {
	var name pkix.RDNSequence
	if rest, err := asn1.Unmarshal(der, &name); err != nil || len(rest) > 0 {
		return ""
	}

	var parts []string
	for _, set := range slices.Backward(name) {
		var one []string
		for _, a := range set {
			short, known := attributes()[a.Type.String()]
			if !known {
				short = "OID." + a.Type.String()
			}
			one = append(one, short+"="+quoted(fmt.Sprint(a.Value)))
		}
		parts = append(parts, strings.Join(one, " + "))
	}

	return strings.Join(parts, ", ")
}

// quoted puts a value between quotation marks where it has letters that part names.
func quoted(value string) string {
	if value != "" && value == strings.TrimSpace(value) && !strings.ContainsAny(value, "+,\"=\n<>#;") {
		return value
	}
	return `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
}
