package powershell

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

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

// knownModule refuses a module that is neither Windows' own nor a file.
func knownModule(name string) error {
	base := lower(path.Base(strings.ReplaceAll(name, `\`, "/")))
	if lower(name) != "hostnetworkingservice" && !isModuleFile(base) {
		return fmt.Errorf("the module %s is not part of Mullion's PowerShell", name)
	}
	return nil
}

// importModule accepts Windows' own module, and a file hns.psm1 that exists and is Microsoft's. It runs other files.
// Microsoft's are not run: the cmdlets here come in their place.
func importModule(c *call) error {
	for _, v := range c.items("name") {
		name := text(v)
		if err := knownModule(name); err != nil {
			return thrown("Import-Module : %v.", err)
		}
		if lower(name) == "hostnetworkingservice" {
			continue
		}
		if err := c.knownPath(name); err != nil {
			return err
		}
		if lower(path.Base(strings.ReplaceAll(name, `\`, "/"))) != hnsFile { // its content does not matter
			if err := c.importFile(name); err != nil {
				return err
			}
			continue
		}
		source, err := os.ReadFile(c.f.in.path(name))
		if err != nil {
			return thrown("Import-Module : %v", because(name, err))
		}
		if !hnsFunction.Match(source) { // not Microsoft's
			if err := c.importFile(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// hns calls HNS and returns the objects in its answer, or HNS's error.
func (c *call) hns(method, path string) (value, error) {
	answer, err := c.f.in.session.system().hns(method, path, "")
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
	return fromJSON(string(reply.Output))
}

// getHNS outputs the objects of a kind, or the one with -Id.
func getHNS(kind string) func(c *call) error {
	return func(c *call) error {
		v, err := c.hns("GET", "/"+kind+"/"+c.text("id"))
		if err != nil {
			return c.fail(err)
		}
		for item := range each(v) {
			if err := c.out.put(item); err != nil {
				return err
			}
		}
		return nil
	}
}

// removeHNS removes its input objects of a kind.
func removeHNS(kind string) func(c *call) error {
	return func(c *call) error {
		for _, item := range c.items(objectName) {
			id := text(item)
			if o, ok := item.(*object); ok {
				id = text(o.props["id"])
			}
			err := errors.New("an object of HNS, or its ID, is missing")
			if id != "" {
				_, err = c.hns("DELETE", "/"+kind+"/"+id)
			}
			if err != nil {
				if err := c.fail(err); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

func hnsCmdlets() []cmdlet {
	var all []cmdlet
	for _, k := range []struct{ noun, kind, about string }{
		{"HnsNetwork", "networks", "networks"},
		{"HnsEndpoint", "endpoints", "endpoints"},
		{"HnsPolicyList", "policylists", "load balancers"},
	} {
		all = append(
			all,
			cmdlet{
				name:      "Get-" + k.noun,
				about:     "HNS' " + k.about,
				run:       getHNS(k.kind),
				values:    []string{"id"},
				positions: []string{"id"},
			},
			cmdlet{
				name:      "Remove-" + k.noun,
				about:     "removes HNS' " + k.about,
				run:       removeHNS(k.kind),
				values:    []string{objectName},
				positions: []string{objectName},
				takes:     objectName,
				needs:     []string{objectName},
			},
		)
	}
	return append(all, cmdlet{
		name:      "Import-Module",
		aliases:   []string{"ipmo"},
		values:    []string{"name"},
		flags:     []string{"force", "disablenamechecking", "global"},
		positions: []string{"name"},
		takes:     "name",
		needs:     []string{"name"},
		run:       importModule,
		about:     "HostNetworkingService, or a file hns.psm1 in its place, or another file of functions",
	})
}

// hnsAnswer returns HNSCall's answer, or an error if the HRESULT is negative.
func hnsAnswer(hr int32, answer string) (string, error) {
	if hr < 0 {
		return "", fmt.Errorf("HNS answers 0x%08x", uint32(hr)) // an HRESULT
	}
	return answer, nil
}
