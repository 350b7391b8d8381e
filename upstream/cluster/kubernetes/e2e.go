// Package kubernetes pins one version of Kubernetes with the dependencies its authors chose. Of it are built the
// programs of a bundle (hyperkube, kubelet.exe, kube-proxy.exe), e2e.test by `go test -c k8s.io/kubernetes/test/e2e`,
// and the programs of the tests' images, which go.mod lists. One module has all of them, so they share what is compiled.
// Nothing here runs.
package kubernetes

import _ "k8s.io/kubernetes/test/e2e" // a module keeps what the tests of the packages that it imports need
