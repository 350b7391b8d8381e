package powershell

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
)

// The cmdlets of Windows' module HostNetworkingService, which scripts that deploy kube-proxy and CNI plugins ask for networks
// (https://learn.microsoft.com/en-us/powershell/module/hostnetworkingservice). Microsoft's hns.psm1, which such scripts bring along
// (https://github.com/microsoft/SDN/blob/master/Kubernetes/windows/hns.psm1), has functions of these names that need .NET: importing it
// gives these.

// hnsModules are the modules that Import-Module knows.
func hnsModules() []string { return []string{"hostnetworkingservice", "hns", "hns.psm1"} }

func importModule(c *call) error {
	for v := range each(c.values["name"]) {
		name := lower(path.Base(strings.ReplaceAll(text(v), `\`, "/")))
		known := false
		for _, m := range hnsModules() {
			known = known || m == name
		}
		if !known {
			return thrown("Import-Module : the module %s is not part of Mullion's PowerShell.", text(v))
		}
	}
	return nil
}

// hns calls HNS; the answer is an envelope with the objects, or why not.
func (c *call) hns(method, path string) (value, error) {
	do := c.f.in.session.HNS
	if do == nil {
		do = callHNS
	}
	answer, err := do(method, path, "")
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

// getHNS gives the objects of a kind, or the one with -Id.
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

// removeHNS removes the objects of a kind that it is given.
func removeHNS(kind string) func(c *call) error {
	return func(c *call) error {
		items := c.input
		for v := range each(c.values["inputobject"]) {
			items = append(items, v)
		}
		for _, item := range items {
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
		{"HnsNetwork", "networks", "networks"}, {"HnsEndpoint", "endpoints", "endpoints"}, {"HnsPolicyList", "policylists", "load balancers"},
	} {
		all = append(
			all,
			cmdlet{name: "Get-" + k.noun, values: []string{"id"}, positions: []string{"id"}, about: "HNS' " + k.about, run: getHNS(k.kind)},
			cmdlet{name: "Remove-" + k.noun, values: []string{"inputobject"}, positions: []string{"inputobject"}, about: "removes HNS' " + k.about, run: removeHNS(k.kind)},
		)
	}
	return append(all, cmdlet{
		name: "Import-Module", aliases: []string{"ipmo"}, values: []string{"name"}, flags: []string{"force", "disablenamechecking"}, positions: []string{"name"},
		about: "HostNetworkingService, or a file hns.psm1 in its place", run: importModule,
	})
}
