package programs

func prometheus() Row {
	const module, version = "github.com/prometheus/prometheus", "v0.316.0"
	source := goProgram("prometheus.exe", module, version, "/cmd/prometheus")
	source.With = []Source{goProgram("promtool.exe", module, version, "/cmd/promtool")}
	run := func(config string) []string {
		return []string{
			"{exe}", "--config.file", config, "--storage.tsdb.path", "data", "--web.listen-address", "127.0.0.1:{port}",
		}
	}
	tool := func(args ...string) []string { return append([]string{`{dir}\promtool.exe`}, args...) }
	return Row{
		ID:      "prometheus",
		Title:   "Prometheus with promtool, without its web pages, which its module has not got",
		Version: "3.16.0",
		Family:  Go,
		Source:  source,
		Checks: []Check{
			{
				Name: "promtool: a configuration, rules and a test of theirs",
				Run:  tool("test", "rules", "tests.yml"),
				Files: map[string]string{
					"rules.yml": "groups:\n- name: g\n  interval: 1s\n  rules:\n  - record: job:up:answer\n    expr: sum by (job) (up) * 42\n",
					"tests.yml": "rule_files: [rules.yml]\ntests:\n- interval: 1m\n" +
						"  input_series: [{series: 'up{job=\"self\"}', values: '1 1 1'}]\n" +
						"  promql_expr_test:\n  - {expr: 'job:up:answer', eval_time: 2m, exp_samples: [{labels: 'job:up:answer{job=\"self\"}', value: 42}]}\n",
					"prometheus.yml": "global: {scrape_interval: 1s}\nrule_files: [rules.yml]\nscrape_configs:\n" +
						"- job_name: self\n  static_configs: [{targets: ['127.0.0.1:{port}']}]\n",
					"none.yml": "global: {scrape_interval: 1s}\n",
				},
				Want: "SUCCESS",
			},
			{Name: "promtool: a wrong result of a test", Run: tool("test", "rules", "wrong.yml"), Exit: 1, Want: `got:[^\n]*4\.2E\+01`, Files: map[string]string{
				"wrong.yml": "rule_files: [rules.yml]\ntests:\n- interval: 1m\n  input_series: [{series: 'up{job=\"self\"}', values: '1 1'}]\n" +
					"  promql_expr_test:\n  - {expr: 'job:up:answer', eval_time: 1m, exp_samples: [{labels: 'job:up:answer{job=\"self\"}', value: 41}]}\n",
			}},
			{
				Name: "it scrapes itself and records by a rule; then it is killed",
				Run:  run("prometheus.yml"),
				Asks: []Ask{
					{URL: "http://127.0.0.1:{port}/api/v1/query?query=job:up:answer", Want: `"job":"self"},"value":\[[0-9.]+,"42"\]`},
					{Run: tool("query", "instant", "http://127.0.0.1:{port}", "job:up:answer"), Want: `job:up:answer\{job="self"\} => 42 @`},
					{URL: "http://127.0.0.1:{port}/api/v1/targets", Want: `"health":"up"`},
				},
				Kill: true,
			},
			{
				Name: "what it stored, after it was killed",
				Run:  run("none.yml"),
				Asks: []Ask{{
					URL:  "http://127.0.0.1:{port}/api/v1/query?query=max_over_time(job:up:answer[1h])",
					Want: `"job":"self"},"value":\[[0-9.]+,"42"\]`,
				}},
				Want: "WAL replay completed.*See you next time",
			},
		},
	}
}

// rcloneSource returns the source of rclone, which is a client of S3 too.
func rcloneSource() Source {
	return goProgram("rclone.exe", "github.com/rclone/rclone", "v1.76.0", "")
}

