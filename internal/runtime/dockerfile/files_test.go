package dockerfile_test

import (
	"maps"
	"strings"
	"testing"
)

// What COPY and ADD put where, by https://docs.docker.com/reference/dockerfile/#copy and what BuildKit does with
// Windows' paths (util/system/path.go).
func TestFiles(t *testing.T) {
	context := map[string]string{
		"a.txt": "A", "b.txt": "B", "dir/c.txt": "C", "dir/sub/d.txt": "D", "dir/link": "->c.txt", "empty/": "",
		"todir": "->dir",
	}

	for name, tt := range map[string]struct{ text, want, files string }{
		"a file by its name": {text: "COPY a.txt C:\\\\x.txt", want: "x.txt A"},
		"into a folder":      {text: "COPY a.txt /app/", want: "app /\napp/a.txt A"},
		"backslashes": {
			text: "# escape=`\n" + nano + "COPY dir\\sub\\d.txt C:\\app\\bin\\",
			want: "app /\napp/bin /\napp/bin/d.txt D",
		},
		"below the work dir": {text: "WORKDIR /app\nCOPY a.txt .", want: "app /\napp/a.txt A"},
		"a folder's contents": {
			text: "COPY dir /x",
			want: "x /\nx/c.txt C\nx/link ->c.txt\nx/sub /\nx/sub/d.txt D",
		},
		"a pattern": {text: "COPY *.txt /x/", want: "x /\nx/a.txt A\nx/b.txt B"},
		"a folder of Windows": {
			text: "COPY a.txt C:/Windows/System32",
			want: "Windows /\nWindows/System32 /\nWindows/System32/a.txt A",
		},
		"a link to a folder":   {text: "COPY todir /x", want: "x /\nx/c.txt C\nx/link ->c.txt\nx/sub /\nx/sub/d.txt D"},
		"a pattern of nothing": {text: "COPY *.zip /x/", want: ""},
		"several":              {text: "COPY a.txt dir/c.txt /x/", want: "x /\nx/a.txt A\nx/c.txt C"},
		"an empty folder":      {text: "COPY empty /x", want: "x /"},
		"exclude": {
			text: "# syntax=docker/dockerfile:1\n" + nano + "COPY --exclude=sub dir /x",
			want: "x /\nx/c.txt C\nx/link ->c.txt",
		},
		"into what is a folder": {text: "WORKDIR /x\nCOPY a.txt /X", want: "x /\nx/a.txt A"},
		"in another case":       {text: "COPY a.txt /App/x\nCOPY b.txt /app/Y", want: "App /\nApp/Y B\nApp/x A"},
		"in place of another":   {text: "COPY a.txt /x\nCOPY b.txt /X", want: "X B\nx A"},
		"a heredoc":             {text: "ENV WHO=me\nCOPY <<EOF /x.txt\nhello $WHO\nEOF", want: "x.txt hello me\n"},
		"a heredoc as it is": {
			text: "ENV WHO=me\nCOPY <<\"EOF\" /x.txt\nhello $WHO\nEOF",
			want: "x.txt hello $WHO\n",
		},
		"two heredocs":      {text: "COPY <<one <<two /x/\n1\none\n2\ntwo", want: "x /\nx/one 1\n\nx/two 2\n"},
		"out of the folder": {text: "COPY ../a.txt /x", want: "x A"},
		"what is left out": {
			text:  "COPY . /x/",
			files: "**\n!dir/sub\n",
			want:  "x /\nx/dir /\nx/dir/sub /\nx/dir/sub/d.txt D",
		},
		"from a stage": {
			text: "WORKDIR /p\nCOPY a.txt .\n" + nano + "COPY --from=0 C:/P/A.txt /q/",
			want: "q /\nq/a.txt A",
		},
		"a folder of a stage": {
			text: "COPY dir /p\n" + nano + "COPY --from=0 /p /q",
			want: "q /\nq/c.txt C\nq/link ->c.txt\nq/sub /\nq/sub/d.txt D",
		},
		"a pattern in a stage": {
			text: "COPY a.txt b.txt /p/\n" + nano + "COPY --from=0 /p/*.TXT /q/",
			want: "q /\nq/a.txt A\nq/b.txt B",
		},
		"on a stage":               {text: "COPY a.txt /p\nFROM 0\nCOPY b.txt /q", want: "p A\nq B"},
		"a stage that is not made": {text: "RUN no\n" + nano + "COPY a.txt /x", want: "x A"},
		"Windows' own of an image": {
			text: "COPY --from=mcr.microsoft.com/windows/servercore:ltsc2022 /windows/system32/netapi32.dll /windows/system32/",
			want: "",
		},
		"the page of the web server": {
			text: "FROM mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022\nCOPY a.txt /inetpub/wwwroot/",
			want: "inetpub/wwwroot/a.txt A",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"Dockerfile": nano + tt.text}
			if strings.HasPrefix(tt.text, "FROM") || strings.HasPrefix(tt.text, "#") {
				files["Dockerfile"] = tt.text
			}
			maps.Copy(files, context)
			if tt.files != "" {
				files[".dockerignore"] = tt.files
			}

			m, err := try(t, files, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := m.list()
			if strings.Contains(tt.text, "iis") { // its stand-in has files of its own
				got = "inetpub/wwwroot/a.txt " + m.files["inetpub/wwwroot/a.txt"]
			}

			if got != tt.want {
				t.Errorf("its files:\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}
