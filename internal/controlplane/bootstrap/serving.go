package bootstrap

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	certv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
)

const nodeUserPrefix = "system:node:"

// ServingPolicy says which addresses a kubelet's serving certificate may be for, beyond being the node's own. A node
// reports its own addresses, so without a policy a compromised node could get a certificate for another's address.
type ServingPolicy struct {
	// Networks are the networks of nodes' addresses; empty permits all.
	Networks []netip.Prefix
	// Reserved addresses belong to others, such as the API server.
	Reserved []netip.Addr
}

// errNotYet marks refusals that may no longer apply once the node has reported more addresses.
var errNotYet = errors.New("the node has not reported that address")

// nodeOf returns the name of the node that made the request, if it is a kubelet's request for a serving certificate at
// all.
func nodeOf(csr *certv1.CertificateSigningRequest) (string, error) {
	if csr.Spec.SignerName != certv1.KubeletServingSignerName {
		return "", fmt.Errorf("the signer %q is not this approver's", csr.Spec.SignerName)
	}
	name, ok := strings.CutPrefix(csr.Spec.Username, nodeUserPrefix)
	if !ok || name == "" {
		return "", fmt.Errorf("the requester %q is not a node", csr.Spec.Username)
	}
	if !slices.Contains(csr.Spec.Groups, nodesGroup) {
		return "", fmt.Errorf("the requester %q is not in the group %s", csr.Spec.Username, nodesGroup)
	}
	return name, nil
}

// Check returns nil if the request is to be approved: made by the kubelet of node, for the node's name and some of its
// reported addresses, for serving only. The rules are the signer's, which the controller-manager checks again, and
// those on names:
// https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#kubernetes-signers
func (p ServingPolicy) Check(csr *certv1.CertificateSigningRequest, node *corev1.Node) error {
	name, err := nodeOf(csr)
	if err != nil {
		return err
	}
	if name != node.Name {
		return fmt.Errorf("the requester is node %q, not %q", name, node.Name)
	}

	request, err := parseRequest(csr.Spec.Request)
	if err != nil {
		return err
	}
	if request.Subject.CommonName != csr.Spec.Username {
		return fmt.Errorf("the certificate would be for %q, the requester is %q", request.Subject.CommonName,
			csr.Spec.Username)
	}

	if !slices.Equal(request.Subject.Organization, []string{nodesGroup}) {
		return fmt.Errorf("the certificate would be for the groups %q, not %s", request.Subject.Organization,
			nodesGroup)
	}
	if err := checkUsages(csr.Spec.Usages); err != nil {
		return err
	}
	return p.checkNames(request, node)
}

func parseRequest(text []byte) (*x509.CertificateRequest, error) {
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || len(strings.TrimSpace(string(rest))) > 0 {
		return nil, errors.New("the request is not one PEM certificate request")
	}

	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parse request: %w", err)
	}
	if err := request.CheckSignature(); err != nil {
		return nil, fmt.Errorf("check the request's signature: %w", err)
	}
	return request, nil
}

func checkUsages(usages []certv1.KeyUsage) error {
	serves := false
	for _, u := range usages {
		switch u {
		case certv1.UsageServerAuth:
			serves = true
		case certv1.UsageDigitalSignature, certv1.UsageKeyEncipherment:
		default:
			return fmt.Errorf("the usage %q is not for a serving certificate", u)
		}
	}
	if !serves {
		return fmt.Errorf("the usage %q is missing", certv1.UsageServerAuth)
	}

	return nil
}

func (p ServingPolicy) checkNames(request *x509.CertificateRequest, node *corev1.Node) error {
	if len(request.EmailAddresses) > 0 || len(request.URIs) > 0 {
		return errors.New("the certificate would be for e-mail addresses or URIs")
	}
	if len(request.DNSNames)+len(request.IPAddresses) == 0 {
		return errors.New("the certificate would be for no name or address")
	}

	for _, dns := range request.DNSNames {
		if !strings.EqualFold(dns, node.Name) {
			return fmt.Errorf("the DNS name %q is not the node's name", dns)
		}
	}

	for _, raw := range request.IPAddresses {
		ip, ok := netip.AddrFromSlice(raw)
		if !ok {
			return fmt.Errorf("the address %v is none", raw)
		}

		ip = ip.Unmap()
		if slices.Contains(p.Reserved, ip) {
			return fmt.Errorf("the address %s is reserved", ip)
		}
		if len(p.Networks) > 0 && !slices.ContainsFunc(p.Networks,
			func(n netip.Prefix) bool { return n.Contains(ip) }) {
			return fmt.Errorf("the address %s is in none of the networks of nodes %v", ip, p.Networks)
		}

		if !reported(node, ip) {
			return fmt.Errorf("address %s: %w", ip, errNotYet)
		}
	}

	return nil
}

// reported reports whether the node has reported ip as its own.
func reported(node *corev1.Node, ip netip.Addr) bool {
	for _, a := range node.Status.Addresses {
		if a.Type != corev1.NodeInternalIP && a.Type != corev1.NodeExternalIP {
			continue
		}
		if own, err := netip.ParseAddr(a.Address); err == nil && own == ip {
			return true
		}
	}
	return false
}
