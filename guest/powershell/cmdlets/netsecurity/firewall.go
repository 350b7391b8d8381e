package netsecurity

import (
	"cmp"
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/system"
	"mullion.dev/mullion/guest/powershell/words"
)

// firewallRules is the key where Windows keeps the rules of its firewall, one value each
// (https://learn.microsoft.com/en-us/openspecs/windows_protocols/ms-gpfas/2efe0b76-7b4a-41ff-9050-1023f8196d16).
// Nothing filters the packets of a host or container here, so what a rule allows is allowed without it, and one that
// blocks is refused.
const firewallRules = `HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy\FirewallRules`

// firewallFields returns the fields of a rule's value that are kept as they were given, by the names of the parameters.
func firewallFields() []struct{ parameter, field string } {
	return []struct{ parameter, field string }{
		{"localport", "LPort"},
		{"remoteport", "RPort"},
		{"localaddress", "LA4"},
		{"remoteaddress", "RA4"},
		{"program", "App"},
		{"service", "Svc"},
		{"displayname", "Name"},
		{"description", "Desc"},
		{"group", "EmbedCtxt"},
	}
}

// protocols returns the numbers of protocols (https://www.iana.org/assignments/protocol-numbers).
func protocols() map[string]string {
	return map[string]string{"tcp": "6", "udp": "17", "icmpv4": "1", "icmpv6": "58"}
}

// fixed returns the parameter's value in the spelling of Windows, or the first of these if it is not given.
func fixed(c *cmdlet.Call, parameter string, spelling ...string) string {
	for _, s := range spelling {
		if strings.EqualFold(s, c.Text(parameter)) {
			return s
		}
	}
	return spelling[0]
}

// firewallRule returns the value of a new rule.
func firewallRule(c *cmdlet.Call) (string, error) {
	active, direction := "TRUE", "In"
	if fixed(c, "enabled", "True", "False") == "False" {
		active = "FALSE"
	}
	if fixed(c, "direction", "Inbound", "Outbound") == "Outbound" {
		direction = "Out"
	}

	fields := []string{"v2.30", "Action=Allow", "Active=" + active, "Dir=" + direction}
	if protocol := strings.ToLower(c.Text("protocol")); protocol != "" && protocol != "any" {
		number := cmp.Or(protocols()[protocol], protocol)
		if _, err := strconv.ParseUint(number, 10, 8); err != nil {
			return "", object.Thrown("%s : The protocol %s is not part of Mullion's PowerShell.",
				c.Name, c.Text("protocol"))
		}
		fields = append(fields, "Protocol="+number)
	}

	for profile := range object.Each(c.Values["profile"]) {
		if !strings.EqualFold(object.Text(profile), "any") {
			fields = append(fields, "Profile="+object.Text(profile))
		}
	}

	for _, f := range firewallFields() {
		for v := range object.Each(c.Values[f.parameter]) {
			if strings.Contains(object.Text(v), "|") {
				return "", object.Thrown("%s : -%s with a vertical bar is not part of Mullion's PowerShell.",
					c.Name, f.parameter)
			}
			if strings.EqualFold(object.Text(v), "any") {
				continue
			}
			fields = append(fields, f.field+"="+object.Text(v))
		}
	}

	return strings.Join(fields, "|") + "|", nil
}

// shownRule returns a rule as Get-NetFirewallRule shows it
// (https://learn.microsoft.com/en-us/powershell/module/netsecurity/get-netfirewallrule).
func shownRule(v system.RegistryValue) *object.Object {
	fields := map[string]string{}
	var profiles []string
	for part := range strings.SplitSeq(v.Text(), "|") {
		name, is, _ := strings.Cut(part, "=")
		fields[name] = is
		if name == "Profile" {
			profiles = append(profiles, is)
		}
	}

	enabled, direction := "True", "Inbound"
	if fields["Active"] == "FALSE" {
		enabled = "False"
	}
	if fields["Dir"] == "Out" {
		direction = "Outbound"
	}
	return object.New(object.Custom).Set("Name", v.Name).Set("DisplayName", fields["Name"]).
		Set("Description", fields["Desc"]).Set("Group", fields["EmbedCtxt"]).Set("Enabled", enabled).
		Set("Profile", cmp.Or(strings.Join(profiles, ", "), "Any")).Set("Direction", direction).
		Set("Action", cmp.Or(fields["Action"], "Allow")).Set("EnforcementStatus", "NotApplicable")
}

// rules returns the rules that there are.
func rules(c *cmdlet.Call) ([]system.RegistryValue, error) {
	_, values, err := c.State.System.Registry.Read(firewallRules)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return values, err
}

