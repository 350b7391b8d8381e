//go:build windows

package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// serve answers by TCP and UDP at a port: with the client's address, and what it has sent.
func serve(at string) {
	l, err := net.Listen("tcp", at)
	if err == nil {
		var p net.PacketConn
		if p, err = net.ListenPacket("udp", at); err == nil {
			go packets(p)
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("waiting")
	for {
		c, err := l.Accept()
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		go func() {
			defer c.Close()
			host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
			fmt.Fprintf(c, "%s ", host)
			_, _ = io.Copy(c, c)
		}()
	}
}

func packets(p net.PacketConn) {
	buffer := make([]byte, 1<<16)
	for {
		n, from, err := p.ReadFrom(buffer)
		if err != nil {
			return
		}
		_, _ = p.WriteTo(buffer[:n], from)
	}
}

// ask sends a text to a server, and prints what comes back. A name is resolved by Windows.
func ask(network, to, text string) {
	c, err := net.DialTimeout(network, to, 10*time.Second)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, text); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
		_, err = io.Copy(os.Stdout, c)
	} else {
		var n int
		buffer := make([]byte, 1<<16)
		n, err = c.Read(buffer)
		_, _ = os.Stdout.Write(buffer[:n])
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
