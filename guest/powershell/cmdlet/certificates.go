package cmdlet

import (
	"slices"

	"mullion.dev/mullion/guest/powershell/certificate"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
)

// paths returns the paths that a call names, by its parameters or the pipeline.
func (c *Call) paths() []string {
	var all []string
	for _, p := range []string{PathName, LiteralName} {
		for v := range object.Each(c.Values[p]) {
			all = append(all, c.placed(v))
		}
	}
	for _, v := range c.Input {
		all = append(all, c.placed(itemPath(v)))
	}
	return all
}

// ForCertificates calls do for what each path names, if they are of the drive Cert:; done reports that. With wild cards
// a path names several nodes, or none; err is why one without them names nothing.
func (c *Call) ForCertificates(do func(path string, found []certificate.Node, err error) error) (done bool, err error) {
	all := c.paths()
	if !slices.ContainsFunc(all, certificate.OnDrive) {
		return false, nil
	}
	if slices.ContainsFunc(all, func(path string) bool { return !certificate.OnDrive(path) }) {
		return true, object.Thrown("%s : certificates beside other items are not part of Mullion's PowerShell.", c.Name)
	}

	for _, path := range all {
		found, err := certificate.Find(c.State.System.Certificates, path)
		if err := do(path, found, err); err != nil {
			return true, err
		}
	}
	return true, nil
}

// EachCertificate does as ForCertificates for a cmdlet that works on the nodes one by one, and has an error for what is
// not there.
func (c *Call) EachCertificate(do func(n certificate.Node) error) (done bool, err error) {
	return c.ForCertificates(func(path string, found []certificate.Node, err error) error {
		if err != nil {
			return c.Fail(provider.Because(path, err))
		}
		for _, n := range found {
			if err := do(n); err != nil {
				return err
			}
		}
		return nil
	})
}
