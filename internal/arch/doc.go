// Package arch owns the tests by which the repository checks itself: package comments, import direction, build tags,
// and that what documents name is there. It has no code of its own.
package arch
