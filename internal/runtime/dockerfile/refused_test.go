package dockerfile_test

import (
	"strings"
	"testing"

	"mullion.dev/mullion/internal/runtime/dockerfile"
)

// What cannot be carried out is refused with its line, and with what to do.
func TestRefused(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"RUN": {
			nano + "COPY a.txt /\nRUN setup.exe",
			"Dockerfile:3: RUN setup.exe: no program is started",
		},
		"an image for Linux": {
			"FROM alpine:3\n",
			"Dockerfile:1: FROM alpine:3: no image docker.io/library/alpine:3",
		},
		"another platform": {
			"FROM --platform=linux/amd64 golang AS b\nFROM scratch\nCOPY --from=b a /",
			"Dockerfile:1: FROM --platform=linux/amd64 golang AS b: no image docker.io/library/golang",
		},
		"a program of Linux": {
			"FROM --platform=$BUILDPLATFORM golang AS b\nWORKDIR /x\nRUN go build\nFROM scratch\nCOPY --from=b a /",
			"Dockerfile:1: FROM --platform=$BUILDPLATFORM golang AS b: no image docker.io/library/golang",
		},
		"another machine's platform": {
			"FROM --platform=windows/arm64 scratch", "Dockerfile:1: FROM --platform=windows/arm64 scratch: scratch is for windows/arm64",
		},
		"an image for Linux alone": {"FROM --platform=linux scratch", "the stage that becomes the image is for linux, and the image for windows: say --os linux"},
		"an unknown word":          {nano + "\nFETCH x", "Dockerfile:3: unknown instruction: FETCH"},
		"nothing":                  {"", "Dockerfile: file with no instructions"},
		"no FROM":                  {"COPY a b", "Dockerfile:1: no build stage in current context"},
		"a file that is not": {
			nano + "COPY no.txt /",
			`Dockerfile:2: COPY no.txt /: "no.txt" is not in the folder of the build`,
		},
		"not in the stage": {
			nano + nano + "COPY --from=0 /x /",
			`Dockerfile:3: COPY --from=0 /x /: "/x" is not in the stage`,
		},
		"a later stage":            {nano + "COPY --from=b /x /\n" + "FROM scratch AS b", ""},
		"another drive":            {nano + "COPY a.txt D:/x", "is not on C:"},
		"another machine":          {nano + "COPY a.txt //host/x", "is on another machine"},
		"a device":                 {nano + "COPY a.txt /NUL", "names a device"},
		"a name with a star":       {nano + "COPY a.txt \"/a*b\"", "not a Windows file name"},
		"several into a file":      {nano + "COPY a.txt Dockerfile /x", "the target has to be a folder"},
		"a pattern into a file":    {nano + "COPY *.txt /x", ""},
		"a file over a folder":     {nano + "WORKDIR /x/a.txt\nCOPY a.txt /x/", "is a folder, and not a file"},
		"a folder over a file":     {nano + "COPY a.txt /x\nCOPY a.txt /x/y", `C:\x is a file, and not a folder`},
		"a group":                  {nano + "USER a:b", "Windows has no user:group"},
		"a port":                   {nano + "EXPOSE 80000", `port "80000"`},
		"a range":                  {nano + "EXPOSE 90-80", `port "90-80"`},
		"another protocol":         {nano + "EXPOSE 80/sctp", `port "80/sctp"`},
		"a Git repository":         {nano + "ADD https://example.invalid/x.git /", "is a Git repository"},
		"a part of a repository":   {nano + "ADD https://example.invalid/x.git#v1 /", "is a Git repository"},
		"a heredoc that leads out": {nano + "COPY <<../../Hives/x C:/\nx\n../../Hives/x", "not a Windows file name"},
		"what is left out":         {nano + "COPY secret /", `"secret" is not in the folder of the build, or .dockerignore`},
		"a stage with ONBUILD": {
			"FROM scratch AS a\nONBUILD ENV A=1\nFROM a", "Dockerfile:3: FROM a: stage a has ONBUILD",
		},
		"a checksum of a file":  {nano + "ADD --checksum=sha256:00 a.txt /", "--checksum is for an address"},
		"parents":               {"# syntax=docker/dockerfile:1-labs\n" + nano + "COPY --parents a.txt /", "--parents"},
		"a link that leads out": {nano + "COPY out /x", ""},
		"a variable's syntax":   {nano + "COPY ${a /", "Dockerfile:2"},
		"two Windows":           {nano, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"Dockerfile": tt.text, "a.txt": "A", "secret": "S", ".dockerignore": "secret\n!a.txt", "out/link": "->../../../etc/passwd"}
			with := func(o *dockerfile.Options) {
				if name == "two Windows" {
					o.OSVersions = []string{"ltsc2019"}
				}
			}

			switch name {
			case "a later stage":
				with = func(o *dockerfile.Options) { o.Target = "0" }
				tt.want = "no image docker.io/library/b:latest"
			case "a pattern into a file":
				files["b.txt"], tt.want = "B", `"*.txt" names 2 files`
			case "a link that leads out":
				tt.want = "leads out of the folder"
			case "two Windows":
				tt.want = "leave out --windows-version"
			}

			_, err := try(t, files, with)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// What may not be as its author thinks is said.
func TestWarnings(t *testing.T) {
	m, err := try(t, map[string]string{
		"Dockerfile": "# syntax=example.invalid/front:1\n" + nano + "COPY --chown=me a.txt /\n" +
			"COPY --from=mcr.microsoft.com/windows/servercore:ltsc2022 /Windows/System32/x.dll /x/\nEXPOSE 1:2",
		"a.txt": "A",
	}, func(o *dockerfile.Options) { o.Args = map[string]string{"NOBODY": "1", "http_proxy": "x"} })
	if err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{
		"1: the frontend example.invalid/front:1 is not fetched",
		"3: --chown and --chmod do nothing",
		"4: /Windows/System32/x.dll is Windows' own",
		"5: EXPOSE 1:2",
		"0: no ARG of the stages that were made asks for --build-arg NOBODY",
	} {
		if !strings.Contains(m.warnings(), want) {
			t.Errorf("%q is missing in\n%s", want, m.warnings())
		}
	}

	if strings.Contains(m.warnings(), "http_proxy") {
		t.Error(m.warnings())
	}
}
