package dnsproxy_test

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// TestLongAnswer: an answer over UDP that is longer than the proxy takes is said to be not whole, and is no torn one.
func TestLongAnswer(t *testing.T) {
	packets, streams := free(t)
	t.Cleanup(func() { _ = packets.Close(); _ = streams.Close() })
	go func() {
		question := make([]byte, 4096)
		for {
			n, from, err := packets.ReadFrom(question)
			if err != nil {
				return
			}
			answer := append(question[:n:n], make([]byte, 5000)...)
			answer[2] |= 0x80
			answer[7] = 9 // records
			_, _ = packets.WriteTo(answer, from)
		}
	}()

	question, err := (&dnsmessage.Message{Header: dnsmessage.Header{ID: 7}, Questions: []dnsmessage.Question{{
		Name:  dnsmessage.MustNewName("name.example."),
		Type:  dnsmessage.TypeTXT,
		Class: dnsmessage.ClassINET,
	}}}).Pack()
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("udp", start(t, netip.MustParseAddrPort(packets.LocalAddr().String())).String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(question); err != nil {
		t.Fatal(err)
	}

	answer := make([]byte, 1<<16)
	n, err := c.Read(answer)
	if err != nil {
		t.Fatal(err)
	}
	var m dnsmessage.Message
	if err := m.Unpack(answer[:n]); err != nil || !m.Truncated || m.ID != 7 || len(m.Answers) != 0 {
		t.Errorf("the answer is %v, %v", m.GoString(), err)
	}
}