func newFirewallRule(c *cmdlet.Call) error {
	if strings.ToLower(c.Text("action")) == "block" {
		return object.Thrown("%s : -Action Block is not part of Mullion's PowerShell: nothing filters packets by rules of the "+
			"firewall here.", c.Name)
	}
	rule, err := firewallRule(c)
	if err != nil {
		return err
	}

	name := c.Text("name")
	if name == "" {
		made, err := object.Find(object.GUIDClass().Calls, "NewGuid").Do(&object.Call{State: c.State})
		if err != nil {
			return err
		}
		name = "{" + object.Text(made) + "}"
	}

	all, err := rules(c)
	if err != nil {
		return c.Fail(err)
	}
	if _, there := provider.FindValue(all, name); there {
		return c.Fail(words.Errorf("Cannot create a file when that file already exists."))
	}

	registry := c.State.System.Registry
	v := system.RegistryValue{
		Name: name,
		Kind: system.KindString,
		Data: system.TextData(rule),
	}
	if err := errors.Join(registry.Create(firewallRules), registry.Set(firewallRules, v)); err != nil {
		return c.Fail(err)
	}

	return c.Output(shownRule(v))
}

// eachRule calls do with the rules that the parameters name, and reports the names that no rule has.
func eachRule(c *cmdlet.Call, do func(system.RegistryValue) error) error {
	all, err := rules(c)
	if err != nil {
		return c.Fail(err)
	}

	met := map[string]bool{}
	for _, v := range all {
		o, picked := shownRule(v), true
		for _, parameter := range c.Cmdlet.Values {
			yes, err := c.Wanted(parameter, o.Props[parameter], met)
			if err != nil {
				return err
			}
			picked = picked && yes
		}
		if picked {
			if err := do(v); err != nil {
				return err
			}
		}
	}

	return c.Unmet("MSFT_NetFirewallRule", map[string]string{"name": "InstanceID", "displayname": "DisplayName"}, met)
}

func getFirewallRule(c *cmdlet.Call) error {
	return eachRule(c, func(v system.RegistryValue) error { return c.Output(shownRule(v)) })
}

// removeFirewallRule removes the rules that the parameters name, or those that come from the pipeline.
func removeFirewallRule(c *cmdlet.Call) error {
	if c.Piped {
		var names []object.Value
		for _, name := range c.Names("name", "name") {
			names = append(names, name)
		}
		if len(names) == 0 {
			return nil
		}
		c.Values["name"] = names
	}
	return eachRule(c, func(v system.RegistryValue) error {
		if err := c.State.System.Registry.RemoveValue(firewallRules, v.Name); err != nil {
			return c.Fail(err)
		}
		return nil
	})
}

// setFirewallProfile does nothing: the firewall is off in every profile.
func setFirewallProfile(c *cmdlet.Call) error {
	if strings.ToLower(c.Text("enabled")) == "true" {
		return object.Thrown("%s : -Enabled True is not part of Mullion's PowerShell: nothing filters packets by rules of the "+
			"firewall here.", c.Name)
	}
	return nil
}

// Cmdlets returns the cmdlets of this package.
func Cmdlets() []cmdlet.Cmdlet {
	yes := []string{"true", "false"}
	directions := []string{"inbound", "outbound"}
	profiles := []string{"any", "domain", "private", "public", "notapplicable"}
	return []cmdlet.Cmdlet{
		{
			Name:  "New-NetFirewallRule",
			About: "a rule that allows, which nothing needs here: no packets are filtered; -Action Block is refused",
			Run:   newFirewallRule,
			Values: []string{
				"name", "displayname", "description", "group", "enabled", "profile", "direction", "action", "protocol",
				"localport", "remoteport", "localaddress", "remoteaddress", "program", "service",
			},
			Needs: []string{"displayname"},
			Allowed: map[string][]string{
				"enabled": yes, "direction": directions, "profile": profiles, "action": {
					"allow", "block",
					"notconfigured",
				},
			},
		},
		{
			Name:      "Get-NetFirewallRule",
			About:     "the rules that New-NetFirewallRule has made",
			Run:       getFirewallRule,
			Values:    []string{"name", "displayname", "enabled", "direction", "action"},
			Also:      map[string]string{"id": "name"},
			Positions: []string{"name"},
			Allowed:   map[string][]string{"enabled": yes, "direction": directions},
		},
		{
			Name:      "Remove-NetFirewallRule",
			About:     "removes rules",
			Run:       removeFirewallRule,
			Values:    []string{"name", "displayname"},
			Needs:     []string{"name|displayname"},
			Also:      map[string]string{"id": "name"},
			Positions: []string{"name"},
			Takes:     "name",
		},
		{
			Name:      "Set-NetFirewallProfile",
			About:     "-Enabled False, which is how it is",
			Run:       setFirewallProfile,
			Values:    []string{"name", "enabled"},
			Flags:     []string{"all"},
			Also:      map[string]string{"profile": "name"},
			Positions: []string{"name"},
			Needs:     []string{"enabled"},
			Allowed:   map[string][]string{"enabled": yes, "name": {"domain", "private", "public"}},
		},
	}
}
