// Mullion's own code under the name that go-smb2 imports; the replacement is in the go.mod of the checkout.
module github.com/cloudsoda/sddl

go 1.26.0
