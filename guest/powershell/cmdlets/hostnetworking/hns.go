package hostnetworking

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/library"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/internal/base/lazyregexp"
)

// The cmdlets of Windows' module HostNetworkingService, with which scripts that deploy kube-proxy and CNI plugins look
// for networks (https://learn.microsoft.com/en-us/powershell/module/hostnetworkingservice). Such scripts bring
// Microsoft's hns.psm1 along (https://github.com/microsoft/SDN/blob/master/Kubernetes/windows/hns.psm1), which calls
// HNS by .NET. Importing that module provides these cmdlets instead. The file must exist and be Microsoft's; its
// content is not run.

// hnsFile is the module file that the cmdlets here replace.
const hnsFile = "hns.psm1"

// hnsFunction recognizes Microsoft's file: each version has one of these two functions.
var hnsFunction = lazyregexp.New(`(?i)\bfunction\s+(invoke-hnsrequest|get-hnsnetwork)\b`)

// importModule imports modules: those whose cmdlets are here are imported already. Of a file hns.psm1 that is
// Microsoft's the cmdlets here come in its place.
func importModule(c *cmdlet.Call) error {
	how := cmdlet.Import{
		Prefix: c.Text("prefix"),
		Global: c.Flags["global"] || c.Values["scope"] != nil, // which may be global alone
	}
	for v := range object.Each(c.Values["function"]) {
		how.Functions = append(how.Functions, object.Text(v))
	}

	for _, key := range []string{"minimumversion", "requiredversion"} {
		if v, ok := c.Values[key]; ok {
			text := object.Text(v)
			if !strings.Contains(text, ".") { // of the number 2.0
				text += ".0"
			}
			least, err := library.ParseVersion(text)
			if err != nil {
				return c.Unbound(err)
			}
			how.Least = least
		}
	}

	for _, v := range c.Items("name") {
		name := object.Text(v)
		if o, ok := v.(*object.Object); ok && o.Props["path"] != nil {
			name = object.Text(o.Props["path"])
		}
		if err := importOne(c, name, how); err != nil {
			return err
		}
	}

	return nil
}

func importOne(c *cmdlet.Call, name string, how cmdlet.Import) error {
	if slices.Contains(cmdlet.Modules(), strings.ToLower(name)) {
		return nil
	}
	isPath := strings.ContainsAny(name, `/\:`)
	if isPath {
		if err := c.KnownPath(name); err != nil {
			return err
		}
	}

	if strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/"))) == hnsFile {
		source, err := os.ReadFile(c.State.Path(name))
		if err != nil {
			return object.Thrown("Import-Module : %v", provider.Because(name, err))
		}
		if hnsFunction.Match(source) { // Microsoft's
			return nil
		}
	}

	o, err := c.Scope.ImportModule(name, how, c.Out)
	if e, ok := errors.AsType[*object.Exception](err); ok && e.ID == "Modules_ModuleNotFound" {
		return c.Fail(err)
	}
	if err != nil || !c.Flags["passthru"] {
		return err
	}
	return c.Output(o)
}

// hns calls HNS with a body in JSON, or "", and returns the objects in its answer, or HNS's error.
func hns(c *cmdlet.Call, method, path, body string) (object.Value, error) {
	answer, err := c.State.System.HNS(method, path, body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	var reply struct {
		Success bool
		Error   string
		Output  json.RawMessage
	}

	if err := json.Unmarshal([]byte(answer), &reply); err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if !reply.Success {
		return nil, fmt.Errorf("%s %s: %s", method, path, reply.Error)
	}
	if len(reply.Output) == 0 {
		return nil, nil
	}

	return object.FromJSON(string(reply.Output))
}

// getHNS outputs the objects of a kind, or the one with -Id.
func getHNS(kind string) func(c *cmdlet.Call) error {
	return func(c *cmdlet.Call) error {
		v, err := hns(c, "GET", "/"+kind+"/"+c.Text("id"), "")
		if err != nil {
			return c.Fail(err)
		}
		for item := range object.Each(v) {
			if err := c.Out.Put(item); err != nil {
				return err
			}
		}
		return nil
	}
}

// removeHNS removes its input objects of a kind.
func removeHNS(kind string) func(c *cmdlet.Call) error {
	return func(c *cmdlet.Call) error {
		for _, item := range c.Items(cmdlet.ObjectName) {
			id := object.Text(item)
			if o, ok := item.(*object.Object); ok {
				id = object.Text(o.Props["id"])
			}

			err := errors.New("an object of HNS, or its ID, is missing")
			if id != "" {
				_, err = hns(c, "DELETE", "/"+kind+"/"+id, "")
			}
			if err != nil {
				if err := c.Fail(err); err != nil {
					return err
				}
			}
		}

		return nil
	}
}

// Cmdlets returns the cmdlets of this package.
func Cmdlets() []cmdlet.Cmdlet { return append(hnsCmdlets(), computeCmdlets()...) }

func hnsCmdlets() []cmdlet.Cmdlet {
	var all []cmdlet.Cmdlet
	for _, k := range []struct{ noun, kind, about string }{
		{"HnsNetwork", "networks", "networks"},
		{"HnsEndpoint", "endpoints", "endpoints"},
		{"HnsPolicyList", "policylists", "load balancers"},
	} {
		all = append(
			all,
			cmdlet.Cmdlet{
				Name:      "Get-" + k.noun,
				About:     "HNS' " + k.about,
				Run:       getHNS(k.kind),
				Values:    []string{"id"},
				Positions: []string{"id"},
			},
			cmdlet.Cmdlet{
				Name:      "Remove-" + k.noun,
				About:     "removes HNS' " + k.about,
				Run:       removeHNS(k.kind),
				Values:    []string{cmdlet.ObjectName},
				Positions: []string{cmdlet.ObjectName},
				Takes:     cmdlet.ObjectName,
				Needs:     []string{cmdlet.ObjectName},
			},
		)
	}

	all = append(all, makingCmdlets()...)
	return append(all, cmdlet.Cmdlet{
		Name:      "Import-Module",
		Lists:     listedModule,
		Aliases:   []string{"ipmo"},
		Values:    []string{"name", "prefix", "function", "minimumversion", "requiredversion", "scope"},
		Flags:     []string{"force", "disablenamechecking", "global", "passthru"},
		Allowed:   map[string][]string{"scope": {"global"}},
		Positions: []string{"name"},
		Takes:     "name",
		Needs:     []string{"name"},
		Run:       importModule,
		About:     "a module of functions: a file, a manifest, a folder, or a name in a folder of modules",
	})
}

// listedModule returns the error of a module of Windows that is not here, for the list of what a script lacks; nil for
// others.
func listedModule(parameter, name string) error {
	if parameter != "name" || strings.ContainsAny(name, `/\.`) || slices.Contains(cmdlet.Modules(), strings.ToLower(name)) {
		return nil
	}
	return fmt.Errorf("the module %s is not part of Mullion's PowerShell", name)
}
