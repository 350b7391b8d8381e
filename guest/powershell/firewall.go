package powershell

import (
	"cmp"
	"errors"
	"io/fs"
	"strconv"
	"strings"
)

// firewallRules is the key where Windows keeps the rules of its firewall, one value each
// (https://learn.microsoft.com/en-us/openspecs/windows_protocols/ms-gpfas/2efe0b76-7b4a-41ff-9050-1023f8196d16).
// Nothing filters the packets of a host or container here, so what a rule allows is allowed without it, and one that
// blocks is refused.
const firewallRules = `HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy\FirewallRules`

// firewallFields are the fields of a rule's value that are kept as they were given, by the names of the parameters.
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

// protocols are the numbers of protocols (https://www.iana.org/assignments/protocol-numbers).
func protocols() map[string]string {
	return map[string]string{"tcp": "6", "udp": "17", "icmpv4": "1", "icmpv6": "58"}
}

// fixed is the parameter's value in the spelling of Windows, or the first of these if it is not given.
func (c *call) fixed(parameter string, spelling ...string) string {
	for _, s := range spelling {
		if strings.EqualFold(s, c.text(parameter)) {
			return s
		}
	}
	return spelling[0]
}

// firewallRule is the value of a new rule.
func (c *call) firewallRule() (string, error) {
	active, direction := "TRUE", "In"
	if c.fixed("enabled", "True", "False") == "False" {
		active = "FALSE"
	}
	if c.fixed("direction", "Inbound", "Outbound") == "Outbound" {
		direction = "Out"
	}
	fields := []string{"v2.30", "Action=Allow", "Active=" + active, "Dir=" + direction}
	if protocol := lower(c.text("protocol")); protocol != "" && protocol != "any" {
		number := cmp.Or(protocols()[protocol], protocol)
		if _, err := strconv.ParseUint(number, 10, 8); err != nil {
			return "", thrown("%s : The protocol %s is not part of Mullion's PowerShell.", c.name, c.text("protocol"))
		}
		fields = append(fields, "Protocol="+number)
	}
	for profile := range each(c.values["profile"]) {
		if !strings.EqualFold(text(profile), "any") {
			fields = append(fields, "Profile="+text(profile))
		}
	}
	for _, f := range firewallFields() {
		for v := range each(c.values[f.parameter]) {
			if strings.Contains(text(v), "|") {
				return "", thrown("%s : -%s with a vertical bar is not part of Mullion's PowerShell.", c.name, f.parameter)
			}
			if strings.EqualFold(text(v), "any") {
				continue
			}
			fields = append(fields, f.field+"="+text(v))
		}
	}
	return strings.Join(fields, "|") + "|", nil
}

