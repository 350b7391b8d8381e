package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"mullion.dev/mullion/internal/base/version"
)

// ErrNotThere says that there is no bundle of the version asked for.
var ErrNotThere = errors.New("no such version of Kubernetes is there")

// Versions returns those of the bundles that lie in folders, that of Mullion's programs for example, each once, the
// oldest first.
func Versions(dirs ...string) ([]string, error) {
	var all []string
	for _, dir := range dirs {
		entries, err := os.ReadDir(filepath.Join(dir, "kubernetes"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if semver.IsValid(e.Name()) {
				all = append(all, e.Name())
			}
		}
	}

	slices.SortFunc(all, func(a, b string) int { return cmp.Or(semver.Compare(a, b), strings.Compare(a, b)) })
	return slices.Compact(all), nil
}

// Find returns the version of a bundle in one of the folders: want itself ("v1.35.8", "1.35.8"), or the newest of a
// minor version ("1.35"). Without one it is an error that is ErrNotThere and names those that are.
func Find(want string, dirs ...string) (string, error) {
	all, err := Versions(dirs...)
	if err != nil {
		return "", err
	}

	want = "v" + strings.TrimPrefix(want, "v")
	for _, v := range slices.Backward(all) {
		if v == want || semver.MajorMinor(v) == want {
			return v, nil
		}
	}

	var places []string
	for i, dir := range dirs {
		if place := filepath.Join(dir, "kubernetes"); there(place) || i == len(dirs)-1 {
			places = append(places, fmt.Sprintf("%q", place))
		}
	}

	return "", fmt.Errorf("find Kubernetes %s in %s, which has %s: %w", want, strings.Join(places, " and "),
		cmp.Or(strings.Join(all, ", "), "none"), ErrNotThere)
}

// maxSkew is how many minor versions a kubelet may be older than the API server.
// https://kubernetes.io/releases/version-skew-policy/#kubelet
const maxSkew = 3

// Skew returns an error where nodes of a version cannot be in a cluster whose control plane has another.
func Skew(controlPlane, node string) error {
	c, n := version.MinorOf(controlPlane), version.MinorOf(node)
	switch {
	case n > c:
		return fmt.Errorf("a node of Kubernetes %s is newer than the control plane, which is %s", node, controlPlane)
	case n < c-maxSkew:
		return fmt.Errorf("a node of Kubernetes %s is more than %d minor versions older than the control plane, which is %s",
			node, maxSkew, controlPlane)
	}
	return nil
}
