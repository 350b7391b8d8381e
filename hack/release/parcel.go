package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// parcel is what is packed together, as a tarball and as packages.
type parcel struct {
	// name is the packages', version theirs with a leading "v", and folder the tarball's and its folder's.
	name, version, folder string
	// description is the packages'. Its first line stands alone in lists.
	description string
	entries     []entry
	// licence is SPDX's expression of those of all programs in it.
	licence string
	// debian and redHat return what the packages depend on.
	debian, redHat func() ([]string, error)
}

// mullion is Mullion without Kubernetes' programs. Its packages depend on the bundle that it comes with, on what
// hack/deps.sh installs for a machine that only runs Mullion, and on the same by Fedora's names.
func (r release) mullion(entries []entry) parcel {
	bundle := r.kubernetesParcel(r.kubernetes, nil)

	return parcel{
		name:    "mullion",
		version: r.version,
		folder:  "mullion-" + strings.TrimPrefix(r.version, "v") + "-linux-amd64",
		description: `Windows nodes for Kubernetes on a Linux machine without Windows
mullion up brings up a cluster with upstream's control plane, Linux nodes, and Windows nodes on which upstream's own
kubelet.exe, kube-proxy.exe and CNI plugins run under Wine.`,
		entries: entries,
		debian: func() ([]string, error) {
			list, err := exec.Command(filepath.Join(r.root, "hack/deps.sh"), "list").Output()
			if err != nil {
				return nil, fmt.Errorf("hack/deps.sh list: %w", err)
			}
			own := fmt.Sprintf("%s (= %s)", bundle.name, strings.TrimPrefix(bundle.version, "v"))
			return append([]string{own}, strings.Fields(string(list))...), nil
		},
		redHat: func() ([]string, error) {
			own := fmt.Sprintf("%s = %s", bundle.name, strings.TrimPrefix(bundle.version, "v"))
			return []string{own, "wine-core", "nftables", "iproute", "iputils", "util-linux"}, nil
		},
	}
}

// kubernetesParcel returns a bundle of Kubernetes. Those of several minor versions can be installed at once, and a
// minor version has one. The number of the package has Mullion's behind it, as what is beside upstream's programs
// (etcd, the program that they share) is Mullion's choice.
func (r release) kubernetesParcel(version string, entries []entry) parcel {
	number := strings.TrimPrefix(version, "v")
	none := func() ([]string, error) { return nil, nil }
	return parcel{
		name:    "mullion-kubernetes-" + minor(version),
		version: version + "+mullion" + regexp.MustCompile(`[^0-9A-Za-z.]+`).ReplaceAllString(strings.TrimPrefix(r.version, "v"), "."),
		folder:  "mullion-kubernetes-" + number + "-linux-amd64",
		description: "Programs of Kubernetes " + version + ` for clusters of Mullion
Upstream's control plane, kubelet, kube-proxy and kubectl for Linux, etcd, and its kubelet.exe and kube-proxy.exe.
mullion up --kubernetes-version ` + minor(version) + ` brings up a cluster of them.`,
		entries: entries,
		debian:  none,
		redHat:  none,
	}
}

// e2eParcel are Kubernetes' e2e tests of the version that Mullion comes with, for `mullion conformance`.
func (r release) e2eParcel(entries []entry) parcel {
	number := strings.TrimPrefix(r.version, "v")
	return parcel{
		name:    "mullion-e2e",
		version: r.version,
		folder:  "mullion-e2e-" + number + "-linux-amd64",
		description: "Kubernetes' e2e tests, for mullion conformance run" + `
Upstream's unpatched e2e.test ` + r.kubernetes + ` and the programs of its images for Linux and Windows. Some of those
are stand-ins, which the page of results names.`,
		entries: entries,
		debian:  func() ([]string, error) { return []string{"mullion (= " + number + ")"}, nil },
		redHat:  func() ([]string, error) { return []string{"mullion = " + number}, nil },
	}
}

// minor returns the first two numbers of a version: "1.36".
func minor(version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	return strings.Join(parts[:len(parts)-1], ".")
}
