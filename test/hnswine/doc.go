// Package hnswine is the wine rung of pod networking: upstream's Windows programs, unmodified, against the HNS server,
// the data plane and the underlay, with real packets at the end.
package hnswine
