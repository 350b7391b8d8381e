package programs

func magick() Row {
	return nativeRow("imagemagick", "ImageMagick", "bin/win32/amd64/convert.exe", Pack{
		Version: "7.0.8-58-3",
		Name:    "@hakuneko/imagemagick-binaries",
		Sum:     "D/ZE9MWh8x3CDA6tkmuVFnF9BNXlSVhccndWEbS7PFYWrWH1eHFrLDVtpt1D2VTX1ycDDHysjYhFAg8gX4vkIg==",
	},
		Check{
			Name: "a picture, made smaller", Run: []string{"{exe}", "-size", "60x40", "gradient:#ff0000-#0000ff", "-resize", "50%", "a.png"},
			Writes: map[string]string{"a.png": "^.PNG"},
		},
		Check{
			Name: "its size and a pixel, after JPEG", Run: []string{"{exe}", "a.png", "a.jpg"},
			Writes: map[string]string{"a.jpg": "JFIF"},
		},
		Check{
			Name: "what the JPEG holds", Run: []string{"{exe}", "a.jpg", "-colorspace", "sRGB", "-format", "%m %w %h %[fx:p{15,0}.r>0.8] %[fx:p{15,19}.b>0.8]", "info:"},
			Want: "JPEG 30 20 1 1$",
		},
	)
}

func ripgrep() Row {
	return nativeRow("ripgrep", "ripgrep", "bin/rg.exe", Pack{
		Version: "1.18.0",
		Name:    "@vscode/ripgrep-win32-x64",
		Sum:     "KNPvtElldqILHdnAetujPaowkNbpqJy3ssIGGN6F6Kve9Qi+nNLI2DN01O83JjCEVQbCzl8Ov3QZ9Eov3BR8Dg==",
	},
		Check{
			Name: "a pattern in a folder, without what .gitignore names", Run: []string{"{exe}", "--no-require-git", "--sort", "path", "-n", `\bnodes?\b`, "src"},
			Files: map[string]string{
				"src/.gitignore": "out\n", "src/a.txt": "a node\nno match\nnodes\n", "src/sub/b.txt": "nodeless\nthe node\n", "src/out/c.txt": "node\n",
			},
			Want: `^src\\a\.txt:1:a node\nsrc\\a\.txt:3:nodes\nsrc\\sub\\b\.txt:2:the node\n$`,
		},
		Check{
			Name: "PCRE2",
			Run:  []string{"{exe}", "-P", "-o", "--no-filename", `(?<=the )\w+`, "src"},
			Want: `^node\n$`,
		},
		Check{
			Name: "nothing found",
			Run:  []string{"{exe}", "absent", "src"},
			Exit: 1,
			Want: "^$",
		},
	)
}

func lightningCSS() Row {
	return nativeRow("lightningcss", "Lightning CSS", "lightningcss.exe", Pack{
		Version: "1.33.0",
		Name:    "lightningcss-cli-win32-x64-msvc",
		Sum:     "sgtNPw2gxnY8OzCCMTKCkHSIiBYb/wfXLpLMmDIJFzcX2OETY+VOnQd7OBHx+hVSlrMU7iWL6oJ5rc+nQwteVA==",
	},
		Check{
			Name: "a bundle, minified, for older browsers", Run: []string{"{exe}", "--minify", "--bundle", "--targets", "chrome 80", "a.css", "-o", "out.css"},
			Files: map[string]string{
				"a.css": "\n@import './b.css';\n.a { color: red; &:hover { color: #00ff00 } }\n", "b.css": ".b { inset: 0 }\n",
			},
			Writes: map[string]string{"out.css": `^\.b\{top:0;bottom:0;left:0;right:0\}\.a\{color:red\}\.a:hover\{color:#0f0\}`},
		},
	)
}

