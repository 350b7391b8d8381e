package programs

// listenerSays are the lines of testdata/dotnet/listener.cs.
var listenerSays = []string{
	"GET /a/b?c=d%20e 127.0.0.1:PORT test True 1.1",
	"echo hello", "large True", "chunked request True 300000", "expect continued", "chunked True 6",
	"418 A teapot a=1 x1,y2 Microsoft-HTTPAPI/2.0", "head 36", "redirect 302",
	"one connection 200,200", "http 1.0 200", "malformed 400", "parallel 100", "abort", "second prefix ", "stop", "stopped",
	"again 200", "other host 404 404 200", "twice 183", "two listeners 200", "one gone 200 404", "aborted False",
}

// httpServers returns the checks of .NET's servers on http.sys.
func httpServers() []Check {
	return []Check{
		{
			Name: "the C# compiler, for an HttpListener",
			Run:  csc("listener"),
			Files: map[string]string{
				"listener.cs": "@dotnet/listener.cs", "listener.runtimeconfig.json": "@dotnet/hello.runtimeconfig.json",
			},
		},
		{
			Name:  "HttpListener: bodies, chunks, cookies, 100 requests at a time, prefixes, Abort, Stop",
			Run:   []string{"{exe}", "listener.dll", "{port}"},
			Lines: listenerSays,
		},
		{
			Name: "HttpListener, asked from Linux",
			Run:  []string{"{exe}", "listener.dll", "{port}", "serve"},
			Asks: []Ask{
				{URL: "http://127.0.0.1:{port}/x", Want: `^200 OK\nGET /x 127\.0\.0\.1:\d+ Go-http-client/1\.1 True 1\.1$`},
				{URL: "http://127.0.0.1:{port}/echo", Body: "body", Want: `^200 OK\nbody$`},
				{URL: "http://[::1]:{port}/chunked", Want: `^200 OK\nline 0\n.*line 4\n$`},
				{TCP: "127.0.0.1:{port}", Send: "HEAD /\r\n\r\n", Want: `^HTTP/1\.1 400 Bad Request`},
			},
			Want: "^serving\n",
		},
		{
			Name: "the C# compiler, for ASP.NET Core on http.sys",
			Run:  csc("httpsys"),
			Files: map[string]string{
				"httpsys.cs": "@dotnet/httpsys.cs", "httpsys.runtimeconfig.json": "@dotnet/web.runtimeconfig.json",
			},
		},
		{
			Name: "ASP.NET Core on http.sys (UseHttpSys)",
			Run:  []string{"{exe}", "httpsys.dll", "{port}"},
			Asks: []Ask{
				{URL: "http://127.0.0.1:{port}/a%20b?c", Want: `^200 OK\nhttp GET  /a%20b\?c HTTP/1\.1 127\.0\.0\.1$`},
				{URL: "http://127.0.0.1:{port}/base/x", Want: "http GET /base /x HTTP/1.1"},
				{URL: "http://127.0.0.1:{port}/body", Body: "body", Want: `^200 OK\nPOST 4$`},
				{URL: "http://127.0.0.1:{port}/stream", Want: "^200 OK\npart 0,part 1,part 2,$"},
				{URL: "http://127.0.0.1:{port}/file", Want: "^200 OK\nfrom a file$"},
				{URL: "http://127.0.0.1:{port}/cookies", Headers: map[string]string{"Cookie": "x=7"}, Want: "^200 OK\n7$"},
				{
					TCP:  "127.0.0.1:{port}",
					Send: "GET /upgrade HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\nhello",
					Want: "^HTTP/1.1 101 .*\r\n\r\nhello$",
				},
			},
			Want: "Application started",
		},
	}
}
