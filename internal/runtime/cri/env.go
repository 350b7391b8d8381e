package cri

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// mergeEnv lays the container's variables over the image's. Names are compared without regard to case: a later variable
// replaces an earlier one and keeps its own spelling, as with SetEnvironmentVariable.
func mergeEnv(imageEnv []string, envs []*runtimeapi.KeyValue) []string {
	var out []string
	set := func(name, value string) {
		out = slices.DeleteFunc(out, func(e string) bool {
			old, _, _ := strings.Cut(e, "=")
			return strings.EqualFold(old, name)
		})
		out = append(out, name+"="+value)
	}

	for _, e := range imageEnv {
		name, value, _ := strings.Cut(e, "=")
		if name != "" {
			set(name, value)
		}
	}

	for _, kv := range envs {
		set(kv.GetKey(), string(kv.GetValue()))
	}

	return out
}

// envFileName is the file in the container's working folder that carries the program's environment.
const envFileName = "env"

// writeEnvFile writes the program's environment for mullion-run.exe.
func (*Server) writeEnvFile(dir string, env []string) error {
	path := filepath.Join(dir, envFileName)
	if err := os.WriteFile(path, EnvFile(env), 0o644); err != nil {
		return fmt.Errorf("write environment: %w", err)
	}
	return nil
}

// EnvFile returns a program's environment as mullion-run.exe reads it: each variable is ended by a NUL.
func EnvFile(env []string) []byte {
	var b bytes.Buffer
	for _, e := range env {
		b.WriteString(e)
		b.WriteByte(0)
	}
	return b.Bytes()
}

// unixEnv returns the program's environment as Linux variables, for a program that the loader starts itself. Wine
// passes Linux variables on to the program, but PATH, HOME and others that Linux itself uses only when their names have
// the prefix WINE (https://gitlab.winehq.org/wine/wine/-/blob/wine-8.0/dlls/ntdll/unix/env.c, is_special_env_var).
// Variables that steer Wine or the dynamic linker are dropped.
func unixEnv(env []string) []string {
	var out []string
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		upper := strings.ToUpper(name)
		switch {
		case strings.HasPrefix(upper, "WINE"), strings.HasPrefix(upper, "LD_"), upper == "GLIBC_TUNABLES",
			upper == "GCONV_PATH":
		case slices.Contains([]string{"PATH", "PWD", "HOME", "TEMP", "TMP"}, upper):
			out = append(out, "WINE"+upper+"="+value)
		default:
			out = append(out, e)
		}
	}

	return out
}
