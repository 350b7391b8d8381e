package hns

import (
	"crypto/sha256"
	"encoding/binary"
	"net"
	"strings"

	"mullion.dev/mullion/internal/network/hns/wire"
)

// hardwareAddr returns the endpoint's hardware address as HNS writes it: the one that was asked for, one of the
// network's pool, or one below Hyper-V's 00-15-5D.
func (m *Model) hardwareAddr(n *network, e *endpoint) (string, error) {
	if e.MacAddress != "" {
		text, err := parseMAC(e.MacAddress)
		if err != nil {
			return "", wire.Errorf(wire.InvalidEndpoint, "hardware address %.64q", e.MacAddress)
		}
		if id, taken := m.macs[text]; taken && !e.remote() {
			return "", wire.Errorf(wire.InvalidEndpoint, "hardware address %s is that of endpoint %s", text, id)
		}
		return text, nil
	}

	first, size := uint64(0x00155d000000), uint64(1)<<24
	if n.MacPool != nil && len(n.MacPool.Ranges) > 0 {
		r := n.MacPool.Ranges[0]
		first = macNumber(r.StartMacAddress)
		size = macNumber(r.EndMacAddress) - first + 1
	}

	sum := sha256.Sum256([]byte(e.ID))
	start := binary.BigEndian.Uint64(sum[:])
	for i := range min(size, 1<<16) {
		text := formatMAC(numberMAC(first + (start+i)%size))
		if _, taken := m.macs[text]; !taken || e.remote() {
			return text, nil
		}
	}

	return "", wire.Errorf(wire.InvalidEndpoint, "no hardware address is free")
}

// parseMAC reads a hardware address of one station, with hyphens or colons, and writes it as HNS does.
func parseMAC(s string) (string, error) {
	mac, err := net.ParseMAC(strings.ReplaceAll(s, "-", ":"))
	if err != nil || len(mac) != 6 || mac[0]&1 != 0 {
		return "", wire.Errorf(wire.InvalidPolicy, "hardware address %.64q", s)
	}
	return formatMAC(mac), nil
}

func formatMAC(mac net.HardwareAddr) string {
	return strings.ToUpper(strings.ReplaceAll(mac.String(), ":", "-"))
}

func linuxMAC(mac string) string { return strings.ToLower(strings.ReplaceAll(mac, "-", ":")) }

// macNumber returns a hardware address, which was checked, as a number.
func macNumber(s string) uint64 {
	mac, err := net.ParseMAC(strings.ReplaceAll(s, "-", ":"))
	if err != nil || len(mac) != 6 {
		return 0
	}
	return binary.BigEndian.Uint64(append([]byte{0, 0}, mac...))
}

func numberMAC(n uint64) net.HardwareAddr {
	return binary.BigEndian.AppendUint64(nil, n)[2:]
}

func checkPool(pool *wire.MacPool) error {
	if pool == nil {
		return nil
	}
	for _, r := range pool.Ranges {
		_, startErr := parseMAC(r.StartMacAddress)
		_, endErr := parseMAC(r.EndMacAddress)
		if startErr != nil || endErr != nil || macNumber(r.EndMacAddress) < macNumber(r.StartMacAddress) {
			return wire.Errorf(wire.InvalidNetwork, "hardware addresses %.64q to %.64q", r.StartMacAddress,
				r.EndMacAddress)
		}
	}

	return nil
}
