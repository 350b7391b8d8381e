package cri

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/windows/credspec"
)

// credentialSpec is a container's credential spec, "" without one.
func credentialSpec(c store.Container) string {
	return c.Config.GetWindows().GetSecurityContext().GetCredentialSpec()
}

// checkCredential returns an error if a container's credential spec cannot be honoured: hcsshim's words
// (https://github.com/microsoft/hcsshim/blob/v0.13.0/internal/credentials/credentials.go), Windows' error, and why.
func checkCredential(c store.Container) error {
	text := credentialSpec(c)
	if text == "" {
		return nil
	}
	const words = "failed to generate container credential guard instance: "
	if c.HostProcess {
		// A job container has its host's identity. Windows starts such a container, with another identity than the
		// one that was asked for.
		return errors.New(words + "The request is not supported. (0x32): a HostProcess container has its host's identity")
	}
	switch _, err := credspec.Parse(text); {
	case errors.Is(err, credspec.ErrPlugin):
		return fmt.Errorf(words+"hcs::ModifyServiceSettings: Class not registered (0x80040154): %w", err)
	case err != nil:
		return fmt.Errorf(words+"hcs::ModifyServiceSettings: The parameter is incorrect. (0x80070057): %w", err)
	}
	return nil
}

// writeDomain tells a container's programs which domain they are in. A credential spec that is wrong is the start's
// error, as on Windows.
func (s *Server) writeDomain(c store.Container) error {
	if c.HostProcess || credentialSpec(c) == "" {
		return nil
	}
	spec, err := credspec.Parse(credentialSpec(c))
	if err != nil {
		return nil //nolint:nilerr // see checkCredential
	}
	file := filepath.Join(s.runDir(c), path.Base(credspec.File))
	if err := atomicfile.Write(file, spec.Domain().Text(), 0o644); err != nil {
		return fmt.Errorf("write the container's domain: %w", err)
	}
	return nil
}
