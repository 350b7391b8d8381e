// Package gateway is mullion-nat: what single containers see as the gateway of their network. Each container has a TAP
// device, and behind it a network stack (gVisor's) that is whoever the container speaks to. What the container opens is
// opened here by an ordinary socket of the machine, or in the stack of another container; what comes by a published
// port is opened in the container's stack.
//
//	container ── eth0 (TAP) ── stack ── tcp, udp, ping ──┬── guard ── sockets of the machine
//	                             ▲                       └── stack of another container
//	                             └── published ports, DNS
//
// So there is nothing of it in the machine's interfaces, routes, firewall or switches, and it goes with the process.
// The process has a user of its own without rights. What it reads comes from containers: numbers, sizes and times are
// bounded.
//
// It does not own the interfaces, nor the sockets of published ports: the engine makes both, and passes them on
// (package nat).
package gateway
