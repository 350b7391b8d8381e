package smbshare

import (
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/format"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/words"
	"mullion.dev/mullion/internal/windows/wire/smbmapping"
)

func smbObject(m smbmapping.Mapping) *object.Object {
	status := object.Enum{Of: smbStatus(), N: 2}
	if m.Connected {
		status.N = 0
	}
	return object.New(format.SMBKind).Set("Status", status).Set("LocalPath", m.Local).Set("RemotePath", m.Remote)
}

// smbStatus returns the states of a mapping
// (https://learn.microsoft.com/en-us/previous-versions/windows/desktop/smb/msft-smbmapping).
func smbStatus() *object.EnumType {
	return &object.EnumType{
		Name: "SmbMappingStatus",
		Values: []object.EnumName{
			{Name: "OK", N: 0},
			{Name: "Paused", N: 1},
			{Name: "Disconnected", N: 2},
			{Name: "NetworkError", N: 3},
			{Name: "Connecting", N: 4},
			{Name: "Reconnecting", N: 5},
			{Name: "Unavailable", N: 6},
		},
	}
}

// askSMB asks the host's agent.
func askSMB(c *cmdlet.Call, request smbmapping.Request) ([]smbmapping.Mapping, error) {
	if err := smbmapping.Call().Valid(&request); err != nil {
		return nil, err
	}
	answer, err := c.State.System.SMB(c.State.Context, request)
	return answer.Mappings, err
}

// newSMBMapping maps a share.
func newSMBMapping(c *cmdlet.Call) error {
	yes := func(name string) bool { return object.Truth(c.Values[name]) }
	if yes("persistent") {
		return object.Thrown("%s : -Persistent $true is %s.", c.Name, words.NotHere)
	}

	request := smbmapping.Request{
		Do:        smbmapping.New,
		Remote:    c.Text("remotepath"),
		Local:     c.Text("localpath"),
		User:      c.Text("username"),
		Password:  c.Text("password"),
		Privacy:   yes("requireprivacy"),
		Integrity: yes("requireintegrity"),
	}

	if given, ok := c.Values["credential"].(*object.Instance); ok && given.Of.Name == dotnet.CredentialKind {
		is := object.Own[dotnet.Credential](given)
		request.User, request.Password = is.User, object.Own[string](is.Password)
	} else if _, given := c.Values["credential"]; given {
		return object.Thrown("%s : -Credential that is no PSCredential is %s.", c.Name, words.NotHere)
	}

	made, err := askSMB(c, request)
	if err != nil {
		return c.Fail(err)
	}
	for _, m := range made {
		if err := c.Out.Put(smbObject(m)); err != nil {
			return err
		}
	}

	return nil
}

// wantedSMB gives the mappings that the call names.
func wantedSMB(c *cmdlet.Call, do func(smbmapping.Mapping) error) error {
	all, err := askSMB(c, smbmapping.Request{Do: smbmapping.Get})
	if err != nil {
		return c.Fail(err)
	}

	met := map[string]bool{}
	for _, m := range all {
		o, picked := smbObject(m), true
		for _, parameter := range c.Cmdlet.Values {
			yes, err := c.Wanted(parameter, o.Props[parameter], met)
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
	if strings.Contains(c.Name, "Global") {
		class = "MSFT_SmbGlobalMapping"
	}
	return c.Unmet(class, map[string]string{"remotepath": "RemotePath", "localpath": "LocalPath"}, met)
}

func getSMBMapping(c *cmdlet.Call) error {
	return wantedSMB(c, func(m smbmapping.Mapping) error { return c.Out.Put(smbObject(m)) })
}

func removeSMBMapping(c *cmdlet.Call) error {
	return wantedSMB(c, func(m smbmapping.Mapping) error {
		if _, err := askSMB(c, smbmapping.Request{Do: smbmapping.Remove, Remote: m.Remote}); err != nil {
			return c.Fail(err)
		}
		return nil
	})
}

// Cmdlets returns the cmdlets of this package.
func Cmdlets() []cmdlet.Cmdlet {
	names := []string{"remotepath", "localpath"}
	var all []cmdlet.Cmdlet
	for _, noun := range []string{"SmbGlobalMapping", "SmbMapping"} {
		made := cmdlet.Cmdlet{
			Name:  "New-" + noun,
			About: "on a host, maps a share of an SMB server, for all users of the host",
			Run:   newSMBMapping,
			Values: []string{
				"remotepath", "localpath", "credential", "requireprivacy", "requireintegrity", "persistent",
			},
			Positions: []string{"remotepath"},
			Needs:     []string{"remotepath"},
		}

		if noun == "SmbMapping" {
			made.Values = append(made.Values, "username", "password")
			made.Positions = []string{"localpath", "remotepath"}
		}

		all = append(all, made,
			cmdlet.Cmdlet{
				Name:      "Get-" + noun,
				About:     "the shares of SMB servers that the host has mapped",
				Run:       getSMBMapping,
				Values:    names,
				Positions: names[:1],
			},
			cmdlet.Cmdlet{
				Name:      "Remove-" + noun,
				About:     "ends the mapping of a share",
				Run:       removeSMBMapping,
				Values:    names,
				Flags:     []string{"force"},
				Positions: names[:1],
				Needs:     []string{"remotepath|localpath"},
			})
	}

	return all
}
