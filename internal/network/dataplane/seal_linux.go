package dataplane

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"

	"github.com/google/nftables"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
)

// list hashes the table's chains, rules and sets, and notes the chains. It asks the kernel: the program nft reads all
// elements before it lists anything.
func (t *table) list() (sum []byte, err error) {
	t.chains = map[string]bool{}
	all := fnv.New64a()
	err = netns.Do(t.netns, func() error {
		// Only attributes that do not change with the elements; a chain's number of references does.
		chains, err := dump(unix.NFT_MSG_GETCHAIN, unix.NFT_MSG_NEWCHAIN, unix.NFTA_CHAIN_TABLE,
			unix.NFTA_CHAIN_NAME, unix.NFTA_CHAIN_HOOK, unix.NFTA_CHAIN_POLICY, unix.NFTA_CHAIN_TYPE)
		if err != nil {
			return fmt.Errorf("list chains: %w", err)
		}
		for _, c := range chains {
			t.chains[strings.TrimRight(c[unix.NFTA_CHAIN_NAME], "\x00")] = true
		}

		rules, err := dump(unix.NFT_MSG_GETRULE, unix.NFT_MSG_NEWRULE, unix.NFTA_RULE_TABLE,
			unix.NFTA_RULE_CHAIN, unix.NFTA_RULE_HANDLE, unix.NFTA_RULE_EXPRESSIONS)
		if err != nil {
			return fmt.Errorf("list rules: %w", err)
		}

		sets, err := dump(unix.NFT_MSG_GETSET, unix.NFT_MSG_NEWSET, unix.NFTA_SET_TABLE,
			unix.NFTA_SET_NAME, unix.NFTA_SET_FLAGS, unix.NFTA_SET_KEY_TYPE, unix.NFTA_SET_KEY_LEN,
			unix.NFTA_SET_DATA_TYPE, unix.NFTA_SET_DATA_LEN)
		if err != nil {
			return fmt.Errorf("list sets: %w", err)
		}

		for _, object := range slices.Concat(chains, rules, sets) {
			for _, attr := range sortedKeys(object) {
				_, _ = io.WriteString(all, fmt.Sprintf("%d %q\n", attr, object[attr]))
			}
		}

		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look at nftables table %q: %w", tableName, err)
	}

	return binary.NativeEndian.AppendUint32(nil, uint32(all.Sum64())), nil
}

// dump lists all objects of a kind, and returns the named attributes of those that belong to the table.
func dump(get, answer int, tableAttr uint16, attrs ...uint16) ([]map[uint16]string, error) {
	req := nl.NewNetlinkRequest(unix.NFNL_SUBSYS_NFTABLES<<8|get, unix.NLM_F_DUMP)
	req.AddData(&nl.Nfgenmsg{NfgenFamily: unix.NFPROTO_INET})

	// If somebody's change interrupts a dump, the kernel answers EINTR, and the dump is asked for again.
	var answers [][]byte
	err := unix.EINTR
	for tries := 0; tries < 10 && errors.Is(err, unix.EINTR); tries++ {
		var got error
		answers, got = req.Execute(unix.NETLINK_NETFILTER, uint16(unix.NFNL_SUBSYS_NFTABLES<<8|answer))
		if got == nil {
			return parse(answers, tableAttr, attrs)
		}
		if !errors.Is(got, nl.ErrDumpInterrupted) && !errors.Is(got, unix.EINTR) {
			return nil, got
		}
	}

	return nil, err
}

func parse(answers [][]byte, tableAttr uint16, attrs []uint16) ([]map[uint16]string, error) {
	var objects []map[uint16]string
	for _, m := range answers {
		if len(m) < nl.SizeofNfgenmsg {
			continue
		}
		list, err := nl.ParseRouteAttr(m[nl.SizeofNfgenmsg:])
		if err != nil {
			return nil, err
		}

		object := map[uint16]string{}
		ours := false
		for _, a := range list {
			kind := a.Attr.Type &^ unix.NLA_F_NESTED
			if kind == tableAttr {
				ours = strings.TrimRight(string(a.Value), "\x00") == tableName
			}
			if slices.Contains(attrs, kind) {
				object[kind] = string(a.Value)
			}
		}

		if ours {
			objects = append(objects, object)
		}
	}

	return objects, nil
}

func sortedKeys(m map[uint16]string) []uint16 {
	keys := make([]uint16, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// dropFormer removes the IPv4-only table of releases that had no IPv6, because its rules would translate too.
func (t *table) dropFormer() error {
	return t.send(func(c *nftables.Conn) error {
		c.DelTable(c.AddTable(&nftables.Table{Name: tableName, Family: nftables.TableFamilyIPv4}))
		return nil
	})
}
