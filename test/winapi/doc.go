// Package winapi checks, in a Wine prefix with Mullion's shims, that the gaps of Wine's Windows API are closed.
//
// The checks themselves are the Windows tests of package prog; this package builds and runs them and looks at the Linux
// side of what they leave. It needs Wine and built shims (build tag wine).
package winapi
