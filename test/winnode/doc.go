// Package winnode_test brings a whole Windows host up: real control plane, containerd, Wine and the unmodified
// kubelet.exe.
package winnode_test
