package certificate

import (
	"errors"
	"io/fs"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/system"
)

// store is an X509Store.
type store struct {
	of             system.Certificates
	name           string
	machine        bool
	open, writable bool
}

// StoreClass returns the class X509Store, of a name and a place
// (https://learn.microsoft.com/en-us/dotnet/api/system.security.cryptography.x509certificates.x509store).
func StoreClass() *object.Class {
	of := func(do func(s *store, c *object.Call) (object.Value, error)) func(c *object.Call) (object.Value, error) {
		return func(c *object.Call) (object.Value, error) { return do(object.Own[*store](c.On), c) }
	}

	shut := of(func(s *store, _ *object.Call) (object.Value, error) {
		s.open = false
		return nil, nil
	})

	field := func(name string, get func(s *store) (object.Value, error)) object.Field {
		return object.Field{Name: name, Get: func(_ *session.State, v object.Value) (object.Value, error) {
			return get(object.Own[*store](v))
		}}
	}

	return &object.Class{
		Name: "System.Security.Cryptography.X509Certificates.X509Store",
		Make: &object.Method{Most: 2, Do: makeStore},
		Props: []object.Field{
			field("Name", func(s *store) (object.Value, error) { return s.name, nil }),
			field("Location", func(s *store) (object.Value, error) { return placeName(s.machine), nil }),
			field("Certificates", (*store).certificates),
		},
		Methods: []object.Method{
			{Name: "Open", Least: 1, Most: 1, Do: of((*store).opened)},
			{Name: "Add", Least: 1, Most: 1, Do: of((*store).add)},
			{Name: "Remove", Least: 1, Most: 1, Do: of((*store).remove)},
			{Name: "Close", Do: shut},
			{Name: "Dispose", Do: shut},
		},
	}
}

// makeStore makes X509Store(name, place); without a place it is the user's, without a name My.
func makeStore(c *object.Call) (object.Value, error) {
	s := &store{of: c.State.System.Certificates, name: "My"}
	for n := range c.Args {
		switch given := c.Text(n); {
		case strings.EqualFold(given, machinePlace):
			s.machine = true
		case strings.EqualFold(given, userPlace):
		case n > 0:
			return nil, object.CannotConvert(given, "System.Security.Cryptography.X509Certificates.StoreLocation")
		case strings.EqualFold(given, "CertificateAuthority"): // what StoreName calls it
			s.name = "CA"
		default:
			s.name = given
		}
	}

	return &object.Instance{Of: StoreClass(), V: s}, nil
}

// The flags of Open
// (https://learn.microsoft.com/en-us/dotnet/api/system.security.cryptography.x509certificates.openflags).
const (
	readWrite  = 1
	maxAllowed = 2
	existing   = 4
)

func (s *store) opened(c *object.Call) (object.Value, error) {
	flags, ok := object.EnumOf("Security.Cryptography.X509Certificates.OpenFlags").Parsed(object.Plain(c.Arg(0)))
	if !ok {
		return nil, object.CannotConvert(c.Arg(0), "System.Security.Cryptography.X509Certificates.OpenFlags")
	}

	_, err := s.of.List(s.machine, s.name)
	if errors.Is(err, fs.ErrNotExist) && flags.N&existing == 0 {
		err = nil // it is made when something is added
	}
	if err != nil {
		return nil, storeError(err)
	}

	s.open, s.writable = true, flags.N&(readWrite|maxAllowed) != 0
	return nil, nil
}

// storeError returns an error of a store, in the words of Windows.
func storeError(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return object.Raise(CryptographicException, "Access is denied.\r\n")
	case errors.Is(err, fs.ErrNotExist):
		return object.Raise(CryptographicException, "The system cannot find the file specified.\r\n")
	}
	return object.Raise(CryptographicException, err.Error())
}

func (s *store) certificates() (object.Value, error) {
	list := []object.Value{}
	if !s.open { // as there, it is empty
		return list, nil
	}

	all, err := s.of.List(s.machine, s.name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, storeError(err)
	}

	for _, der := range all {
		list = append(list, Object(der))
	}

	return list, nil
}

// change returns the certificate that a call names, of a store that is open to be written.
func (s *store) change(c *object.Call) ([]byte, error) {
	der, is := Of(c.Arg(0))
	switch {
	case !s.open:
		return nil, object.Raise(CryptographicException, "The X509 certificate store has not been opened.")
	case !is:
		return nil, object.CannotConvert(c.Arg(0), ClassName)
	case !s.writable:
		return nil, storeError(fs.ErrPermission)
	}
	return der, nil
}

func (s *store) add(c *object.Call) (object.Value, error) {
	der, err := s.change(c)
	if err != nil {
		return nil, err
	}
	if _, err := s.of.Add(s.machine, s.name, der); err != nil {
		return nil, storeError(err)
	}
	return nil, nil
}

func (s *store) remove(c *object.Call) (object.Value, error) {
	der, err := s.change(c)
	if err != nil {
		return nil, err
	}
	if err := s.of.Remove(s.machine, s.name, der); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, storeError(err)
	}
	return nil, nil
}
