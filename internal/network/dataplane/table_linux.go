package dataplane

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
	"sigs.k8s.io/knftables"

	"mullion.dev/mullion/internal/base/errtext"
	"mullion.dev/mullion/internal/base/netns"
)

// tableName is the host's nftables table, of family inet.
const tableName = "hns"

// sealSet holds one element, by which the table's rules are recognized: its key is a hash of the rules as the kernel
// lists them, its comment a hash of the text from which they were made.
const sealSet = "seal"

// table manages the host's nftables table. Its rules are text that the program nft reads (knftables); its elements, of
// which there may be tens of thousands, go to the kernel directly: nft takes too long to start for each of thousands of
// changes.
type table struct {
	netns string
	nft   knftables.Interface
	text  string // the frame, as nft reads it

	known      bool   // the kernel had what it should at this generation
	generation uint32 // the kernel raises it with each transaction, whoever's it is
	chains     map[string]bool
}

func openTable(ns string) (*table, error) {
	t := &table{netns: ns}
	err := netns.Do(ns, func() (err error) {
		t.nft, err = knftables.New(knftables.InetFamily, tableName)
		return err
	})
	if err != nil {
		return nil, err
	}

	tx := t.nft.NewTransaction()
	frame(tx)
	t.text = tx.String()
	return t, nil
}

// replace brings the kernel in line with want, whatever is there. If the rules are right, only wrong elements change.
func (t *table) replace(ctx context.Context, want *ruleset) error {
	t.known = false
	current, err := generation(t.netns)
	if err != nil {
		return err
	}

	right, err := t.framed()
	if err != nil {
		return err
	}

	if !right {
		if err := t.reframe(ctx); err != nil {
			return err
		}
		if current, err = generation(t.netns); err != nil {
			return err
		}
	}

	have, err := t.dump()
	if err != nil {
		return err
	}
	t.known, t.generation = true, current
	if err := t.change(ctx, want, between(have, want.entries)); err != nil {
		return err
	}

	return t.tidy(ctx, want)
}

// change carries out a delta of want. Chains that it needs are made first.
func (t *table) change(ctx context.Context, want *ruleset, d *delta) error {
	fresh := d.chains()
	maps.DeleteFunc(fresh, func(name string, _ bool) bool { return t.chains[name] })
	if len(fresh) > 0 {
		if err := t.addChains(ctx, want, fresh); err != nil {
			return err
		}
	}

	if err := t.commit(d); err != nil {
		return err
	}
	if len(fresh) > 0 && len(want.access) > len(want.usedAccess())+spare {
		return t.tidy(ctx, want)
	}

	return nil
}

func (t *table) addChains(ctx context.Context, want *ruleset, fresh map[string]bool) error {
	tx := t.nft.NewTransaction()
	want.withNext(fresh)
	addChains(tx, want, fresh)
	return t.runSealed(ctx, tx)
}

// spare is how many chains of access rules may be unused before they are removed.
const spare = 100

// tidy removes unused chains of access rules.
func (t *table) tidy(ctx context.Context, want *ruleset) error {
	used := want.usedAccess()
	want.forget(used)
	tx := t.nft.NewTransaction()
	var gone []string
	for name := range t.chains {
		if strings.HasPrefix(name, accessPrefix) && !used[name] {
			gone = append(gone, name)
		}
	}

	if len(gone) == 0 {
		return nil
	}
	for _, name := range gone {
		tx.Flush(&knftables.Chain{Name: name})
	}

	for _, name := range gone {
		tx.Delete(&knftables.Chain{Name: name})
	}

	return t.runSealed(ctx, tx)
}

// runSealed changes the table's rules and renews the seal.
func (t *table) runSealed(ctx context.Context, tx *knftables.Transaction) error {
	current, err := generation(t.netns)
	if err != nil {
		return err
	}

	known := t.known && current == t.generation
	t.known = false
	if err := t.run(ctx, tx); err != nil {
		return err
	}
	if err := t.seal(); err != nil {
		return err
	}

	after, err := generation(t.netns)
	t.known, t.generation = known && after == current+2, after // one transaction for the rules, one for the seal
	return err
}

