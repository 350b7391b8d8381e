package management

import (
	"errors"
	"os"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/format"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/session"
)

// fileDrives and registryDrives are the providers whose drives can be made.
const (
	fileDrives     = "FileSystem"
	registryDrives = "Registry"
)

// drive is a drive as Get-PSDrive outputs it
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.psdriveinfo).
func drive(d session.Drive) *object.Object {
	o := object.New(format.DriveKind).Set("Name", d.Name).Set("Used", nil).Set("Free", nil).
		Set("Provider", `Microsoft.PowerShell.Core\`+d.Provider).Set("Root", d.Root)
	o.Props["psprovider"] = d.Provider
	o.Props["description"], o.Props["currentlocation"] = d.Description, ""
	return o
}

// drives returns the drives of a session by their names: those of files, those of the registry, of the certificates and
// of the session, and those that the script has made (about_Providers).
func drives(c *cmdlet.Call) ([]*object.Object, error) {
	volumes, err := c.State.System.Volumes()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, c.Fail(err)
	}

	var all []*object.Object
	for _, v := range volumes {
		if v.Letter == "" {
			continue
		}
		letter := strings.ToUpper(v.Letter)
		o := drive(session.Drive{
			Name:     letter,
			Provider: fileDrives,
			Root:     letter + `:\`,
		})
		o.Props["used"], o.Props["free"] = v.Size-v.Free, v.Free
		all = append(all, o)
	}
	for _, d := range []session.Drive{
		{Name: "Alias", Provider: "Alias"},
		{Name: "Cert", Provider: "Certificate", Root: `\`},
		{Name: "Env", Provider: "Environment"},
		{Name: "Function", Provider: "Function"},
		{Name: "HKCU", Provider: registryDrives, Root: "HKEY_CURRENT_USER"},
		{Name: "HKLM", Provider: registryDrives, Root: "HKEY_LOCAL_MACHINE"},
		{Name: "Variable", Provider: "Variable"},
	} {
		all = append(all, drive(d))
	}
	for _, d := range c.State.Drives() {
		all = append(all, drive(d))
	}

	name := func(o *object.Object) string { return strings.ToLower(object.Text(o.Props["name"])) }
	slices.SortStableFunc(all, func(a, b *object.Object) int { return strings.Compare(name(a), name(b)) })
	return all, nil
}

// hasDrive reports whether there is a drive of a name.
func hasDrive(all []*object.Object, name string) bool {
	return slices.ContainsFunc(all, func(o *object.Object) bool {
		return strings.EqualFold(object.Text(o.Props["name"]), name)
	})
}

// getPSDrive outputs the drives that are wanted.
func getPSDrive(c *cmdlet.Call) error {
	all, err := drives(c)
	if err != nil {
		return err
	}

	met := map[string]bool{}
	for _, o := range all {
		name, err := c.Wanted("name", o.Props["name"], met)
		if err != nil {
			return err
		}
		of, err := c.Wanted("psprovider", o.Props["psprovider"], met)
		if err != nil {
			return err
		}
		if !name || !of {
			continue
		}
		if err := c.Output(o); err != nil {
			return err
		}
	}

	for want := range object.Each(c.Values["name"]) {
		if text := object.Text(want); !met["name "+text] && !provider.HasWildcard(text) {
			err := provider.MissingDrive(text)
			if e, ok := errors.AsType[*object.Exception](err); ok {
				e.ID = "GetLocationNoMatchingDrive"
			}
			if err := c.Fail(err); err != nil {
				return err
			}
		}
	}

	return nil
}

// newPSDrive makes a drive of the session
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.management/new-psdrive).
func newPSDrive(c *cmdlet.Call) error {
	d := session.Drive{Name: c.Text("name"), Description: c.Text("description")}
	if strings.ContainsAny(d.Name, `:/\.~`) || d.Name == "" {
		return c.Fail(&object.Exception{
			Class: object.ArgumentException, Category: "InvalidArgument", ID: "NewDriveNotSupported", Target: d.Name,
			Message: "Cannot process the drive name because the drive name contains one or more of the following characters " +
				`that are not valid: ; ~ / \ . :`,
		})
	}

	all, err := drives(c)
	if err != nil {
		return err
	}
	if hasDrive(all, d.Name) {
		return c.Fail(&object.Exception{
			Class: "System.Management.Automation.SessionStateException", Category: "ResourceExists", ID: "DriveAlreadyExists",
			Target: d.Name, Message: "A drive with the name '" + d.Name + "' already exists.",
		})
	}

	root := c.State.OnDrive(c.Text("root"))
	if strings.EqualFold(c.Text("psprovider"), registryDrives) {
		d.Provider = registryDrives
		err = toKey(c, &d, root)
	} else {
		d.Provider = fileDrives
		err = toFolder(c, &d, root)
	}
	if err != nil {
		return c.Fail(err)
	}

	c.State.MakeDrive(d)
	return c.Output(drive(d))
}

// toFolder gives a drive the folder that is its root.
func toFolder(c *cmdlet.Call, d *session.Drive, root string) error {
	d.Root = c.State.Path(root)
	if info, err := os.Stat(d.Root); err == nil && info.IsDir() {
		return nil
	}
	return &object.Exception{
		Class: "System.IO.IOException", Category: "ReadError", ID: "DriveRootError", Target: d.Name,
		Message: `The specified drive root "` + root + `" either does not exist, or it is not a folder.`,
	}
}

// toKey gives a drive the key that is its root.
func toKey(c *cmdlet.Call, d *session.Drive, root string) error {
	path := root
	if !provider.OnRegistry.MatchString(path) {
		path = registryDrives + "::" + root
	}
	k, err := provider.KeyOf(path)
	if err == nil {
		_, _, err = registry(c).Read(k.Name)
	}
	if d.Root = k.Name; err == nil {
		return nil
	}
	return &object.Exception{
		Class: object.ArgumentException, Category: "InvalidArgument", ID: object.ArgumentException, Target: root,
		Message: "The root of the drive does not exist.",
	}
}

// removePSDrive takes drives away that the script has made. Those of Windows stay: what leads to them is the same for
// everybody.
func removePSDrive(c *cmdlet.Call) error {
	names := c.Names("name", "name")
	for _, name := range names {
		if c.State.RemoveDrive(strings.TrimSuffix(name, ":")) {
			continue
		}

		err := provider.MissingDrive(name)
		all, failed := drives(c)
		if failed != nil {
			return failed
		}
		if hasDrive(all, name) {
			err = &object.Exception{
				Class: "System.Management.Automation.SessionStateException", Category: "InvalidOperation",
				ID: "DriveRemovalPreventedByProvider", Target: name,
				Message: "Cannot remove drive '" + name + "' because it was prevented by the provider: a drive that is there from " +
					"the beginning stays in Mullion's PowerShell.",
			}
		}
		if err := c.Fail(err); err != nil {
			return err
		}
	}

	return nil
}

// driveCmdlets returns the cmdlets of drives.
func driveCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		{
			Name:      "Get-PSDrive",
			Aliases:   []string{"gdr"},
			About:     "the drives of files, of the registry, of certificates and of the session, and those that were made",
			Run:       getPSDrive,
			Values:    []string{"name", "psprovider"},
			Positions: []string{"name"},
		},
		{
			Name:    "New-PSDrive",
			Aliases: []string{"ndr", "mount"},
			About: "a drive of a folder or of a key of the registry, of the whole session, whatever -Scope is; who goes there " +
				"is in the folder or key itself",
			Run:       newPSDrive,
			Values:    []string{"name", "psprovider", "root", "description", "scope"},
			Positions: []string{"name", "psprovider", "root"},
			Needs:     []string{"name", "psprovider", "root"},
			Allowed:   map[string][]string{"psprovider": {"filesystem", "registry"}},
		},
		{
			Name:      "Remove-PSDrive",
			Aliases:   []string{"rdr"},
			About:     "removes drives that were made; those that are there from the beginning stay",
			Run:       removePSDrive,
			Values:    []string{"name", "scope"},
			Flags:     []string{"force"},
			Positions: []string{"name"},
			Takes:     "name",
			Needs:     []string{"name"},
		},
	}
}
