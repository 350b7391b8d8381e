package clusterdns

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/base/resolvconf"
)

// Zone is a DNS zone with name servers of its own, for example a company's internal names.
type Zone struct {
	Name    string
	Servers []netip.Addr
}

// Zones reads a folder of zones: a file is named for its zone and names the servers in lines "nameserver ADDRESS", as
// files in /etc/resolver do on other systems. The folder need not exist. Files that cannot be used are named in the
// error, and the other zones are returned nevertheless.
func Zones(dir, domain string) ([]Zone, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read zones of the cluster's DNS: %w", err)
	}

	var zones []Zone
	var errs []error
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		z, err := readZone(dir, e.Name(), domain)
		if err != nil {
			errs = append(errs, fmt.Errorf("read zone %q of the cluster's DNS: %w", e.Name(), err))
			continue
		}
		zones = append(zones, z)
	}

	return zones, errors.Join(errs...)
}

func readZone(dir, name, domain string) (Zone, error) {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return Zone{}, errors.New(strings.Join(problems, "; "))
	}
	if name == domain || strings.HasSuffix(name, "."+domain) {
		return Zone{}, fmt.Errorf("it is in the cluster's own domain %s", domain)
	}

	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return Zone{}, err
	}
	z := Zone{Name: name, Servers: resolvconf.Parse(string(data)).Elsewhere().Servers}
	if len(z.Servers) == 0 {
		return Zone{}, errors.New(
			"no line names a server that can be reached from the cluster: want nameserver ADDRESS")
	}

	return z, nil
}

// WriteZone adds a zone to a folder, or replaces it; the server uses it within seconds.
func WriteZone(dir string, z Zone) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, z.Name), []byte(resolvconf.Config{Servers: z.Servers}.String()), 0o644)
}

// RemoveZone removes a zone from a folder; a missing zone is no error.
func RemoveZone(dir, name string) error {
	err := os.Remove(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
