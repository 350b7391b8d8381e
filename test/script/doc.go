// Package script owns the black-box tests of mullion's command line that need neither root nor Wine nor a cluster: each
// file of testdata is what a user types, and what is answered. It is the one test package that links the whole program,
// and with it all of Kubernetes; what can be tested without belongs elsewhere.
package script
