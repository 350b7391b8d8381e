package object

import (
	"net/http"
	"strings"

	"mullion.dev/mullion/guest/powershell/session"
)

// WebException is the class of errors of web requests.
const WebException = "System.Net.WebException"

// PolicyErrorsName is the enumeration of what is wrong with a server's certificate, and two of its numbers
// (https://learn.microsoft.com/dotnet/api/system.net.security.sslpolicyerrors).
const (
	PolicyErrorsName = "Net.Security.SslPolicyErrors"
	NameMismatch     = 2
	ChainErrors      = 4

	nameMismatch = "RemoteCertificateNameMismatch"
	chainErrors  = "RemoteCertificateChainErrors"
)

// ProtocolName is the enumeration of versions of TLS.
const ProtocolName = "Net.SecurityProtocolType"

// PreferenceType returns the values of preferences
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.actionpreference), as 5.1 has them.
func PreferenceType() *EnumType {
	return &EnumType{
		Name: "Management.Automation.ActionPreference",
		Values: []EnumName{
			{"SilentlyContinue", 0}, {"Stop", 1}, {"Continue", 2}, {"Inquire", 3}, {"Ignore", 4}, {"Suspend", 5},
		},
	}
}

// categoryType returns the categories of errors, in the order of their numbers
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.errorcategory).
func categoryType() *EnumType {
	t := &EnumType{Name: "Management.Automation.ErrorCategory"}
	for i, name := range []string{
		notSpecified, "OpenError", "CloseError", "DeviceError", "DeadlockDetected", invalidArgument, "InvalidData",
		InvalidOperating, "InvalidResult", "InvalidType", "MetadataError", "NotImplemented", "NotInstalled", ObjectNotFound,
		OperationStopped, "OperationTimeout", "SyntaxError", ParserError, "PermissionDenied", "ResourceBusy",
		"ResourceExists", "ResourceUnavailable", "ReadError", writeCategory, "FromStdErr", "SecurityError", "ProtocolError",
		"ConnectionError", "AuthenticationError", "LimitsExceeded", "QuotaExceeded", "NotEnabled",
	} {
		t.Values = append(t.Values, EnumName{name, int64(i)})
	}
	return t
}

// webFields returns what a WebException has besides the properties of other exceptions: Response is the answer, or
// $null.
func webFields(class string) []Field {
	if class != WebException {
		return nil
	}

	return []Field{{
		Name: "Response",
		Get: func(_ *session.State, v Value) (Value, error) {
			return Own[*ErrorRecord](v).response, nil
		},
	}}
}

// StatusName is the enumeration of HTTP's statuses.
const StatusName = "Net.HttpStatusCode"

// statusType names the statuses as .NET does, NotFound for example
// (https://learn.microsoft.com/en-us/dotnet/api/system.net.httpstatuscode).
func statusType() *EnumType {
	t := &EnumType{Name: StatusName}
	spelt := strings.NewReplacer(" ", "", "-", "", "URI", "Uri", "HTTP", "Http")
	for status := http.StatusContinue; status <= http.StatusHTTPVersionNotSupported; status++ {
		if name := http.StatusText(status); name != "" {
			t.Values = append(t.Values, EnumName{spelt.Replace(name), int64(status)})
		}
	}
	return t
}
