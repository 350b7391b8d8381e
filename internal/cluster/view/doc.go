// Package view owns the Unix socket at which a cluster is read without root: who is answered, how much and for how
// long, and how a client asks. What is answered is a table that package cluster gives it. Nothing can be changed by
// this socket: it has requests with GET and no body, and no row of the table writes.
//
// Everything that comes from the socket is hostile. The kernel says who the peer is (SO_PEERCRED, SO_PEERGROUPS),
// before a byte of it is read. A stranger gets one line, and costs no more than that. Of those who may read, each user
// has a number of connections at a time, and so have all together; a request has to come within seconds and be small;
// an answer has a size, a time, and a number at a time; and a client that does not take what it asked for is dropped.
package view

import "time"

// Group is the group of the machine whose members may read the clusters of the machine.
const Group = "mullion"

// Limits of the socket. A reader has one connection for each request.
const (
	// mostOfAll and mostOfUser are how many connections there may be at a time.
	mostOfAll  = 64
	mostOfUser = 16
	// requestTimeout bounds the arrival of a request, and mostOfRequest its bytes.
	requestTimeout = 3 * time.Second
	mostOfRequest  = 4 << 10
	// writeTimeout bounds each piece of an answer: a client that takes nothing for that long is dropped.
	writeTimeout = 10 * time.Second
	// turnTimeout is how long a request waits for its turn where as many are answered as may be at a time.
	turnTimeout = 5 * time.Second
)