func rclone() Row {
	return Row{
		ID:      "rclone",
		Title:   "rclone",
		Version: "1.76.0",
		Family:  Go,
		Source:  rcloneSource(),
		Checks: []Check{
			{
				Name: "copy, with the same bytes in a folder", Run: []string{"{exe}", "copy", "src", "dst"},
				Files:  map[string]string{"src/a.txt": "one\n", "src/sub/b.txt": "two\n", "rclone.conf": "[crypt]\ntype = crypt\nremote = secret\npassword = XMhEvpdwGbtecaXYAd7wmyo\n"},
				Writes: map[string]string{"dst/a.txt": "^one\n$", "dst/sub/b.txt": "^two\n$"},
			},
			{Name: "check", Run: []string{"{exe}", "check", "src", "dst"}, Want: "0 differences found.*2 matching files"},
			{
				Name: "hashsum", Run: []string{"{exe}", "hashsum", "sha256", "dst"},
				Want: "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806  a.txt",
			},
			{
				Name: "a difference that check finds", Run: []string{"{exe}", "check", "src", "dst"}, Exit: 1,
				Files: map[string]string{"src/a.txt": "On\n\n"}, Want: "1 differences found",
			},
			{Name: "copy into an encrypted folder", Run: []string{"{exe}", "--config", "rclone.conf", "copy", "dst", "crypt:"}},
			{
				Name: "read from the encrypted folder",
				Run:  []string{"{exe}", "--config", "rclone.conf", "cat", "crypt:sub/b.txt"}, Want: "two\n$",
			},
			{
				Name: "serves a folder by HTTP", Run: []string{"{exe}", "serve", "http", "dst", "--addr", "127.0.0.1:{port}"},
				Asks: []Ask{
					{URL: "http://127.0.0.1:{port}/", Want: `^200 OK.*href="(\./)?sub/"`},
					{URL: "http://127.0.0.1:{port}/sub/b.txt", Headers: map[string]string{"Range": "bytes=1-2"}, Want: "^206 Partial Content\nwo$"},
				},
			},
		},
	}
}

func versityGW() Row {
	source := goProgram("versitygw.exe", "github.com/versity/versitygw", "v1.8.0", "/cmd/versitygw")
	source.With = []Source{rcloneSource()}
	s3 := func(want string, args ...string) Ask {
		return Ask{Run: append([]string{`{dir}\rclone.exe`, "--config", "rclone.conf", "--retries", "1"}, args...), Want: want}
	}

	return Row{
		ID:      "versitygw",
		Title:   "Versity S3 Gateway, asked by rclone",
		Version: "1.8.0",
		Family:  Go,
		Source:  source,
		Checks: []Check{{
			Name: "a bucket of S3: put, list, get, compare, delete",
			Run:  []string{"{exe}", "--port", "127.0.0.1:{port}", "posix", "--sidecar", `{dir}\meta`, "store"},
			Env:  []string{"ROOT_ACCESS_KEY=user", "ROOT_SECRET_KEY=secretkey"},
			Files: map[string]string{
				"src/a.txt": "one\n", "src/sub/b.txt": "two\n", "store/.keep": "", "meta/.keep": "",
				"rclone.conf": "[store]\ntype = s3\nprovider = Other\naccess_key_id = user\nsecret_access_key = secretkey\n" +
					"endpoint = http://127.0.0.1:{port}\n",
			},
			Asks: []Ask{
				s3("", "mkdir", "store:bucket"),
				{URL: "http://127.0.0.1:{port}/bucket", Want: "^403 .*AccessDenied"},
				s3("", "copy", "src", "store:bucket"),
				s3(`4 a\.txt\n +4 sub/b\.txt`, "ls", "store:bucket"),
				s3("two\n$", "cat", "store:bucket/sub/b.txt"),
				s3("0 differences found.*2 matching files", "check", "src", "store:bucket"),
				s3("", "deletefile", "store:bucket/a.txt"),
				s3(`^[^a]*4 sub/b\.txt\n$`, "ls", "store:bucket"),
			},
			Writes: map[string]string{"store/bucket/sub/b.txt": "^two\n$"},
		}},
	}
}