// shownRule is a rule as Get-NetFirewallRule shows it
// (https://learn.microsoft.com/en-us/powershell/module/netsecurity/get-netfirewallrule).
func shownRule(v registryValue) *object {
	fields := map[string]string{}
	var profiles []string
	for part := range strings.SplitSeq(v.text(), "|") {
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
	return newObject(custom).set("Name", v.name).set("DisplayName", fields["Name"]).
		set("Description", fields["Desc"]).set("Group", fields["EmbedCtxt"]).set("Enabled", enabled).
		set("Profile", cmp.Or(strings.Join(profiles, ", "), "Any")).set("Direction", direction).
		set("Action", cmp.Or(fields["Action"], "Allow")).set("EnforcementStatus", "NotApplicable")
}

// rules returns the rules that there are.
func (c *call) rules() ([]registryValue, error) {
	_, values, err := c.f.in.session.system().registry.read(firewallRules)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return values, err
}

func newFirewallRule(c *call) error {
	if lower(c.text("action")) == "block" {
		return thrown("%s : -Action Block is not part of Mullion's PowerShell: nothing filters packets by rules of the "+
			"firewall here.", c.name)
	}
	rule, err := c.firewallRule()
	if err != nil {
		return err
	}
	name := c.text("name")
	if name == "" {
		made, err := find(guidClass().calls, "NewGuid").do(&dotCall{f: c.f})
		if err != nil {
			return err
		}
		name = "{" + text(made) + "}"
	}
	all, err := c.rules()
	if err != nil {
		return c.fail(err)
	}
	if _, there := findValue(all, name); there {
		return c.fail(itsWords("Cannot create a file when that file already exists."))
	}
	registry := c.f.in.session.system().registry
	v := registryValue{name, kindString, textData(rule)}
	if err := errors.Join(registry.create(firewallRules), registry.set(firewallRules, v)); err != nil {
		return c.fail(err)
	}
	return c.show(shownRule(v))
}

// eachRule calls do with the rules that the parameters name, and reports the names that no rule has.
func (c *call) eachRule(do func(registryValue) error) error {
	all, err := c.rules()
	if err != nil {
		return c.fail(err)
	}
	met := map[string]bool{}
	for _, v := range all {
		o, picked := shownRule(v), true
		for _, parameter := range c.cmdlet.values {
			yes, err := c.wanted(parameter, o.props[parameter], met)
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
	return c.unmet("MSFT_NetFirewallRule", map[string]string{"name": "InstanceID", "displayname": "DisplayName"}, met)
}

func getFirewallRule(c *call) error {
	return c.eachRule(func(v registryValue) error { return c.show(shownRule(v)) })
}

func removeFirewallRule(c *call) error {
	return c.eachRule(func(v registryValue) error {
		if err := c.f.in.session.system().registry.removeValue(firewallRules, v.name); err != nil {
			return c.fail(err)
		}
		return nil
	})
}

// setFirewallProfile does nothing: the firewall is off in every profile.
func setFirewallProfile(c *call) error {
	if lower(c.text("enabled")) == "true" {
		return thrown("%s : -Enabled True is not part of Mullion's PowerShell: nothing filters packets by rules of the "+
			"firewall here.", c.name)
	}
	return nil
}

func firewallCmdlets() []cmdlet {
	yes := []string{"true", "false"}
	directions := []string{"inbound", "outbound"}
	profiles := []string{"any", "domain", "private", "public", "notapplicable"}
	return []cmdlet{
		{
			name:  "New-NetFirewallRule",
			about: "a rule that allows, which nothing needs here: no packets are filtered; -Action Block is refused",
			run:   newFirewallRule,
			values: []string{
				"name", "displayname", "description", "group", "enabled", "profile", "direction", "action", "protocol",
				"localport", "remoteport", "localaddress", "remoteaddress", "program", "service",
			},
			needs: []string{"displayname"},
			allowed: map[string][]string{
				"enabled": yes, "direction": directions, "profile": profiles, "action": {"allow", "block", "notconfigured"},
			},
		},
		{
			name:    "Get-NetFirewallRule",
			about:   "the rules that New-NetFirewallRule has made",
			run:     getFirewallRule,
			values:  []string{"name", "displayname", "enabled", "direction", "action"},
			also:    map[string]string{"id": "name"},
			allowed: map[string][]string{"enabled": yes, "direction": directions},
		},
		{
			name:   "Remove-NetFirewallRule",
			about:  "removes rules",
			run:    removeFirewallRule,
			values: []string{"name", "displayname"},
			needs:  []string{"name|displayname"},
			also:   map[string]string{"id": "name"},
		},
		{
			name:      "Set-NetFirewallProfile",
			about:     "-Enabled False, which is how it is",
			run:       setFirewallProfile,
			values:    []string{"name", "enabled"},
			flags:     []string{"all"},
			also:      map[string]string{"profile": "name"},
			positions: []string{"name"},
			needs:     []string{"enabled"},
			allowed:   map[string][]string{"enabled": yes, "name": {"domain", "private", "public"}},
		},
	}
}
