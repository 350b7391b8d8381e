// Package certutil owns certutil.exe as far as scripts call it: hashes of files, base64, and certificates in stores.
package certutil

import (
	"bytes"
	"crypto/md5"  // certutil makes it
	"crypto/sha1" // its default
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"hash"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"mullion.dev/mullion/guest/tools/program"
)

// failure is an error of certutil's: a number of Windows, its name and its text, with bars between them
// (https://learn.microsoft.com/windows/win32/debug/system-error-codes).
type failure string

const (
	notFound   failure = "0x80070002|WIN32: 2 ERROR_FILE_NOT_FOUND|The system cannot find the file specified."
	denied     failure = "0x80070005|WIN32: 5 ERROR_ACCESS_DENIED|Access is denied."
	exists     failure = "0x80070050|WIN32: 80 ERROR_FILE_EXISTS|The file exists."
	badData    failure = "0x8007000d|WIN32: 13 ERROR_INVALID_DATA|The data is invalid."
	badArg     failure = "0x80070057|WIN32: 87 ERROR_INVALID_PARAMETER|The parameter is incorrect."
	badHash    failure = "0xd0000225|NT: 0xc0000225 STATUS_NOT_FOUND|The object was not found."
	badDecoded failure = "0x80092002|-2146885630 CRYPT_E_BAD_ENCODE|An error occurred during encode or decode operation."
	general            = "0x80004005|-2147467259 E_FAIL|"
)

func (f failure) Error() string { return string(f) }

// say prints the failure of a verb, and returns the exit code.
func (f failure) say(e program.Env, verb string) int {
	number, rest, _ := strings.Cut(string(f), "|")
	name, text, _ := strings.Cut(rest, "|")
	e.Print("CertUtil: -%s command FAILED: %s (%s)\r\nCertUtil: %s", verb, number, name, text)
	code, err := strconv.ParseUint(number, 0, 32)
	if err != nil {
		return 1
	}
	return int(int32(uint32(code)))
}

// Run does what scripts call certutil for: hashes of files, base64, and adding a certificate to a store
// (https://learn.microsoft.com/windows-server/administration/windows-commands/certutil). Its other verbs are refused.
func Run(e program.Env, sys System, args []string) int {
	verb, words, force, user := parseCertutil(args)
	verbs := map[string]func() error{
		"hashfile": func() error { return hashFile(e, words) },
		"encode":   func() error { return encode(e, words, force) },
		"decode":   func() error { return decode(e, words, force) },
		"addstore": func() error { return addStore(e, sys, words, user) },
	}

	if verb == "" || verb == "?" {
		e.Print("Verbs:\r\n  -encode           -- Encode file to Base64\r\n  -decode           -- Decode Base64-encoded file\r\n" +
			"  -hashfile         -- Generate and display cryptographic hash over a file\r\n  -addstore         -- Add certificate to store")
		e.Print("CertUtil: -? command completed successfully.")
		return 0
	}

	do, ok := verbs[verb]
	if !ok {
		e.Complain("CertUtil: -%s is not part of Mullion's certutil, which has -addstore, -decode, -encode and -hashfile.", verb)
		return 1
	}

	err := do()
	if err == nil {
		e.Print("CertUtil: -%s command completed successfully.", verb)
		return 0
	}
	f, is := errors.AsType[failure](err)
	if !is {
		f = failure(general + err.Error())
	}

	return f.say(e, verb)
}

func parseCertutil(args []string) (verb string, words []string, force, user bool) {
	for _, arg := range args {
		name, is := program.Option(arg)
		switch {
		case is && name == "f":
			force = true
		case is && slices.Contains([]string{"user", "enterprise", "gmt", "v", "silent"}, name):
			user = user || name == "user"
		case is && verb == "":
			verb = name
		default:
			words = append(words, arg)
		}
	}

	return verb, words, force, user
}

