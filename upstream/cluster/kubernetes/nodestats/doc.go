// Package main is a Windows program that reads performance counters as the kubelet does, with the kubelet's own code.
package main
