package programs

// goServers are servers in Go, built from their modules.
func goServers() []Row {
	return []Row{nats(), caddy(), etcd(), coreDNS(), prometheus(), versityGW(), containerd(), grpcGo()}
}

// goProgram returns the source of a program that a module has; its file is named as the package's folder is.
func goProgram(file, module, version, folder string) Source {
	return Source{
		Module:  module + "@" + version,
		Package: module + folder,
		File:    file,
	}
}

func nats() Row {
	return Row{
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
	}
}

func caddy() Row {
	return Row{
		ID:      "caddy",
		Title:   "Caddy",
		Version: "2.11.9",
		Family:  Go,
		Source:  goProgram("caddy.exe", "github.com/caddyserver/caddy/v2", "v2.11.9", "/cmd/caddy"),
		Checks: []Check{
			{
				Name: "adapts its configuration",
				Run:  []string{"{exe}", "adapt"},
				Files: map[string]string{
					"Caddyfile": "{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n\tstorage file_system {dir/}/data\n}\n" +
						"http://127.0.0.1:{port} {\n\troot * public\n\tencode gzip\n" +
						"\thandle /api/* {\n\t\treverse_proxy https://127.0.0.1:{port2} {\n\t\t\ttransport http {\n" +
						"\t\t\t\ttls_insecure_skip_verify\n\t\t\t}\n\t\t}\n\t}\n\thandle {\n\t\tfile_server browse\n\t}\n}\n" +
						"https://127.0.0.1:{port2} {\n\ttls internal\n\trespond \"of Caddy: {method} {path}\"\n}\n",
					"public/page.html": "a page", "public/more/text.txt": "some text",
				},
				Want: `"upstreams":\[\{"dial":"127\.0\.0\.1:`,
			},
			{
				Name: "files, a folder's list, a reverse proxy to HTTPS by a certificate of its own authority",
				Run:  []string{"{exe}", "run"},
				Env:  []string{`APPDATA={dir}\appdata`},
				Asks: []Ask{
					{URL: "http://127.0.0.1:{port}/page.html", Want: "^200 OK\na page$"},
					{URL: "http://127.0.0.1:{port}/", Want: "^200 OK.*href=\"\\./more/\".*page\\.html"},
					{URL: "http://127.0.0.1:{port}/none", Want: "^404 "},
					{URL: "https://127.0.0.1:{port2}/x", Method: "PUT", Want: "^200 OK\nof Caddy: PUT /x$"},
					{URL: "http://127.0.0.1:{port}/api/y", Body: "b", Want: "^200 OK\nof Caddy: POST /api/y$"},
				},
				Want: "serving initial configuration",
			},
		},
	}
}

func etcd() Row {
	source := goProgram("etcd.exe", "go.etcd.io/etcd/server/v3", "v3.7.3", "")
	source.With = []Source{goProgram("etcdctl.exe", "go.etcd.io/etcd/etcdctl/v3", "v3.7.3", "")}
	run := []string{
		"{exe}", "--data-dir", "data", "--listen-client-urls", "http://127.0.0.1:{port}",
		"--advertise-client-urls", "http://127.0.0.1:{port}", "--listen-peer-urls", "http://127.0.0.1:{port2}",
		"--initial-advertise-peer-urls", "http://127.0.0.1:{port2}", "--initial-cluster", "default=http://127.0.0.1:{port2}",
	}

	ctl := func(want string, args ...string) Ask {
		return Ask{Run: append([]string{`{dir}\etcdctl.exe`, "--endpoints", "127.0.0.1:{port}"}, args...), Want: want}
	}
	return Row{
		ID:      "etcd",
		Title:   "etcd with etcdctl",
		Version: "3.7.3",
		Family:  Go,
		Source:  source,
		Checks: []Check{
			{
				Name: "put, get, a watch, a transaction, a snapshot; then it is killed",
				Run:  run,
				Asks: []Ask{
					ctl("is healthy", "endpoint", "health"),
					ctl("^OK", "put", "greeting", "hello"),
					ctl("^greeting\nhello\n$", "get", "greeting"),
					ctl("^OK", "put", "greeting", "hello again"),
					{
						URL:  "http://127.0.0.1:{port}/v3/watch",
						Body: `{"create_request":{"key":"Z3JlZXRpbmc=","start_revision":2}}`,
						Want: `"value":"aGVsbG8=".*"value":"aGVsbG8gYWdhaW4="`, // hello, hello again
					},
					{
						URL: "http://127.0.0.1:{port}/v3/kv/txn",
						Body: `{"compare":[{"key":"Z3JlZXRpbmc=","target":"VERSION","result":"EQUAL","version":"2"}],` +
							`"success":[{"request_put":{"key":"dHhu","value":"ZG9uZQ=="}}]}`,
						Want: `"succeeded":true`,
					},
					ctl("Snapshot saved at snapshot.db", "snapshot", "save", "snapshot.db"),
				},
				Writes: map[string]string{"snapshot.db": "hello again"},
				Kill:   true,
			},
			{
				Name: "what was put, after it was killed",
				Run:  run,
				Asks: []Ask{
					ctl("^greeting\nhello again\n$", "get", "greeting"),
					ctl("^txn\ndone\n$", "get", "txn"),
					ctl("^1\n$", "del", "txn"),
				},
				Want: "restarting local member",
			},
		},
	}
}

func coreDNS() Row {
	return Row{
		ID:      "coredns",
		Title:   "CoreDNS",
		Version: "1.15.0",
		Family:  Go,
		Source:  goProgram("coredns.exe", "github.com/coredns/coredns", "v1.15.0", ""),
		Checks: []Check{{
			Name: "a zone file by UDP, its counters by HTTP",
			Run:  []string{"{exe}", "-conf", "Corefile"},
			Files: map[string]string{
				"Corefile": ".:{port} {\n\tbind 127.0.0.1\n\tfile zone.db example.test\n\tprometheus 127.0.0.1:{port2}\n\tlog\n\terrors\n}\n",
				"zone.db": "$ORIGIN example.test.\n@ 60 IN SOA ns admin 1 60 60 60 60\n@ IN NS ns\nns IN A 192.0.2.1\n" +
					"www IN CNAME web\nweb IN A 192.0.2.7\nweb IN AAAA 2001:db8::7\n",
			},
			Asks: []Ask{
				{DNS: "127.0.0.1:{port}", Name: "www.example.test.", Want: "192\\.0\\.2\\.7\n2001:db8::7|2001:db8::7\n192\\.0\\.2\\.7"},
				{
					URL:  "http://127.0.0.1:{port2}/metrics",
					Want: `coredns_dns_requests_total\{[^}]*proto="udp"[^}]*type="AAAA"[^}]*\} [1-9]`,
				},
			},
			Want: `"AAAA IN www\.example\.test\. udp.*NOERROR`,
		}},
	}
}
