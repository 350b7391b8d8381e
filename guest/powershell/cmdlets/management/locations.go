package management

import (
	"io/fs"
	"os"
	"strings"

	"mullion.dev/mullion/guest/powershell/certificate"
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/session"
)

func getLocation(c *cmdlet.Call) error { return c.Output(provider.Location(c.State.Location())) }

// setLocation changes to a folder, or to a place of another drive. Without a path it stays, as in Windows PowerShell.
func setLocation(c *cmdlet.Call) error {
	if err := c.ReportMissed(); err != nil {
		return err
	}
	found, _, err := c.Targets()
	if err != nil {
		return err
	}
	if len(found) > 1 {
		return c.Fail(&object.Exception{
			Class: "System.Management.Automation.PSArgumentException", Category: "InvalidArgument", ID: "Argument",
			Message: "Cannot set the location because path '" + c.Text(cmdlet.PathName) + "' resolved to multiple containers. " +
				"You can only the set location to a single container at a time.",
		})
	}

	return c.ForEach(func(t cmdlet.Target) error {
		switch there, is, err := elsewhere(c, t); {
		case err != nil:
			return err
		case is:
			c.State.Elsewhere = there
		default:
			if info, err := os.Stat(t.Full); err != nil || !info.IsDir() {
				return fs.ErrNotExist
			}
			c.State.Dir, c.State.Elsewhere = t.Full, ""
		}

		if c.Flags["passthru"] {
			return getLocation(c)
		}
		return nil
	})
}

// elsewhere returns the place that a target names on a drive that is not one of files; is says whether it does.
func elsewhere(c *cmdlet.Call, t cmdlet.Target) (place string, is bool, err error) {
	if k, key := t.Key(); key {
		_, _, err := registry(c).Read(k.Name)
		return plainPlace(t.Name), true, err
	}
	if certificate.OnDrive(t.Name) {
		nodes, err := certificate.Find(c.State.System.Certificates, t.Name)
		if err == nil && (len(nodes) != 1 || nodes[0].Certificate != nil) {
			err = fs.ErrNotExist
		}
		return plainPlace(t.Name), true, err
	}

	drive, name, is := provider.SessionItem(t.Name)
	if variable, environment := provider.EnvironmentItem(t.Name); environment {
		drive, name = "env", variable
		is = true
	}
	if is && name != "" {
		return "", true, fs.ErrNotExist
	}
	return object.UpperFirst(drive) + `:\`, is, nil
}

// plainPlace returns a path with the separators of Windows and the name of its drive as Windows writes it.
func plainPlace(path string) string {
	path = strings.ReplaceAll(path, "/", `\`)
	drive, rest, _ := strings.Cut(path, ":")
	if strings.HasPrefix(rest, ":") {
		return strings.TrimRight(path, `\`)
	}
	if drive = strings.ToUpper(drive); drive == "CERT" {
		drive = "Cert"
	}
	return drive + `:\` + strings.Trim(rest, `\`)
}

// places are the locations that Push-Location remembers, the newest last.
type places struct{ left []place }

type place struct{ dir, elsewhere string }

// pushLocation remembers the current location and changes to another one.
func pushLocation(c *cmdlet.Call) error {
	before := place{c.State.Dir, c.State.Elsewhere}
	if len(c.Values) > 0 {
		if err := setLocation(c); err != nil {
			return err
		}
		if !c.Scope.Succeeded() {
			return nil
		}
	}
	visited := session.Keep[places](c.State)
	visited.left = append(visited.left, before)
	return nil
}

// popLocation changes to the location that was remembered last. Without one it does nothing.
func popLocation(c *cmdlet.Call) error {
	visited := session.Keep[places](c.State)
	if n := len(visited.left); n > 0 {
		last := visited.left[n-1]
		c.State.Dir, c.State.Elsewhere, visited.left = last.dir, last.elsewhere, visited.left[:n-1]
	}
	return nil
}

// ofPlace adds what the cmdlets that change the location have in common.
func ofPlace(c cmdlet.Cmdlet) cmdlet.Cmdlet {
	c.Keys = []string{"passthru"}
	c.Flags = []string{"passthru"}
	c.Wild, c.Certificates = true, true
	c.Sessions, c.Variables = true, true
	return cmdlet.OfPath(c)
}

// placeCmdlets returns the cmdlets of the current location.
func placeCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		{Name: "Get-Location", Aliases: []string{"pwd", "gl"}, About: "the current location", Run: getLocation},
		ofPlace(cmdlet.Cmdlet{
			Name:    "Set-Location",
			Aliases: []string{"cd", "sl", "chdir"},
			About:   "changes the current location: a folder, or a place of the registry, of certificates or of the session",
			Run:     setLocation,
		}),
		ofPlace(cmdlet.Cmdlet{
			Name:    "Push-Location",
			Aliases: []string{"pushd"},
			About:   "changes the current location, and remembers the one before",
			Run:     pushLocation,
		}),
		{
			Name:    "Pop-Location",
			Aliases: []string{"popd"},
			About:   "changes to the location that Push-Location remembered",
			Run:     popLocation,
		},
	}
}
