package cluster

import (
	"net"
	"path/filepath"
	"strconv"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cluster/parts"
	"mullion.dev/mullion/internal/controlplane"
	"mullion.dev/mullion/internal/controlplane/gmsa"
	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
)

// gmsa adds the webhook of credential specs, unless the specification turns it off.
func (c *composer) gmsa() error {
	if !*c.Spec.Addons.GMSA {
		return nil
	}
	file := func(name string) string { return filepath.Join(c.control.PKIDir(), name) }
	var domains []string
	for _, d := range c.Spec.Domains {
		domains = append(domains, d.Name)
	}

	webhook := gmsa.New(gmsa.Config{
		Client: func() (kubeclient.Interface, error) { return clientFor(c.Paths.AdminKubeconfig()) },
		Listen: func() (l net.Listener, err error) {
			err = proc.InNetns(c.underlay.FabricNetns(), func() (err error) {
				l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(gmsa.Port)))
				return err
			})
			return l, err
		},
		CertFile: file(pki.GMSAWebhookServing + ".crt"),
		KeyFile:  file(pki.GMSAWebhookServing + ".key"),
		CAFile:   file(pki.CA + ".crt"),
		Domains:  domains,
		Version:  c.Spec.KubernetesVersion,
	})
	c.add(webhook, component.Sole(controlplane.Bootstrap), parts.APIForwarder())

	return nil
}