func ffprobe() Row {
	row := nativeRow("ffprobe", "ffprobe, of what FFmpeg has made", "ffprobe.exe", Pack{
		Version: "5.1.0",
		Name:    "@ffprobe-installer/win32-x64",
		Sum:     "jMGYeAgkrdn4e2vvYt/qakgHRE3CPju4bn5TmdPfoAm1BlX1mY9cyMd8gf5vSzI8gH8Zq5WQAyAkmekX/8TSTg==",
	},
		Check{
			Name: "FFmpeg makes a film", Run: []string{
				`{dir}\ffmpeg.exe`, "-nostdin", "-y", "-f", "lavfi", "-i", "testsrc=duration=2:size=320x240:rate=10", "-c:v", "libx264", "a.mp4",
			},
		},
		Check{
			Name: "what is in it, as JSON",
			Run:  []string{"{exe}", "-v", "error", "-count_frames", "-show_streams", "-of", "json", "a.mp4"},
			Want: `"codec_name": "h264".*"width": 320,.*"height": 240,.*"duration": "2\.000000".*"nb_read_frames": "20"`,
		},
	)

	row.Source.With = []Source{{
		Pack: Pack{
			Version: "4.1.0",
			Name:    "@ffmpeg-installer/win32-x64",
			Sum:     "Drt5u2vzDnIONf4ZEkKtFlbvwj6rI3kxw1Ck9fpudmtgaZIHD4ucsWB2lCZBXRxJgXR+2IMSti+4rtM4C4rXgg==",
		},
		File: "ffmpeg.exe",
	}}

	return row
}

func sentryCLI() Row {
	return nativeRow("sentry-cli", "sentry-cli, without its service", "bin/sentry-cli.exe", Pack{
		Version: "3.8.0",
		Name:    "@sentry/cli-win32-x64",
		Sum:     "PJk9uYZsVnUcf7BfeJZcmgRIymRWojIVYCx3704VlOr65JFP5KmeKBVgHzfwPqLfjZaeerL81NO0fG3recDjqA==",
	},
		Check{
			Name: "its version",
			Run:  []string{"{exe}", "--version"},
			Want: `^sentry-cli 3\.8\.0\n$`,
		},
		Check{
			Name: "what a program has for debuggers", Run: []string{"{exe}", "debug-files", "check", `{dir}\bin\sentry-cli.exe`},
			Want: `Type: pe executable.*Arch: +x86_64.*> symtab, unwind.*Usable: yes`,
		},
		Check{
			Name: "source maps get an ID", Run: []string{"{exe}", "sourcemaps", "inject", "dist"},
			Files: map[string]string{
				"dist/a.js":     "console.log(1)\n//# sourceMappingURL=a.js.map\n",
				"dist/a.js.map": `{"version":3,"sources":["a.ts"],"names":[],"mappings":"AAAA"}`,
			},
			Writes: map[string]string{"dist/a.js": `//# debugId=[0-9a-f-]{36}`, "dist/a.js.map": `"debug_?[iI]d":"[0-9a-f-]{36}"`},
		},
	)
}

// lmdbGap is why LMDB's file cannot be opened.
const lmdbGap = "Wine maps no more of a file than there is (NtMapViewOfSection with MEM_RESERVE answers STATUS_INVALID_VIEW_SIZE) " +
	"and has no NtExtendSection, by which LMDB lets its file grow below the view"

// moreModules are other modules of npm with libraries for Windows, which Node.js loads.
func moreModules() Row {
	row := Row{
		ID: "modules_tools", Title: "Bundlers and other modules of npm with native code, in Node.js 22", Version: "22.23.3", Family: Native,
		Source: node22(),
	}

	row.Source.Tree = "tools"
	for _, part := range []struct{ name, title, says string }{
		{"rolldown", "Rolldown", "rolldown [42,false,false]"},
		{"rollup", "Rollup's parser", `rollup "*"`},
		{"canvas", "@napi-rs/canvas (Skia)", "canvas [20,10,[51,102,153,255],[0,0,0,0]]"},
		{"lmdb", "LMDB", `lmdb [{"n":1},499500]`},
	} {
		check := Check{
			Name: part.title, Run: []string{"{exe}", "tools.js", part.name},
			Files: map[string]string{"tools.js": "@tools/tools.js"}, Lines: []string{part.says},
		}
		if part.name == "lmdb" {
			check.Gaps = map[string]string{"8": lmdbGap, "10": lmdbGap}
		}
		row.Checks = append(row.Checks, check)
	}

	row.Checks = append(row.Checks, Check{
		Name: "oxlint", Run: []string{"{exe}", `node_modules\oxlint\bin\oxlint`, "--deny", "no-debugger", "wrong.js"}, Exit: 1,
		Files: map[string]string{"wrong.js": "debugger\n"}, Want: `eslint\(no-debugger\).*Found 0 warnings and 1 error`,
	})
	return row
}
