// Package controlplane holds the tests that bring up a real control plane in a network namespace of its own and look at
// what its users rely on: rights, joining by token, recovery from kill -9, and that nothing is left. They need root
// (tag kernel).
package controlplane
