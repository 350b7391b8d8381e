package main

import (
	"bytes"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/check/command"
)

func TestExitCodes(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {os: {name: windows}, nodeSelector: {kubernetes.io/os: windows}%}\n"
	for _, tc := range []struct {
		args, in string
		code     int
		out, err string
	}{
		{"check", strings.Replace(pod, "%", "", 1), 0, "0 errors", ""},
		{
			"check -", strings.Replace(pod, "%", ", hostPID: true", 1), command.CodeFindings, "[host-pid]",
			"severity error or worse",
		},
		{"check -o github", strings.Replace(pod, "%", ", hostPID: true", 1), command.CodeFindings, "::error file=", ""},
		{"check", "a: [", command.CodeUnreadable, "not read", "not read"},
		{"check -o nothing", "", exitUsage, "", `output "nothing"`},
		{"check --explain host-pid", "", 0, "Refused from Kubernetes 1.24 on", ""},
		{"check --explain nothing", "", exitUsage, "", `no rule "nothing"`},
		{"check rules", "", 0, "host-pid", ""},
		{"check policy", "", 0, "kind: MutatingAdmissionPolicyBinding", ""},
		{"check policy --kubernetes-version 1.29", "", exitUsage, "", "1.30 or later"},
		{"__complete check --output ju", "", 0, "junit", ""},
		{"__complete check --windows-version lt", "", 0, "ltsc2025", ""},
		{"check --nothing", "", exitUsage, "", "unknown flag"},
		{"chekc", "", exitUsage, "", "unknown command"},
	} {
		var out, errOut bytes.Buffer
		if code := run(t.Context(), strings.Fields(tc.args), strings.NewReader(tc.in), &out, &errOut); code != tc.code {
			t.Errorf("%s: code %d, want %d: %s", tc.args, code, tc.code, errOut.String())
		}
		if !strings.Contains(out.String(), tc.out) || !strings.Contains(errOut.String(), tc.err) {
			t.Errorf("%s: want %q and %q in:\n%s\n%s", tc.args, tc.out, tc.err, out.String(), errOut.String())
		}
	}
}
