package dockerfile_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/runtime/dockerfile"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// What the instructions make of the configuration.
func TestConfig(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		args map[string]string
		want string
	}{
		"of the base": {
			text: nano,
			want: `{"Cmd":["c:\\windows\\system32\\cmd.exe"],"User":"ContainerUser"}`,
		},
		"scratch": {text: "FROM scratch\nCMD [\"a.exe\"]", want: `{"Cmd":["a.exe"]}`},
		"exec form": {
			text: "FROM scratch\nENTRYPOINT [\"a.exe\",\"b c\"]\nCMD [\"d\"]",
			want: `{"Cmd":["d"],"Entrypoint":["a.exe","b c"]}`,
		},
		"shell form": {
			text: "FROM scratch\nCMD a.exe \"b c\"",
			want: `{"Cmd":["cmd /S /C a.exe \"b c\""],"ArgsEscaped":true}`,
		},
		"another shell": {
			text: "FROM scratch\nSHELL [\"powershell\",\"-Command\"]\nENTRYPOINT a.exe",
			want: `{"Entrypoint":["powershell -Command a.exe"],"ArgsEscaped":true,"Shell":["powershell","-Command"]}`,
		},
		"a line, then CMD": {
			text: "FROM scratch\nENTRYPOINT a.exe\nCMD [\"b\"]",
			want: `{"Entrypoint":["cmd /S /C a.exe"],"ArgsEscaped":true}`,
		},
		"ENTRYPOINT takes the base's CMD away": {
			text: nano + "ENTRYPOINT [\"a.exe\"]",
			want: `{"Entrypoint":["a.exe"],"User":"ContainerUser"}`,
		},
		"ENV": {
			text: "FROM scratch\nENV A=1 B=\"x y\"\nENV a=2 C=${A}$B",
			want: `{"Env":["a=2","B=x y","C=1x y"]}`,
		},
		"ENV with a path": {
			text: "# escape=`\nFROM scratch\nENV P=C:\\app;C:\\bin",
			want: `{"Env":["P=C:\\app;C:\\bin"]}`,
		},
		"WORKDIR": {
			text: "# escape=`\nFROM scratch\nWORKDIR C:\\app\nWORKDIR bin",
			want: `{"WorkingDir":"C:\\app\\bin"}`,
		},
		"EXPOSE": {
			text: "FROM scratch\nEXPOSE 80 53/udp 90-91",
			want: `{"ExposedPorts":{"53/udp":{},"80/tcp":{},"90/tcp":{},"91/tcp":{}}}`,
		},
		"VOLUME": {
			text: "FROM scratch\nVOLUME C:/data",
			want: `{"Volumes":{"C:/data":{}}}`,
		},
		"STOPSIGNAL": {
			text: "FROM scratch\nSTOPSIGNAL SIGTERM",
			want: `{"StopSignal":"SIGTERM"}`,
		},
		"HEALTHCHECK": {
			text: "FROM scratch\nHEALTHCHECK --interval=5s --retries=2 CMD a.exe",
			want: `{"Healthcheck":{"Test":["CMD-SHELL","a.exe"],"Interval":5000000000,"Retries":2}}`,
		},
		"ONBUILD": {
			text: "FROM scratch\nONBUILD ENV A=1",
			want: `{"OnBuild":["ENV A=1"]}`,
		},
		"ARG by its default": {text: "FROM scratch\nARG A=1\nENV B=$A", want: `{"Env":["B=1"]}`},
		"ARG by the command line": {
			text: "FROM scratch\nARG A=1\nENV B=$A",
			args: map[string]string{"A": "2"},
			want: `{"Env":["B=2"]}`,
		},
		"ARG of all stages": {
			text: "ARG A=1\nFROM scratch\nARG A\nENV B=$A",
			want: `{"Env":["B=1"]}`,
		},
		"ARG of no stage": {text: "ARG A=1\nFROM scratch\nENV B=$A", want: `{"Env":["B="]}`},
		"ENV before ARG": {
			text: "FROM scratch\nENV A=1\nARG A=2\nENV B=$A",
			want: `{"Env":["A=1","B=1"]}`,
		},
		"ARG of the platform": {
			text: "FROM scratch\nARG TARGETOS\nENV B=$TARGETOS",
			want: `{"Env":["B=windows"]}`,
		},
		"USER": {
			text: nano + "USER ContainerAdministrator\nCMD [\"a\"]",
			want: `{"Cmd":["a"],"User":"ContainerAdministrator"}`,
		},
		"the stage below is as it was": {
			text: "FROM scratch AS a\nENV A=1\nLABEL x=y\nFROM a AS b\nENV A=2\nLABEL x=z\nEXPOSE 1\nFROM a\nCOPY --from=b Dockerfile /",
			want: "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"Dockerfile": tt.text}
			if tt.want == "" {
				files["Dockerfile"] = strings.Replace(tt.text, "EXPOSE 1\n", "EXPOSE 1\nCOPY Dockerfile /\n", 1)
				tt.want = `{"Env":["A=1"],"Labels":{"x":"y"}}`
			}

			m, err := try(t, files, func(o *dockerfile.Options) { o.Args = tt.args })
			if err != nil {
				t.Fatal(err)
			}

			delete(m.config.Config.Labels, imagebuild.LabelBase)
			if len(m.config.Config.Labels) == 0 {
				m.config.Config.Labels = nil
			}
			got, err := json.Marshal(m.config.Config)
			if err != nil || string(got) != tt.want {
				t.Errorf("%s, %v, want\n%s", got, err, tt.want)
			}
		})
	}
}

// A target that is not there is named with those that are.
func TestTarget(t *testing.T) {
	text := "FROM scratch AS one\nENV A=1\nFROM scratch AS two\nENV A=2\n"
	for target, want := range map[string]string{"one": "A=1", "TWO": "A=2", "0": "A=1", "": "A=2"} {
		m, err := try(t, map[string]string{"Dockerfile": text}, func(o *dockerfile.Options) { o.Target = target })
		if err != nil || !slices.Equal(m.config.Config.Env, []string{want}) {
			t.Errorf("target %q: %v, %v", target, m.config.Config.Env, err)
		}
	}

	for _, target := range []string{"three", "2", "-1"} {
		_, err := try(t, map[string]string{"Dockerfile": text}, func(o *dockerfile.Options) { o.Target = target })
		if err == nil || !strings.Contains(err.Error(), "one, two") {
			t.Errorf("target %q: %v", target, err)
		}
	}
}

// An image is for the build that its base's tag names, or for those that are asked for.
func TestBuilds(t *testing.T) {
	m, err := try(t, map[string]string{"Dockerfile": nano}, nil)
	if err != nil || len(m.builds) != 1 || !strings.HasPrefix(m.builds[0], "10.0.20348.") {
		t.Errorf("%v, %v", m.builds, err)
	}
	m, err = try(t, map[string]string{"Dockerfile": "FROM scratch"}, func(o *dockerfile.Options) {
		o.OSVersions = []string{"ltsc2019", "ltsc2025"}
	})
	if err != nil || len(m.builds) != 2 {
		t.Errorf("%v, %v", m.builds, err)
	}
}
