package winunit

import "testing"

func TestTable(t *testing.T) {
	for _, s := range []suite{kubernetes(), hcsshim()} {
		list, err := s.units()
		if err != nil {
			t.Fatal(err)
		}

		rung := 0
		for _, u := range list {
			if u.Rung {
				rung++
			}
		}

		if rung == 0 || rung == len(list) {
			t.Errorf("%s: %d of %d packages are in the rung", s.file, rung, len(list))
		}
	}
}
