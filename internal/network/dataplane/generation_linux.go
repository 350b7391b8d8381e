package dataplane

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
)

// Messages of nf_tables, include/uapi/linux/netfilter/nf_tables.h.
const (
	newGeneration = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_NEWGEN
	getGeneration = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETGEN
)

// generation returns the number of a namespace's nftables rules; the kernel raises it with each transaction.
func generation(ns string) (number uint32, err error) {
	err = netns.Do(ns, func() error {
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
					number = binary.BigEndian.Uint32(a.Value)
					return nil
				}
			}
		}

		return errors.New("no number in the answer")
	})
	if err != nil {
		return 0, fmt.Errorf("ask for the generation of nftables: %w", err)
	}

	return number, nil
}
