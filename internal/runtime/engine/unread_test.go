package engine

import (
	"strings"
	"testing"
)

const (
	netlinkList = `sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode
000000004f6f0526 0   3000000011 00000000 212992   0        0     2        62       9157278
000000004f6f0527 0   0          00000000 0        0        0     2        0        4
`
	pingList = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
    0: 00000000:0E3B 00000000:0000 07 00000010:008013F0 00:00000000 00000000     0        0 9157278 2 000000004f6f0526 6
`
)

func TestUnreadOf(t *testing.T) {
	for name, tt := range map[string]struct {
		list string
		most int64
		want int64
		says string
	}{
		"netlink":       {netlinkList, 1 << 30, 212992 + 2*ownBytes, ""},
		"ping":          {pingList, 1 << 30, 0x8013f0 + ownBytes, ""},
		"only the head": {"sk Eth\n", 1 << 30, 0, ""},
		"nothing":       {"", 1 << 30, 0, ""},
		"enough":        {netlinkList, 1000, 212992 + ownBytes, ""},
		"short":         {"sk\n0 0 0\n", 1 << 30, 0, "described as"},
		"no number":     {"sk\n0 0 0 0 x\n", 1 << 30, 0, "invalid syntax"},
	} {
		got, err := unreadOf(strings.NewReader(tt.list), unreadLists()["netlink"], tt.most)
		if got != tt.want || (err != nil) != (tt.says != "") || (err != nil && !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: %d, %v; want %d, %q", name, got, err, tt.want, tt.says)
		}
	}
}
