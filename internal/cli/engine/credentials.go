package engine

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/runtime/image"
)

// KeptAuth returns the credentials that `docker login` or `podman login` has kept for the registry of a reference, which
// are for that registry alone; nil if there are none.
func KeptAuth(ctx context.Context, ref string) (*image.Auth, error) {
	named, err := name.ParseReference(ref)
	if err != nil {
		return nil, exit.Misuse(err, "an image's name is like registry.example/team/app:v1, in small letters")
	}

	kept, err := authn.Resolve(ctx, authn.DefaultKeychain, named.Context())
	if err != nil {
		return nil, &exit.Error{
			Code:   exit.Usage,
			Err:    fmt.Errorf("read the credentials for %s: %w", named.Context().RegistryStr(), err),
			Remedy: "mend ~/.docker/config.json, or take it away to go without credentials",
		}
	}

	with, err := authn.Authorization(ctx, kept)
	if err != nil || *with == (authn.AuthConfig{}) {
		return nil, err
	}

	server, err := image.ServerOf(ref)
	if err != nil {
		return nil, exit.Misuse(err, "")
	}
	return &image.Auth{
		Username:      with.Username,
		Password:      with.Password,
		Auth:          with.Auth,
		IdentityToken: with.IdentityToken,
		ServerAddress: server,
	}, nil
}
