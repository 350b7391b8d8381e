package management

import (
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/certificate"
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
)

// ofCertificates runs a cmdlet on the drive Cert:, if its paths are of it
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.security/about/about_certificate_provider).
// known are the parameters that it carries out there, beside paths.
func ofCertificates(c *cmdlet.Call, do func(n certificate.Node) error, known ...string) (done bool, err error) {
	known = append(known, cmdlet.PathName, cmdlet.LiteralName, "force")
	return c.EachCertificate(func(n certificate.Node) error {
		for _, name := range slices.Concat(c.Cmdlet.Values, c.Cmdlet.Flags) {
			if (c.Values[name] != nil || c.Flags[name]) && !slices.Contains(known, name) {
				return object.Thrown("%s : -%s for certificates is not part of Mullion's PowerShell.", c.Name, name)
			}
		}
		return do(n)
	})
}

// putNode outputs what a path of the drive names.
func putNode(c *cmdlet.Call) func(n certificate.Node) error {
	return func(n certificate.Node) error { return c.Output(n.Object(c.State.System.Certificates)) }
}

// listNode outputs what is below a path of the drive, or the certificate that it names.
func listNode(c *cmdlet.Call) func(n certificate.Node) error {
	return func(n certificate.Node) error {
		if n.Certificate != nil {
			return putNode(c)(n)
		}

		below, err := n.Children(c.State.System.Certificates)
		if err != nil {
			return c.Fail(err)
		}
		for _, one := range below {
			if err := putNode(c)(one); err != nil {
				return err
			}
			if !c.Flags["recurse"] || one.Certificate != nil {
				continue
			}
			if err := listNode(c)(one); err != nil {
				return err
			}
		}
		return nil
	}
}

// testNodes carries out Test-Path on the drive.
func testNodes(c *cmdlet.Call) (done bool, err error) {
	kind := strings.ToLower(c.Text("pathtype"))
	return c.ForCertificates(func(_ string, found []certificate.Node, _ error) error {
		return c.Output(slices.ContainsFunc(found, func(n certificate.Node) bool {
			leaf := n.Certificate != nil
			return (kind != "leaf" || leaf) && (kind != "container" || !leaf)
		}))
	})
}

// removeNode removes a certificate. Places and stores stay: no store is lost by a name that is too short.
func removeNode(c *cmdlet.Call) func(n certificate.Node) error {
	return func(n certificate.Node) error {
		if n.Certificate == nil {
			return object.Thrown("%s : removing a store of certificates is not part of Mullion's PowerShell.", c.Name)
		}
		if err := c.State.System.Certificates.Remove(n.Machine(), n.Store, n.Certificate); err != nil {
			return c.Fail(err)
		}
		return nil
	}
}
