// Package ourprograms owns what Linux has to know of the programs of Windows that Mullion brings (guest/tools): their
// names, their files, and the page that stands in for IIS' own. It has no code of theirs.
package ourprograms

// Page is the page of an image's site that stands in for IIS' own (package w3svc serves it).
const Page = "<!DOCTYPE html>\r\n<html><head><title>Mullion's W3SVC</title></head>\r\n<body><h1>It serves</h1>\r\n" +
	"<p>Mullion's W3SVC stands in for IIS here: it serves the static files of C:\\inetpub\\wwwroot.</p></body></html>\r\n"

// Names returns the programs that the one program wintools.exe has, sorted.
func Names() []string {
	return []string{
		"certutil", "chcp", "chkdsk", "choice", "cipher", "comp", "curl", "eventcreate", "fc", "find", "findstr",
		"forfiles", "getmac", "gpresult", "help", "hostname", "hostservice", "icacls", "ipconfig", "klist", "label",
		"logmonitor", "more", "net", "netsh", "netstat", "nltest", "nslookup", "query", "quser", "qwinsta",
		"robocopy", "route", "sc", "schtasks", "servicemonitor", "setx", "shutdown", "sort", "systeminfo",
		"takeown", "tar", "taskeng", "tasklist", "timeout", "tracert", "tree", "tzutil", "w32tm", "w3svc",
		"wevtutil", "where", "whoami", "wmic", "xcopy",
	}
}

// File returns the name of a program's file on Windows.
func File(name string) string {
	if name == "chcp" || name == "more" || name == "tree" {
		return name + ".com"
	}
	return name + ".exe"
}
