module mullion.dev/mullion/test/images

go 1.26.0

require (
	github.com/benhoyt/goawk v1.31.0
	golang.org/x/net v0.58.0
	golang.org/x/sys v0.48.0
	mvdan.cc/sh/v3 v3.14.1
)

require golang.org/x/term v0.45.0 // indirect
