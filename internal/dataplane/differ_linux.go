package dataplane

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/netns"
	"mullion.dev/mullion/internal/netplan"
)

// Differences tells what of the kernel is not as the plan has it, one line an object, and changes nothing. It is made to be
// called often: of nftables it asks only whether anybody committed rules since the last Apply.
func (p *Plane) Differences(_ context.Context, plan netplan.Plan) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	have, down, err := p.observeLinks()
	if err != nil {
		return nil, err
	}
	found := differing(Dump(linksOnly(plan)), Dump(have))
	for _, id := range down {
		found = append(found, "down: "+id)
	}
	generation, err := p.generation()
	if err != nil {
		return nil, err
	}
	if p.rules == nil || generation != p.committed {
		found = append(found, "changed: nftables")
	}
	return found, nil
}

// linksOnly leaves out of a plan what nftables carries out.
func linksOnly(plan netplan.Plan) netplan.Plan {
	plan.LoadBalancers = nil
	ports := make([]netplan.Port, len(plan.Ports))
	for i, port := range plan.Ports {
		port.NAT = nil
		ports[i] = port
	}
	plan.Ports = ports
	plan.Normalize()
	return plan
}

// Messages of nf_tables, include/uapi/linux/netfilter/nf_tables.h.
const (
	newGeneration = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_NEWGEN
	getGeneration = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETGEN
)

// generation is the number of the host's nftables rules; the kernel raises it with each transaction.
func (p *Plane) generation() (generation uint32, err error) {
	err = netns.Do(p.cfg.Netns, func() error {
		req := nl.NewNetlinkRequest(getGeneration, 0)
		req.AddData(&nl.Nfgenmsg{NfgenFamily: unix.AF_UNSPEC})
		answers, err := req.Execute(unix.NETLINK_NETFILTER, newGeneration)
		if err != nil {
			return err
		}
		for _, m := range answers {
			if len(m) < nl.SizeofNfgenmsg {
				continue
			}
			attrs, err := nl.ParseRouteAttr(m[nl.SizeofNfgenmsg:])
			if err != nil {
				return err
			}
			for _, a := range attrs {
				if a.Attr.Type == unix.NFTA_GEN_ID && len(a.Value) == 4 {
					generation = binary.BigEndian.Uint32(a.Value)
					return nil
				}
			}
		}
		return errors.New("no number in the answer")
	})
	if err != nil {
		return 0, fmt.Errorf("ask for the generation of nftables: %w", err)
	}
	return generation, nil
}
