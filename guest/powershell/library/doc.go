// Package library has classes of .NET that the language has no words for and that need no session: versions, numbers by
// chance, mathematics, stopwatches, builders of texts, pairs of names and values.
package library
