package dataplane

import "testing"

// TestPickerOf: a chain's name tells everything of the picker that made it.
func TestPickerOf(t *testing.T) {
	for want, chain := range map[picker]string{
		{"vip", false, 3}:   "vip_3",
		{"vip6", true, 12}:  "vip6_client_12",
		{"node", false, 1}:  "node_1",
		{"kept6", false, 2}: "kept6_2",
	} {
		if got := want.chain(); got != chain {
			t.Errorf("the chain of %+v is %q, want %q", want, got, chain)
		}
		if got := pickerOf(chain); got != want {
			t.Errorf("chain %q is of %+v, want %+v", chain, got, want)
		}
	}
}
