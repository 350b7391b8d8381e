// Package hostroot puts together the root file system of a node's host, of either system: the machine's programs,
// read-only, beside what is the host's own. It knows neither which folders those are nor what runs in the host.
//
// All that is made in a root is made beneath it, by descriptors: the programs of a host, and pods with a hostPath
// volume, may have put links in the place of what is there.
package hostroot
