// Package preflight owns what a machine must have before a cluster is brought up on it: it looks at the machine (Look)
// and says, a line for each, what is missing or will hinder, and what to do about it (Judge). It changes nothing that
// stays, and knows nothing of clusters.
//
// Where it can, it tries the thing itself, in a scratch namespace or folder, and does not go by a version:
// distributions carry features backwards, and administrators turn them off.
package preflight
