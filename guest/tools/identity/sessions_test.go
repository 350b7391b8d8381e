package identity

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSessions asks for users and sessions, where nobody is logged on
// (https://learn.microsoft.com/windows-server/administration/windows-commands/query-user).
func TestSessions(t *testing.T) {
	const (
		header  = " SESSIONNAME       USERNAME                 ID  STATE   TYPE        DEVICE \n"
		console = ">console                                     1  Conn                       \n"
		remote  = "Error 0x000006BA enumerating sessionnames\nError [1722]:The RPC server is unavailable.\n"
	)
	for line, want := range map[string]result{
		"quser":                               {Code: 1, Err: "No User exists for *\n"},
		"quser Administrator":                 {Code: 1, Err: "No User exists for Administrator\n"},
		"query user":                          {Code: 1, Err: "No User exists for *\n"},
		"query USER /server:x":                {Code: 1, Err: remote},
		"quser a b":                           {Code: 1, Err: "Invalid parameter(s)\nQUERY USER [username | sessionname | sessionid] [/SERVER:servername]\n"},
		"quser /x":                            {Code: 1, Err: "Invalid parameter(s)\nQUERY USER [username | sessionname | sessionid] [/SERVER:servername]\n"},
		"qwinsta":                             {Out: header + " services                                    0  Disc                       \n" + console},
		"query session 1":                     {Out: header + console},
		"query session Console":               {Out: header + console},
		"query session none":                  {Code: 1, Err: "No session exists for none\n"},
		"qwinsta /server:x":                   {Code: 1, Err: remote},
		"qwinsta a b":                         {Code: 1, Err: "Invalid parameter(s)\nQUERY SESSION [sessionname | username | sessionid] [/SERVER:servername]\n"},
		"query process":                       {Code: 1, Err: "QUERY PROCESS is not here; tasklist lists the processes.\n"},
		"query":                               {Code: 1, Err: "Invalid parameter(s)\nQUERY { PROCESS | SESSION | TERMSERVER | USER }\n"},
		"query nothing":                       {Code: 1, Err: "Invalid parameter(s)\nQUERY { PROCESS | SESSION | TERMSERVER | USER }\n"},
		"gpresult /r":                         {Code: 1, Out: "INFO: The user \"WIN-1\\Admin\" does not have RSoP data.\n"},
		"gpresult /scope user /v /user other": {Code: 1, Out: "INFO: The user \"other\" does not have RSoP data.\n"},
		"gpresult /h a.html /f":               {Code: 1, Out: "INFO: The user \"WIN-1\\Admin\" does not have RSoP data.\n"},
		"gpresult /s x /r":                    {Code: 1, Err: "ERROR: The RPC server is unavailable.\n"},
		"gpresult /user":                      {Code: 1, Err: "ERROR: Invalid syntax. Value expected for '/user'.\nType \"GPRESULT /?\" for usage.\n"},
		"gpresult /scope x":                   {Code: 1, Err: "ERROR: Invalid syntax. 'x' value is not allowed for '/scope' option.\nType \"GPRESULT /?\" for usage.\n"},
		"gpresult /user x":                    {Code: 1, Err: "ERROR: Invalid syntax. Specify one of the options /R, /V, /Z, /H or /X.\nType \"GPRESULT /?\" for usage.\n"},
		"gpresult /zz":                        {Code: 1, Err: "ERROR: Invalid argument/option - '/zz'.\nType \"GPRESULT /?\" for usage.\n"},
	} {
		if diff := cmp.Diff(want, run(t, &fake{}, "", strings.Fields(line)...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}

	for _, line := range []string{"quser /?", "qwinsta /?", "gpresult /?"} {
		if got := run(t, &fake{}, "", strings.Fields(line)...); got.Code != 0 || got.Out == "" {
			t.Errorf("%s: %+v", line, got)
		}
	}
	if got := run(t, &fake{}, "", "gpresult"); got.Code != 1 || !strings.Contains(got.Out, "GPRESULT [/S system") {
		t.Errorf("gpresult alone: %+v", got)
	}
}
