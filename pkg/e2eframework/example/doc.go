// Package example is what a test of e2e-framework looks like whose cluster mullion makes, and one of
// controller-runtime's envtest beside it: example_cluster_test.go. It takes a minute and root; MULLION names the
// program, if it is not in PATH.
package example
