package c

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// Tags of DER (ITU-T X.690).
const (
	derInteger  = 0x02
	derBits     = 0x03
	derOctets   = 0x04
	derNull     = 0x05
	derOID      = 0x06
	derSequence = 0x30
	derContext  = 0xa0 // [0] of elements; [1] is the next
)

// der returns an element of a tag and what is in it.
func der(tag byte, parts ...[]byte) []byte {
	content := slices.Concat(parts...)
	head := []byte{tag, byte(len(content))}
	if len(content) >= 0x80 {
		head = []byte{tag, 0x82, byte(len(content) >> 8), byte(len(content))}
	}
	return append(head, content...)
}

// number returns an INTEGER of size bytes, odd and positive, that looks like one of a key.
func number(size int) []byte {
	digits := bytes.Repeat([]byte{0x5b}, size)
	return der(derInteger, digits)
}

// Object identifiers of RFC 7292, 8017 and 5480.
var (
	oidData      = der(derOID, []byte{0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01})
	oidEncrypted = der(derOID, []byte{0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x06})
	oidX509      = der(derOID, []byte{0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x16, 0x01})
	oidRSA       = der(derOID, []byte{0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01})
	oidEC        = der(derOID, []byte{0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01})
	oidP256      = der(derOID, []byte{0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07})
)

// bag returns a SafeBag of PKCS #12 of a kind: 1 a key, 2 a shrouded key, 3 a certificate.
func bag(kind byte, content []byte) []byte {
	oid := der(derOID, []byte{0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01, kind})
	return der(derSequence, oid, der(derContext, content))
}

// pkcs12Seeds are PFX files with a certificate and a key, with a MAC and without, as testdata/unit/pkcs12.c makes them;
// nothing in them is encrypted.
func pkcs12Seeds() [][]byte {
	certificate := bag(3, der(derSequence, oidX509, der(derContext, der(derOctets, []byte("certificate")))))
	shrouded := bag(2, der(derSequence, der(derSequence, oidData), der(derOctets, []byte("shrouded key"))))
	plain := bag(1, der(derSequence, []byte("plain key")))

	content := func(bags ...[]byte) []byte {
		return der(derSequence, oidData, der(derContext, der(derOctets, der(derSequence, bags...))))
	}
	implicit := append([]byte{0x80}, der(derSequence, certificate)[1:]...)
	sealed := der(derSequence, oidData, der(derSequence, oidData), implicit)
	encrypted := der(derSequence, oidEncrypted, der(derContext, der(derSequence, der(derInteger, []byte{0}), sealed)))

	file := func(parts ...[]byte) []byte {
		safe := der(derContext, der(derOctets, der(derSequence, parts...)))
		return slices.Concat(der(derInteger, []byte{3}), der(derSequence, oidData, safe))
	}
	mac := der(derSequence, der(derInteger, []byte{1}))
	return [][]byte{
		der(derSequence, file(encrypted, content(shrouded)), mac),
		der(derSequence, file(content(certificate, plain))),
		der(derSequence, file(content(bag(9, der(derInteger, []byte{7})), shrouded)), mac),
	}
}

// keySeeds are keys as PKCS #8 and as the blobs of bcrypt.dll; the first byte of each chooses what a key of an elliptic
// curve is for.
func keySeeds() [][]byte {
	const half, whole = 32, 64 // bytes of the primes and of the modulus of RSA with 512 bits
	rsa := der(derSequence, der(derInteger, []byte{0}), number(whole), number(1), number(whole), number(half),
		number(half), number(half), number(half), number(half))
	point := append([]byte{0, 4}, bytes.Repeat([]byte{0x5b}, 2*half)...)
	ec := der(derSequence, der(derInteger, []byte{1}), der(derOctets, bytes.Repeat([]byte{0x5b}, half)),
		der(derContext+1, der(derBits, point)))
	pkcs8 := func(algorithm, key []byte) []byte {
		return der(derSequence, der(derInteger, []byte{0}), algorithm, der(derOctets, key))
	}

	blob := func(size int, header ...uint32) []byte {
		var made []byte
		for _, field := range header {
			made = binary.LittleEndian.AppendUint32(made, field)
		}
		return append(made, bytes.Repeat([]byte{0x5b}, size)...)
	}
	const rsaPublic, rsaFull, ecdsaP256 = 0x31415352, 0x33415352, 0x32534345 // bcrypt.h: RSA1, RSA3, ECS2
	return behind("\x01", [][]byte{
		pkcs8(der(derSequence, oidRSA, der(derNull)), rsa),
		pkcs8(der(derSequence, oidEC, oidP256), ec),
		blob(3+whole, rsaPublic, 512, 3, whole, 0, 0),
		blob(3+2*whole+5*half, rsaFull, 512, 3, whole, half, half),
		blob(3*half, ecdsaP256, half),
	})
}

// descriptorSeeds are self-relative security descriptors ([MS-DTYP] 2.4.6): an owner, a group, and a list of entries.
func descriptorSeeds() [][]byte {
	const present, isProtected, selfRelative = 0x0004, 0x1000, 0x8000 // SE_…
	const head = 20
	system := []byte{1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0}
	users := []byte{1, 2, 0, 0, 0, 0, 0, 5, 32, 0, 0, 0, 0x21, 2, 0, 0}
	creator := []byte{1, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0}

	entry := func(kind, flags byte, sid []byte) []byte {
		made := []byte{kind, flags, byte(8 + len(sid)), 0}
		return append(binary.LittleEndian.AppendUint32(made, 0x1200a9), sid...)
	}

	with := func(control uint16, entries ...[]byte) []byte {
		content := slices.Concat(entries...)
		list := append([]byte{2, 0, byte(8 + len(content)), 0, byte(len(entries)), 0, 0, 0}, content...)
		made := binary.LittleEndian.AppendUint16([]byte{1, 0}, control|selfRelative)
		for _, at := range []int{head, head + len(system), 0, head + len(system) + len(users)} {
			made = binary.LittleEndian.AppendUint32(made, uint32(at)) //nolint:gosec // small
		}
		return slices.Concat(made, system, users, list)
	}

	return [][]byte{
		with(present, entry(0, 0x13, users), entry(0, 0x0b, creator)),
		with(present|isProtected, entry(1, 0x03, system), entry(0, 0x07, users)),
		with(present),
		with(0, entry(5, 0x03, creator)),
	}
}

// eventSeeds are events as tdh/event.h has them: the head, extended items, and the event's own data.
func eventSeeds() [][]byte {
	const header = 80 // bytes of an EVENT_HEADER
	with := func(items, size, user byte) []byte {
		room := (size + 7) &^ 7
		made := append(bytes.Repeat([]byte{0}, header), items, 0, items*(8+room), 0, user, 0, 0, 0)
		for i := range items {
			made = append(made, 10+i, 0, size, 0, 0, 0, 0, 0)
			made = append(made, bytes.Repeat([]byte{i}, int(room))...)
		}
		return append(made, bytes.Repeat([]byte{'u'}, int(user))...)
	}
	return [][]byte{with(2, 13, 9), with(0, 0, 4), with(1, 8, 0)}
}
