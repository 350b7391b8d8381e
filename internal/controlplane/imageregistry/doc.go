// Package imageregistry owns how upstream's registry of images (github.com/distribution/distribution) is run beside the
// control plane: its configuration, its folder and its rights on the machine. Who reaches it is the composition's
// business: the program listens on the fabric's loopback address alone, and listeners on the loopback addresses of the
// machine and of each node lead there.
//
//	docker push, mullion image push ─▶ machine 127.0.0.1:5001 ─┐
//	containerd of a Linux node ─────▶ node 127.0.0.1:5001 ─────┼─▶ registry (fabric, 127.0.0.1) ─▶ <data folder>/registry
//	CRI server of a Windows host ───▶ host 127.0.0.1:5001 ─────┘
package imageregistry

import (
	"fmt"
	"net"
	"strconv"

	"mullion.dev/mullion/internal/controlplane/addon"
	"mullion.dev/mullion/internal/process/confined"
)

// Name is the unit's name, and the program's.
const Name = "registry"

// Port is its port on the fabric's loopback address, upstream's own.
const Port = 5000

// UserID is the id of the user and the group that it runs as; nothing else on the machine should use it.
const UserID = 65530

const configFile = "config.yml"

// Config is what the registry depends on.
type Config struct {
	addon.Place

	// Dir is the folder of its images; it is the program's own.
	Dir string
	// Host is the registry as the names of its images have it: "localhost:5001".
	Host string
}

// Validate returns an error that names what is missing.
func (c Config) Validate() error {
	return c.Place.Validate(Name, addon.Required{Name: "Dir", Value: c.Dir}, addon.Required{Name: "Host", Value: c.Host})
}

// confined runs the registry as a user of its own, without capabilities.
func (c Config) confined() confined.Program {
	return confined.Program{
		Name:   Name,
		Dir:    c.Place.Dir(Name),
		UserID: UserID,
		Data:   c.Dir,
	}
}

// Address is where the registry listens, in the fabric's namespace.
func Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(Port)) }

// configText returns the program's configuration. secret signs the state of uploads that clients carry:
// https://distribution.github.io/distribution/about/configuration/
//
// Manifests can be deleted, as people expect of a registry of their own. Uploads that nobody finished are removed after
// a week, as upstream does where nothing is said. What a request was is logged only if it failed.
func (c Config) configText(secret string) string {
	return fmt.Sprintf(`version: 0.1
log:
  level: warn
  accesslog:
    disabled: true
storage:
  delete:
    enabled: true
  filesystem:
    rootdirectory: %s
http:
  addr: %s
  secret: %s
  headers:
    X-Content-Type-Options: [nosniff]
`, c.confined().DataPath(), Address(), secret)
}