// look returns what differs between want and the kernel. It reads the kernel only if somebody has committed a
// transaction since the last look or change.
func (t *table) look(want *ruleset) ([]string, error) {
	current, err := generation(t.netns)
	if err != nil || (t.known && current == t.generation) {
		return nil, err
	}

	var found []string
	right, err := t.framed()
	if err != nil {
		return nil, err
	}
	if !right {
		found = append(found, "changed: rules of nftables table "+tableName)
	}

	have, err := t.dump()
	if err != nil {
		return nil, err
	}
	found = append(found, between(have, want.entries).describe()...)
	if len(found) == 0 {
		t.known, t.generation = true, current
	}

	return found, nil
}

// framed reports whether the table's rules are as this process or an earlier one made them last, and notes which chains
// exist.
func (t *table) framed() (bool, error) {
	listed, err := t.list()
	if err != nil {
		return false, err
	}
	elements, err := t.elements(sealSet)
	if err != nil || len(elements) != 1 {
		return false, err
	}
	return elements[0].Comment == t.seals() && bytes.Equal(elements[0].Key, listed), nil
}

func (t *table) seals() string { return fmt.Sprintf("%016x", hash(t.text)) }

func (t *table) reframe(ctx context.Context) error {
	if err := t.dropFormer(); err != nil {
		return err
	}
	tx := t.nft.NewTransaction()
	tx.Add(&knftables.Table{})
	tx.Delete(&knftables.Table{})
	frame(tx)
	if err := t.run(ctx, tx); err != nil {
		return err
	}
	return t.seal()
}

func (t *table) run(ctx context.Context, tx *knftables.Transaction) error {
	return netns.Do(t.netns, func() error { return t.nft.Run(ctx, tx) })
}

// seal stores the hashes of the rules in sealSet.
func (t *table) seal() error {
	listed, err := t.list()
	if err != nil {
		return err
	}
	old, err := t.elements(sealSet)
	if err != nil {
		return err
	}

	return t.send(func(c *nftables.Conn) error {
		if len(old) > 0 {
			if err := c.SetDeleteElements(setOf(sealSet), old); err != nil {
				return err
			}
		}
		return c.SetAddElements(setOf(sealSet), []nftables.SetElement{{Key: listed, Comment: t.seals()}})
	})
}

func setOf(name string) *nftables.Set {
	return &nftables.Set{Name: name, Table: &nftables.Table{Name: tableName, Family: nftables.TableFamilyINet}}
}

// connect calls f with a connection into the host's namespace.
func (t *table) connect(f func(c *nftables.Conn) error) error {
	ns, err := os.Open(t.netns)
	if err != nil {
		return fmt.Errorf("open network namespace: %w", err)
	}
	defer func() { _ = ns.Close() }()
	c, err := nftables.New(nftables.WithNetNSFd(int(ns.Fd())))
	if err != nil {
		return err
	}
	return f(c)
}

// send makes f's changes in one transaction.
func (t *table) send(f func(c *nftables.Conn) error) error {
	return t.connect(func(c *nftables.Conn) error {
		if err := f(c); err != nil {
			return err
		}
		return c.Flush()
	})
}

// elements returns the elements of a set or map; none if it does not exist. A large one is read until two readings have
// the same number: while the kernel makes its hash table larger, a reading of several messages can lack a part
// (linux/lib/rhashtable.c, rhashtable_walk_enter).
func (t *table) elements(name string) ([]nftables.SetElement, error) {
	const most = 8 // readings; somebody else may change the set all the time
	before := -1
	for i := 1; ; i++ {
		list, err := t.elementsOnce(name)
		if err != nil || len(list) <= perMessage || len(list) == before || i == most {
			return list, err
		}
		before = len(list)
	}
}

