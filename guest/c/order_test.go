package c

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/testrun"
)

// TestPartsOfTheHooksAreInOrder: the table of hooks/main.c has each part behind those that it needs, comes after, or
// stands in for, and in the order of its enumeration, which is that of the loop that starts them.
func TestPartsOfTheHooksAreInOrder(t *testing.T) {
	testrun.Once(t, testrun.Order)
	text, err := os.ReadFile("hooks/main.c")
	if err != nil {
		t.Fatal(err)
	}

	_, enumeration, _ := strings.Cut(string(text), "enum\n{\n    PATH,")
	enumeration, _, found := strings.Cut("PATH,"+enumeration, "PARTS\n};")
	if !found {
		t.Fatal("hooks/main.c has no enumeration of its parts")
	}
	want := regexp.MustCompile(`\w+`).FindAllString(enumeration, -1)

	rows := regexp.MustCompile(`(?m)^    \[(\w+)\] += \{(.*)\},`).FindAllStringSubmatch(string(text), -1)
	if len(rows) != len(want) || len(rows) < 25 {
		t.Fatalf("the table has %d rows, the enumeration %d", len(rows), len(want))
	}

	earlier := map[string]bool{}
	conditions := 0
	for i, row := range rows {
		if row[1] != want[i] {
			t.Errorf("row %d is %s, in the enumeration it is %s", i, row[1], want[i])
		}
		for _, m := range regexp.MustCompile(`BIT\((\w+)\)`).FindAllStringSubmatch(row[2], -1) {
			conditions++
			if !earlier[m[1]] {
				t.Errorf("%s is started before %s", row[1], m[1])
			}
		}

		earlier[row[1]] = true
	}

	if conditions < 10 {
		t.Errorf("only %d conditions were seen", conditions)
	}
}
