package dockerfile_test

import (
	"fmt"
	"strings"
	"testing"
)

// doubled returns lines of which each has the variable before it several times.
func doubled(instruction string, lines int) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s V0=%s\n", instruction, strings.Repeat("x", 100))
	for i := range lines {
		fmt.Fprintf(&text, "%s V%d=%s\n", instruction, i+1, strings.Repeat(fmt.Sprintf("$V%d", i), 4))
	}
	return text.String()
}

// A few lines whose variables have one another fill no memory: the line that is too much is refused.
func TestVariablesOfVariables(t *testing.T) {
	t.Parallel()
	x := strings.Repeat("x", 5000)
	for name, tt := range map[string]struct{ text, want string }{
		"ENV":           {nano + doubled("ENV", 20), "Dockerfile:9: ENV V7="},
		"ARG":           {nano + doubled("ARG", 20), "Dockerfile:9: ARG V7="},
		"ARG for all":   {doubled("ARG", 20) + "FROM scratch", "Dockerfile:8: ARG V7="},
		"LABEL":         {nano + doubled("ENV", 6) + "LABEL a=$V6$V6$V6", "LABEL a="},
		"many lines":    {nano + doubled("ENV", 6) + strings.Repeat("LABEL a=$V6$V6\n", 30), "more than 16 MiB"},
		"a heredoc":     {nano + doubled("ENV", 6) + "COPY <<x /y\n$V6$V6$V6\nx", "too much"},
		"a replacement": {nano + "ENV A=" + x + "\nENV B=${A//x/$A$A}$A", "Dockerfile:3: ENV B="},
		"in another":    {nano + "ENV A=" + x[:200] + "\nENV B=${A//x/${A//x/${A//x/$A}}}", "Dockerfile:3: ENV B="},
		"by a long word": {
			nano + "ENV A=" + x + "\nENV B=${A//x/" + strings.Repeat("y", 1<<15) + "}",
			"Dockerfile:3: ENV B=",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := try(t, map[string]string{"Dockerfile": tt.text}, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%.300v, want %q", err, tt.want)
			}
		})
	}
}

// What Dockerfiles do with variables is below the bounds.
func TestVariablesOfUse(t *testing.T) {
	t.Parallel()
	m, err := try(t, map[string]string{"Dockerfile": nano +
		"ENV VERSION=1.2.3 ALL=" + strings.Repeat("C:/app;", 4000) + "\nENV P=${ALL}C:/more\n" +
		"ENV NAME=${VERSION//./_}-${VERSION//./-} AT=https://host.example//a/${VERSION}/b"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	env := strings.Join(m.config.Config.Env, "\n")
	for _, want := range []string{"NAME=1_2_3-1-2-3", "AT=https://host.example//a/1.2.3/b", "C:/app;C:/more"} {
		if !strings.Contains(env, want) {
			t.Errorf("%q is missing in\n%.300s", want, env)
		}
	}
}
