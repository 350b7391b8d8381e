// Package documents holds the samples of the documents that describe Kubernetes on Windows: manifests and commands,
// what must be seen when somebody takes them as they stand, and what does not work and why. It is a table and a page;
// the cluster on which the samples are tried is TestDocuments' in test/e2e.
package documents
