package credspec

import (
	"errors"
	"time"
)

// Ticket is what the programs of a container need to be their account on the network.
type Ticket struct {
	// Domain has the controller that gave the ticket, and the status 0.
	Domain Domain
	// Cache is the content of CacheFile, Config that of ConfigFile.
	Cache, Config []byte
	// Renew is when another ticket should be got, End when this one is worth nothing any more.
	Renew, End time.Time
}

// Files of a container, as Linux names them; MIT's Kerberos, which Wine uses, is told of them by the variables
// KRB5CCNAME and KRB5_CONFIG (https://web.mit.edu/kerberos/krb5-1.20/doc/admin/env_variables.html).
const (
	CacheFile  = "/run/mullion/krb5cc"
	ConfigFile = "/run/mullion/krb5.conf"
)

// Why there is no ticket.
var (
	// ErrNoKeys says that the node has no keys for the account's domain.
	ErrNoKeys = errors.New("the node has no keys for the account's domain")
	// ErrRefused says that the account is not in the keytab, or that the domain refuses it.
	ErrRefused = errors.New("The user name or password is incorrect. (0x52e)") //nolint:staticcheck // Windows' words
	// ErrUnreachable says that no controller of the domain has answered.
	ErrUnreachable = errors.New( //nolint:staticcheck // Windows' words
		"There are currently no logon servers available to service the logon request. (0x51f)")
)
