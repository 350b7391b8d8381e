package powershell

import (
	"strings"

	"mullion.dev/mullion/internal/windows/wire/smbmapping"
)

// The cmdlets of Windows' module SmbShare that map shares
// (https://learn.microsoft.com/en-us/powershell/module/smbshare). On a host each mapping is for everybody, as a global
// one is on Windows: those of New-SmbMapping too.

// secureKind is the type of passwords, credentialKind that of a user's name with one. The text of a password is not
// encrypted here, and is not shown.
const (
	secureKind     = "System.Security.SecureString"
	credentialKind = "System.Management.Automation.PSCredential"
)

type credential struct {
	user     string
	password *instance // of secureClass
}

func secureClass() *class {
	return &class{
		name:   secureKind,
		others: []string{"securestring"},
		text:   func(any) string { return secureKind },
		props: []field{{name: "Length", get: func(_ *frame, of value) (value, error) {
			return int64(len([]rune(own[string](of)))), nil
		}}},
	}
}

func credentialClass() *class {
	return &class{
		name:   credentialKind,
		others: []string{"pscredential", "management.automation.pscredential"},
		make: &routine{least: 2, most: 2, do: func(c *dotCall) (value, error) {
			password, ok := c.arg(1).(*instance)
			if !ok || password.of.name != secureKind || c.text(0) == "" {
				return nil, raise("System.Management.Automation.PSArgumentException",
					`Cannot process argument because the value of argument "userName" or "password" is not valid.`)
			}
			return &instance{credentialClass(), credential{c.text(0), password}}, nil
		}},
		props: []field{
			{name: "UserName", get: func(_ *frame, of value) (value, error) { return own[credential](of).user, nil }},
			{name: "Password", get: func(_ *frame, of value) (value, error) { return own[credential](of).password, nil }},
		},
		methods: []routine{{name: "GetNetworkCredential", do: func(c *dotCall) (value, error) {
			is := own[credential](c.on)
			domain, user, two := strings.Cut(is.user, `\`)
			if !two {
				domain, user = "", is.user
			}
			return newObject(custom).set("UserName", user).set("Password", own[string](is.password)).
				set("Domain", domain), nil
		}}},
	}
}

// convertToSecureString makes a password of a text, which -AsPlainText and -Force have to ask for.
func convertToSecureString(c *call) error {
	for _, v := range c.items("string") {
		if err := c.out.put(&instance{secureClass(), text(v)}); err != nil {
			return err
		}
	}
	return nil
}

// smbKind is the kind of the objects that are mappings.
const smbKind = "SMB mapping"

func smbObject(m smbmapping.Mapping) *object {
	status := enum{smbStatus(), 2}
	if m.Connected {
		status.n = 0
	}
	return newObject(smbKind).set("Status", status).set("LocalPath", m.Local).set("RemotePath", m.Remote)
}

// smbStatus are the states of a mapping
// (https://learn.microsoft.com/en-us/previous-versions/windows/desktop/smb/msft-smbmapping).
func smbStatus() *enumType {
	return &enumType{name: "SmbMappingStatus", values: []enumName{
		{"OK", 0},
		{"Paused", 1},
		{"Disconnected", 2},
		{"NetworkError", 3},
		{"Connecting", 4},
		{"Reconnecting", 5},
		{"Unavailable", 6},
	}}
}

// askSMB asks the host's agent.
func (c *call) askSMB(request smbmapping.Request) ([]smbmapping.Mapping, error) {
	if err := request.Check(); err != nil {
		return nil, itsWords("The parameter is incorrect: %v", err)
	}
	answer, err := c.f.in.session.system().smb(c.f.in.ctx, request)
	if err == nil && answer.Error != "" {
		err = itsWords("%s", answer.Error)
	}
	return answer.Mappings, err
}

// newSMBMapping maps a share.
func newSMBMapping(c *call) error {
	yes := func(name string) bool { return truth(c.values[name]) }
	if yes("persistent") {
		return thrown("%s : -Persistent $true is %s.", c.name, notHereWords)
	}
	request := smbmapping.Request{
		Do:        smbmapping.New,
		Remote:    c.text("remotepath"),
		Local:     c.text("localpath"),
		User:      c.text("username"),
		Password:  c.text("password"),
		Privacy:   yes("requireprivacy"),
		Integrity: yes("requireintegrity"),
	}
	if given, ok := c.values["credential"].(*instance); ok && given.of.name == credentialKind {
		is := own[credential](given)
		request.User, request.Password = is.user, own[string](is.password)
	} else if _, given := c.values["credential"]; given {
		return thrown("%s : -Credential that is no PSCredential is %s.", c.name, notHereWords)
	}
	made, err := c.askSMB(request)
	if err != nil {
		return c.fail(err)
	}
	for _, m := range made {
		if err := c.out.put(smbObject(m)); err != nil {
			return err
		}
	}
	return nil
}

// wantedSMB gives the mappings that the call names.
func (c *call) wantedSMB(do func(smbmapping.Mapping) error) error {
	all, err := c.askSMB(smbmapping.Request{Do: smbmapping.Get})
	if err != nil {
		return c.fail(err)
	}
	met := map[string]bool{}
	for _, m := range all {
		o, picked := smbObject(m), true
		for _, parameter := range c.cmdlet.values {
			yes, err := c.wanted(parameter, o.props[parameter], met)
			if err != nil {
				return err
			}
			picked = picked && yes
		}
		if picked {
			if err := do(m); err != nil {
				return err
			}
		}
	}
	class := "MSFT_SmbMapping"
	if strings.Contains(c.name, "Global") {
		class = "MSFT_SmbGlobalMapping"
	}
	return c.unmet(class, map[string]string{"remotepath": "RemotePath", "localpath": "LocalPath"}, met)
}

func getSMBMapping(c *call) error {
	return c.wantedSMB(func(m smbmapping.Mapping) error { return c.out.put(smbObject(m)) })
}

func removeSMBMapping(c *call) error {
	return c.wantedSMB(func(m smbmapping.Mapping) error {
		if _, err := c.askSMB(smbmapping.Request{Do: smbmapping.Remove, Remote: m.Remote}); err != nil {
			return c.fail(err)
		}
		return nil
	})
}

func smbCmdlets() []cmdlet {
	names := []string{"remotepath", "localpath"}
	all := []cmdlet{{
		name:      "ConvertTo-SecureString",
		about:     "a password of a text (-AsPlainText -Force); it is not encrypted",
		run:       convertToSecureString,
		values:    []string{"string"},
		flags:     []string{"asplaintext", "force"},
		positions: []string{"string"},
		takes:     "string",
		needs:     []string{"string", "asplaintext"},
	}}
	for _, noun := range []string{"SmbGlobalMapping", "SmbMapping"} {
		made := cmdlet{
			name:  "New-" + noun,
			about: "on a host, maps a share of an SMB server, for all users of the host",
			run:   newSMBMapping,
			values: []string{
				"remotepath", "localpath", "credential", "requireprivacy", "requireintegrity", "persistent",
			},
			positions: []string{"remotepath"},
			needs:     []string{"remotepath"},
		}
		if noun == "SmbMapping" {
			made.values = append(made.values, "username", "password")
			made.positions = []string{"localpath", "remotepath"}
		}
		all = append(all, made,
			cmdlet{
				name: "Get-" + noun, about: "the shares of SMB servers that the host has mapped", run: getSMBMapping,
				values: names, positions: names[:1],
			},
			cmdlet{
				name: "Remove-" + noun, about: "ends the mapping of a share", run: removeSMBMapping,
				values: names, flags: []string{"force"}, positions: names[:1], needs: []string{"remotepath|localpath"},
			})
	}
	return all
}
