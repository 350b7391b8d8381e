package winapi

import "mullion.dev/mullion/internal/base/support"

func cryptoRows() []support.Row {
	const cng = win32 + "seccng/"

	return []support.Row{
		{
			Name:  "CertCreateCertificateChainEngine",
			Level: support.Supported,
			Ref:   win32 + "api/wincrypt/nf-wincrypt-certcreatecertificatechainengine",
		},
		{
			Name:  "CertVerifyCertificateChainPolicy: CERT_CHAIN_POLICY_SSL",
			Level: support.Partly,
			Ref:   win32 + "api/wincrypt/nf-wincrypt-certverifycertificatechainpolicy",
			Note: "a server's certificate is for names of DNS, with a star for the first label, in Punycode or by its letters, and for addresses of both families, as Go's own verifier has it; " +
				"a common name is none of them, also where a certificate has no other",
		},
		{
			Name:  "NCrypt… (ncrypt.dll): keys of RSA and ECDSA",
			Level: support.Partly,
			Ref:   cng + "cng-key-storage-functions",
			Note: "generating, importing, exporting (blobs of BCrypt, PKCS#8), signing, verifying; ECDSA on P-256 and P-384, RSA with PKCS #1 and PSS (SHA-256, SHA-384 and SHA-512, salts as long as " +
				"the hash). P-521 is refused, Wine's bcrypt.dll has none; so are keys without their public part, encrypted PKCS#8, RSA without padding, and keys with names, which are to outlive the " +
				"program: NCryptOpenKey finds none",
		},
		{
			Name:  "BCrypt… (ncrypt.dll)",
			Level: support.Supported,
			Ref:   cng + "cng-cryptographic-primitive-functions",
			Note:  "the functions of Wine's bcrypt.dll, which Windows has under this name too",
		},
		{
			Name:  "RSA with OAEP (NCryptEncrypt, BCryptEncrypt)",
			Level: support.Partly,
			Ref:   cng + "cng-cryptographic-primitive-functions",
			Note:  "with SHA-1 and without a label; other hashes and labels need Wine 10 with GnuTLS 3.8.4 (Debian 13), and are refused elsewhere",
		},
		{
			Name:  "ECDH (NCryptSecretAgreement, NCryptDeriveKey)",
			Level: support.Partly,
			Ref:   win32 + "api/ncrypt/nf-ncrypt-ncryptsecretagreement",
			Note: "keys on P-256 and P-384 are made, imported and exported; agreeing needs Wine 10 with GnuTLS 3.8.2 (Debian 13), and is refused with NTE_NOT_SUPPORTED elsewhere. Derived are " +
				"the secret, a hash, HMAC, HKDF, the PRF of TLS, and the concatenation of SP 800-56A",
		},
		{
			Name:  "BCryptKeyDerivation: PBKDF2, HKDF, SP800_108_CTR_HMAC",
			API:   []string{"bcrypt.dll BCryptKeyDerivation"},
			Level: support.Supported,
			Ref:   win32 + "api/bcrypt/nf-bcrypt-bcryptkeyderivation",
			Note:  "found by GetProcAddress, as .NET looks for it; a program that imports it ends when it calls it, as Wine exports none",
		},
		{
			Name:  "PFXImportCertStore, CryptAcquireCertificatePrivateKey: keys of CNG",
			Level: support.Partly,
			Ref:   win32 + "api/wincrypt/nf-wincrypt-cryptacquirecertificateprivatekey",
			Note: "PFX files of OpenSSL, .NET, Java and Windows, with keys of RSA, P-256 and P-384, encrypted with AES, 3DES or RC2-40; of several keys the first. The key is kept with the certificate " +
				"and its copies. A certificate's key of CNG that a program gives it (CERT_NCRYPT_KEY_HANDLE_PROP_ID) lives as long as the program. PFXExportCertStore is Wine's, which exports nothing",
		},
	}
}