func (t *table) elementsOnce(name string) (list []nftables.SetElement, err error) {
	err = t.connect(func(c *nftables.Conn) error {
		list, err = c.GetSetElements(setOf(name))
		return err
	})
	if errtext.NotThere(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read nftables set %q: %w", name, err)
	}
	return list, nil
}

// dump reads all elements but the seal.
func (t *table) dump() (map[slot]entry, error) {
	all := map[slot]entry{}
	for _, name := range setNames() {
		list, err := t.elements(name)
		if err != nil {
			return nil, err
		}

		for _, e := range list {
			value := string(e.Val)
			if verdictMaps()[name] {
				value = verdictChain(e.Val)
			}
			all[slot{name, string(e.Key), string(e.KeyEnd)}] = entry{value: value, id: e.Comment}
		}
	}

	return all, nil
}

// verdictChain reads the chain's name out of a verdict: attributes of 4 bytes' header (length with it, type) each.
func verdictChain(b []byte) string {
	for len(b) >= 4 {
		size, kind := int(binary.NativeEndian.Uint16(b)), binary.NativeEndian.Uint16(b[2:])&^uint16(unix.NLA_F_NESTED)
		if size < 4 || size > len(b) {
			break
		}
		if kind == unix.NFTA_VERDICT_CHAIN {
			return string(bytes.TrimRight(b[4:size], "\x00"))
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	return ""
}

// In a message fit somewhat more elements than this, and in a transaction as many as a socket takes at once.
const perMessage, perTransaction = 200, 800

// commit carries out the elements' part of a delta: in one transaction, unless it is a very large one.
func (t *table) commit(d *delta) error {
	if d.empty() {
		return nil
	}
	before, err := generation(t.netns)
	if err != nil {
		return err
	}

	known := t.known && before == t.generation
	t.known = false
	changes := d.messages()
	sent := uint32(0)
	for len(changes) > 0 {
		n := 0
		err := t.send(func(c *nftables.Conn) error {
			for size := 0; n < len(changes) && (n == 0 || size+len(changes[n].elements) <= perTransaction); n++ {
				size += len(changes[n].elements)
				if err := changes[n].send(c); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("change elements of nftables table %q: %w", tableName, err)
		}

		changes = changes[n:]
		sent++
	}

	after, err := generation(t.netns)
	if err != nil {
		return err
	}
	t.known, t.generation = known && after == before+sent, after
	return nil
}

// message is a list of elements to add to a set, or to delete from it.
type message struct {
	set      string
	del      bool
	elements []nftables.SetElement
}

func (m message) send(c *nftables.Conn) error {
	if m.del {
		return c.SetDeleteElements(setOf(m.set), m.elements)
	}
	return c.SetAddElements(setOf(m.set), m.elements)
}

// messages returns the messages of a delta, deletions first, because the same key may be added again.
func (d *delta) messages() []message {
	var all []message
	open := map[string]int{} // set to its last message
	put := func(set string, del bool, e nftables.SetElement) {
		i, ok := open[set]
		if !ok || len(all[i].elements) == perMessage {
			all, i = append(all, message{set: set, del: del}), len(all)
			open[set] = i
		}
		all[i].elements = append(all[i].elements, e)
	}

	for _, s := range d.del {
		put(s.set, true, nftables.SetElement{Key: []byte(s.key), KeyEnd: []byte(s.end)})
	}

	clear(open)
	for s, e := range d.add {
		element := nftables.SetElement{
			Key:     []byte(s.key),
			KeyEnd:  []byte(s.end),
			Comment: e.id,
		}

		if verdictMaps()[s.set] {
			kind := expr.VerdictGoto
			if accessMaps()[s.set] {
				kind = expr.VerdictJump
			}
			element.VerdictData = &expr.Verdict{Kind: kind, Chain: e.value}
		} else {
			element.Val = []byte(e.value)
		}

		put(s.set, false, element)
	}

	return all
}
