// Package exporter runs Prometheus' windows_exporter, unmodified, as a container runs it, and compares the figures that
// it serves with the machine's own.
//
// It needs Wine, built shims (build tag wine) and the program, which `make exporter` builds; without it the test skips.
package exporter
