package programs

// goServers are servers in Go, built from their modules.
func goServers() []Row {
	return []Row{{
		ID:      "nats-server",
		Title:   "NATS",
		Version: "2.15.2",
		Family:  Go,
		Source: Source{
			Module:  "github.com/nats-io/nats-server/v2@v2.15.2",
			Package: "github.com/nats-io/nats-server/v2",
			File:    "nats-server.exe",
		},
		Checks: []Check{
			{Name: "its version", Run: []string{"{exe}", "--version"}, Want: `nats-server: v2\.15\.2`},
			{
				Name: "a message to a subscriber, with a store on the disk",
				Run:  []string{"{exe}", "-a", "127.0.0.1", "-p", "{port}", "-js", "-sd", `{dir}\store`},
				Asks: []Ask{{
					TCP:  "127.0.0.1:{port}",
					Send: "CONNECT {\"verbose\":false}\r\nSUB news 1\r\nPUB news 5\r\nhello\r\nPING\r\n",
					Want: "MSG news 1 5\r\nhello\r\n.*PONG",
				}},
				Want: "Server is ready",
			},
		},
	}}
}
