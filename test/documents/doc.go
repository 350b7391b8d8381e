// Package documents holds what the documents say that describe Kubernetes on Windows, and their samples: manifests and
// commands, what must be seen when somebody takes them as they stand, and what does not work and why. It is two tables
// and their pages; the cluster on which the samples are tried is TestDocuments' in test/e2e.
package documents
