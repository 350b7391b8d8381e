package clitest

import (
	"testing"

	"mullion.dev/mullion/internal/cluster/bundle/bundletest"
)

// OwnVersion is that of a build of one's own.
const OwnVersion = "v1.38.0-alpha.1.7+0a1b2c3d4e5f67"

// Release puts a bundle of that version into a folder.
func Release(t *testing.T) string {
	t.Helper()
	return bundletest.Put(t, t.TempDir(), bundletest.Programs(OwnVersion))
}
