package proc

import (
	"testing"
	"time"
)

func TestPatience(t *testing.T) {
	// The usage in each second, on two processors.
	working := usage{
		child: 200 * time.Millisecond,
		idle:  1500 * time.Millisecond,
		total: 2 * time.Second,
	}

	crowded := usage{
		child: 0,
		idle:  100 * time.Millisecond,
		total: 2 * time.Second,
	}

	idle := usage{
		child: 20 * time.Millisecond,
		idle:  1900 * time.Millisecond,
		total: 2 * time.Second,
	}

	unknown := usage{}
	tests := []struct {
		name    string
		seconds []usage
		idled   time.Duration
	}{
		{"a child that works", []usage{working, working, working, working}, 0},
		{"a machine that has no time to spare", []usage{crowded, crowded, crowded, crowded}, 0},
		{"a child that stands still", []usage{idle, idle, idle}, 3 * time.Second},
		{"work does not take back what stood still", []usage{idle, working, idle, crowded}, 2 * time.Second},
		{"a system that does not tell", []usage{unknown, unknown, unknown}, 3 * time.Second},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := patience{limit: 3 * time.Second}
			var now usage
			for i, used := range tt.seconds {
				now = usage{
					child: now.child + used.child,
					idle:  now.idle + used.idle,
					total: now.total + used.total,
				}
				p.look(time.Duration(i+1)*time.Second, now)
			}

			if p.idled != tt.idled || p.over() != (tt.idled >= p.limit) {
				t.Errorf("%v counts, over: %t; want %v", p.idled, p.over(), tt.idled)
			}
		})
	}
}
