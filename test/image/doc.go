// Package image holds the tests of the image store against a real containerd and a real registry: what a pull leaves on
// disk, what a failed one does not, and how several Windows nodes share one store.
package image