// ofFile is an error with a file in certutil's words.
func ofFile(err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return notFound
	case errors.Is(err, os.ErrPermission):
		return denied
	case errors.Is(err, os.ErrExist):
		return exists
	}
	return err
}

func hashFile(e program.Env, words []string) error {
	hashes := map[string]func() hash.Hash{
		"MD5": md5.New, "SHA1": sha1.New, "SHA256": sha256.New, "SHA384": sha512.New384, "SHA512": sha512.New,
	}
	if len(words) < 1 || len(words) > 2 {
		return badArg
	}

	name := "SHA1"
	if len(words) == 2 {
		name = strings.ToUpper(words[1])
	}
	make, ok := hashes[name]
	if !ok {
		return badHash
	}

	file, err := os.Open(words[0])
	if err != nil {
		return ofFile(err)
	}
	defer file.Close()
	h := make()
	if _, err := io.Copy(h, file); err != nil {
		return ofFile(err)
	}

	e.Print("%s hash of %s:\r\n%x", name, words[0], h.Sum(nil))
	return nil
}

func encode(e program.Env, words []string, force bool) error {
	if len(words) != 2 {
		return badArg
	}
	content, err := os.ReadFile(words[0])
	if err != nil {
		return ofFile(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: content})
	return convert(e, words[1], content, bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")), force)
}

func decode(e program.Env, words []string, force bool) error {
	if len(words) != 2 {
		return badArg
	}
	text, err := os.ReadFile(words[0])
	if err != nil {
		return ofFile(err)
	}
	content, err := unbase64(text)
	if err != nil {
		return err
	}
	return convert(e, words[1], text, content, force)
}

// unbase64 returns what a text in base64 says, between lines that begin and end it or without them.
func unbase64(text []byte) ([]byte, error) {
	if block, _ := pem.Decode(text); block != nil {
		return block.Bytes, nil
	}
	bare := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\n", r) {
			return -1
		}
		return r
	}, string(text))

	content, err := base64.StdEncoding.DecodeString(bare)
	if err != nil || len(content) == 0 {
		return nil, badData
	}
	return content, nil
}

// convert writes a file, and says how long it and the one it comes from are.
func convert(e program.Env, name string, from, to []byte, force bool) error {
	how := os.O_CREATE | os.O_WRONLY | os.O_EXCL
	if force {
		how = os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	}
	file, err := os.OpenFile(name, how, 0o666)
	if err != nil {
		return ofFile(err)
	}

	_, err = file.Write(to)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	e.Print("Input Length = %d\r\nOutput Length = %d", len(from), len(to))
	return nil
}

// addStore adds the certificate of a file to a store of the machine or of the user.
func addStore(e program.Env, sys System, words []string, user bool) error {
	if len(words) != 2 {
		return badArg
	}
	text, err := os.ReadFile(words[1])
	if err != nil {
		return ofFile(err)
	}

	if found, err := unbase64(text); err == nil {
		text = found
	}
	certificate, err := x509.ParseCertificate(text)
	if err != nil {
		return badDecoded
	}

	stores := map[string]string{
		"root": "Trusted Root Certification Authorities", "ca": "Intermediate Certification Authorities", "my": "Personal",
		"trustedpublisher": "Trusted Publishers", "disallowed": "Untrusted Certificates",
	}
	title, known := stores[strings.ToLower(words[0])]
	if !known {
		title = words[0]
	}

	added, err := sys.Add(!user, words[0], certificate.Raw)
	if err != nil {
		return ofFile(err)
	}
	e.Print("%s \"%s\"", words[0], title)
	if bytes.Equal(certificate.RawIssuer, certificate.RawSubject) {
		e.Print("Signature matches Public Key")
	}

	name := certificate.Subject.CommonName
	if name == "" {
		name = certificate.Subject.String()
	}
	e.Print("Certificate %q %s store.", name, map[bool]string{true: "added to", false: "already in"}[added])
	return nil
}
