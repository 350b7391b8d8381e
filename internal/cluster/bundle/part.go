package bundle

import (
	"debug/buildinfo"
	"fmt"
	"runtime/debug"
	"strings"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// kubernetes is the module that upstream's programs are of; below mainPackages are their main packages.
const (
	kubernetes   = "k8s.io/kubernetes"
	mainPackages = kubernetes + "/cmd/"
)

// OtherProgramError says that a file is another program than the part of a node that it should be.
type OtherProgramError struct {
	// File is its path, Is its main package, and Part what it should be: "kubelet", "kube-proxy".
	File, Is, Part string
}

func (e *OtherProgramError) Error() string {
	return fmt.Sprintf("%s is the program %s, and not a %s", e.File, e.Is, e.Part)
}

// CheckPart returns a WrongProgramError or an OtherProgramError where a file is not a program for a part of a node of a
// system, as far as the file says that without being run. version is the one of Kubernetes that it says it has, ""
// where it says none. notes are lines for a person about what it does not say.
func CheckPart(path, part, system string) (version string, notes []string, err error) {
	if err := CheckProgram(path, system); err != nil {
		return "", nil, err
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		//nolint:nilerr // what does not say what it is may still be right
		return "", []string{fmt.Sprintf("%s has no build information of Go, so it is not checked that it is a %s, "+
			"nor of which version", path, part)}, nil
	}

	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}

	if goos, arch := set["GOOS"], set["GOARCH"]; (goos != "" && goos != system) || (arch != "" && arch != "amd64") {
		return "", nil, &WrongProgramError{
			File:   path,
			Is:     "a program for " + goos + "/" + arch,
			System: system,
		}
	}

	module := kubernetesModule(info)
	switch main := info.Path; {
	case main == mainPackages+part:
	case main == "", main == "command-line-arguments": // built from files, or without modules
		notes = append(notes, fmt.Sprintf("%s does not name its main package, so it is not checked that it is a %s", path, part))
	case module == nil, strings.HasPrefix(main, kubernetes+"/"):
		return "", nil, &OtherProgramError{
			File: path,
			Is:   main,
			Part: part,
		}

	default: // it has Kubernetes in it, as hyperkube has
		notes = append(notes, fmt.Sprintf("%s is %s, which has Kubernetes in it, and not upstream's %s", path, main,
			mainPackages+part))
	}

	if version = builtVersion(set["-ldflags"], module); version == "" {
		notes = append(notes, path+" does not say its version, so it is not compared with the control plane's")
	}
	return version, notes, nil
}

// kubernetesModule returns the module of Kubernetes that a program was built from; nil if there is none.
func kubernetesModule(info *debug.BuildInfo) *debug.Module {
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path != kubernetes {
			continue
		}
		if m.Replace != nil {
			return m.Replace
		}
		return m
	}
	return nil
}

// gitVersion is how Kubernetes' own build sets the version.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/hack/lib/version.sh
var gitVersion = lazyregexp.New(`k8s\.io/(?:component-base|client-go/pkg)/version\.gitVersion=([^\s'"]+)`)

// builtVersion returns the version that a program was built with: that of the linker's flags, which -trimpath leaves
// out of a program, or else that of its module.
func builtVersion(ldflags string, module *debug.Module) string {
	var all []string
	if m := gitVersion.FindStringSubmatch(ldflags); m != nil {
		all = append(all, m[1])
	}
	if module != nil {
		all = append(all, module.Version)
	}
	for _, v := range all {
		if versionForm.MatchString(v) {
			return v
		}
	}
	return ""
}
