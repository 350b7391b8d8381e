package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

func TestTestlimit(t *testing.T) {
	for _, tt := range []struct {
		args string
		want leak
		err  string
	}{
		{"-accepteula -d 100Mb -e 5 20000s -c 5", leak{100, 5, 5 * time.Second}, ""}, // the spec's
		{"-accepteula -d 300Mb -e 1 20000s -c 11", leak{300, 11, time.Second}, ""},
		{"-d", leak{1, 0, 0}, ""},
		{"-d -c 3", leak{1, 3, 0}, ""},
		{"-D 7", leak{7, 0, 0}, ""},
		{"-d 0", leak{}, "-d 0: not from 1"},
		{"-d 99999999999", leak{}, "-d 99999999999: not from 1"},
		{"-c 3", leak{}, "want -d"},
		{"-d 1 -e", leak{}, "-e wants a number"},
		{"-d 1 -c many", leak{}, "-c wants a number"},
		{"-m 5", leak{}, "unknown option -m"},
	} {
		got, err := parseTestlimit(strings.Fields(tt.args))
		if got != tt.want || (tt.err == "" && err != nil) || (tt.err != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.err))) {
			t.Errorf("%s: %+v, %v, want %+v, %q", tt.args, got, err, tt.want, tt.err)
		}
	}

	// it keeps what it has until it is ended
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var out bytes.Buffer
	asked := &call{
		args:   []string{"testlimit.exe", "-d", "2", "-c", "2"},
		stdout: &out,
		stderr: &out,
	}
	if code := run(ctx, asked); code != 0 {
		t.Errorf("exit code %d", code)
	}

	if ctx.Err() == nil || !strings.HasSuffix(out.String(), "Leaked 2 MB of private memory (4 MB total leaked).\n") {
		t.Errorf("it ended (%v) and said %q", ctx.Err(), out.String())
	}
}
