package iscsi

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// mostText bounds the texts of one exchange with a target, in bytes: its targets' names are among them.
const mostText = 1 << 20

// pair is a key with its value, as they are negotiated (RFC 7143, 6).
type pair struct{ key, value string }

// encode writes pairs as a message has them.
func encode(pairs ...pair) []byte {
	var b bytes.Buffer
	for _, p := range pairs {
		fmt.Fprintf(&b, "%s=%s\x00", p.key, p.value)
	}
	return b.Bytes()
}

// decode reads pairs, in their order.
func decode(text []byte) ([]pair, error) {
	var pairs []pair
	for part := range bytes.SplitSeq(text, []byte{0}) {
		if len(part) == 0 {
			continue
		}
		key, value, two := strings.Cut(string(part), "=")
		if !two || key == "" || len(key) > 63 {
			return nil, broken("%.80q is no key with a value", part)
		}
		pairs = append(pairs, pair{key, value})
	}
	return pairs, nil
}

// valueOf returns the value of a key, "" without one.
func valueOf(pairs []pair, key string) string {
	for _, p := range pairs {
		if p.key == key {
			return p.value
		}
	}
	return ""
}

// numberOf returns a number that a target names, otherwise without one. It is from least to most, or an error.
func numberOf(pairs []pair, key string, otherwise, least, most uint32) (uint32, error) {
	text := valueOf(pairs, key)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseUint(text, 0, 32) // decimal, or hexadecimal with 0x
	if err != nil || uint32(n) < least || uint32(n) > most {
		return 0, broken("%s is %.40q", key, text)
	}
	return uint32(n), nil
}
