// Package sides has tests that hold the host side and the guest side together: what the host's tables say of functions,
// libraries and cmdlets is what guest/ has. It has no code of its own.
package sides
