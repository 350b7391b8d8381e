// Package kubernetes pins Kubernetes 1.20, which the documents about Windows nodes speak of, with the dependencies that
// its authors chose. Of it is built a bundle of that version, which nothing else needs: `make bundle VERSION=v1.20.15`.
// Nothing here runs.
//
// go.mod has what upstream's has, with the staging modules at the version that they are published with (v0.20.15), and
// two newer modules: github.com/modern-go/reflect2 and github.com/json-iterator/go of 2020 read the runtime's maps, as
// they were until Go 1.18.
//
// linux.mod has the same, and Kubernetes' own module from a folder of bin: its published module lacks a file that
// upstream's build generates, the API server's description of its kinds. hack/kubeopenapi makes the folder.
package kubernetes