func containerd() Row {
	const module, version = "github.com/containerd/containerd/v2", "v2.4.2"
	source := goProgram("containerd.exe", module, version, "/cmd/containerd")
	source.With = []Source{
		goProgram("ctr.exe", module, version, "/cmd/ctr"),
		goProgram("crictl.exe", "sigs.k8s.io/cri-tools", "v1.37.0", "/cmd/crictl"),
	}

	const pipe = `\\.\pipe\containerd-test`
	ctr := func(want string, args ...string) Ask {
		return Ask{Run: append([]string{`{dir}\ctr.exe`, "-a", pipe, "-n", "test"}, args...), Want: want}
	}
	crictl := func(want string, args ...string) Ask {
		return Ask{Run: append([]string{`{dir}\crictl.exe`, "-r", "npipe:////./pipe/containerd-test"}, args...), Want: want}
	}
	const sum = "sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03" // of "hello\n"
	return Row{
		ID:      "containerd",
		Title:   "containerd, ctr and crictl (without containers, which need Windows' HCS)",
		Version: "2.4.2",
		Family:  Go,
		Source:  source,
		Checks: []Check{
			{Name: "ctr: the specification of a container", Run: []string{`{dir}\ctr.exe`, "oci", "spec"}, Want: `"ociVersion".*"windows": {`},
			{
				Name: "containerd by its named pipe: content by ctr, its CRI by crictl",
				Run:  []string{"{exe}", "--config", "config.toml"},
				Files: map[string]string{
					"config.toml": "version = 3\nroot = '{dir}\\root'\nstate = '{dir}\\state'\n[grpc]\n  address = '" + pipe + "'\n",
					"blob":        "hello\n",
					"ingest.cmd":  "{dir}\\ctr.exe -a " + pipe + " -n test content ingest --expected-size 6 --expected-digest " + sum + " key < blob\r\n",
				},
				Asks: []Ask{
					ctr(`Server:\n +Version: +2\.4\.2`, "version"),
					ctr("", "namespaces", "create", "test", "of=tests"),
					{Run: []string{"cmd", "/c", `{dir}\ingest.cmd`}},
					ctr("^hello\n$", "content", "get", sum),
					ctr("test +of=tests", "namespaces", "ls"),
					ctr(`io\.containerd\.cri\.v1 +runtime +windows/amd64 +ok`, "plugins", "ls"),
					crictl("RuntimeName: +containerd\n", "version"),
					crictl(`"type": "RuntimeReady"`, "info"),
				},
				Want: "containerd successfully booted",
			},
		},
	}
}

func grpcGo() Row {
	const module, version = "google.golang.org/grpc/examples", "v0.0.0-20260825154716-030ee8becb20"
	source := goProgram("greeter_server.exe", module, version, "/helloworld/greeter_server")
	source.With = []Source{
		goProgram("greeter_client.exe", module, version, "/helloworld/greeter_client"),
		goProgram("route_server.exe", module, version, "/route_guide/server"),
		goProgram("route_client.exe", module, version, "/route_guide/client"),
	}

	return Row{
		ID:      "grpc",
		Title:   "gRPC's examples in Go",
		Version: "2026-08-25",
		Family:  Go,
		Source:  source,
		Checks: []Check{
			{
				Name: "a call",
				Run:  []string{"{exe}", "--port", "{port}"},
				Asks: []Ask{{Run: []string{`{dir}\greeter_client.exe`, "--addr", "127.0.0.1:{port}", "--name", "you"}, Want: "Greeting: Hello you"}},
				Want: "Received: you",
			},
			{
				Name: "streams of both sides",
				Run:  []string{`{dir}\route_server.exe`, "--port", "{port}"},
				Asks: []Ask{{
					Run: []string{`{dir}\route_client.exe`, "--addr", "127.0.0.1:{port}"},
					Want: `Berkshire Valley Management Area Trail.*Route summary: point_count:\s?\d+.*` +
						`Got message First message at point\(0, 1\).*Got message Sixth message at point\(0, 3\)`,
				}},
			},
		},
	}
}
