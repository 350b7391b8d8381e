package stores

import (
	"context"
	"errors"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/agnhost"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/node/nodeimages"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/spec"
)

// Agnhost makes sure that the stores have the test pods' images: that of the Windows nodes, and that of one Linux
// node.
func Agnhost(ctx context.Context, call *invoke.Call, paths layout.Paths, c spec.Cluster, step func(string)) error {
	to, err := cluster.ImageStoresOf(c, nil)
	if err != nil {
		return err
	}

	pods := agnhost.Images{Paths: paths, Step: step}
	if to.Windows {
		err := Windows(ctx, call, "", func(s *image.Store) error { return pods.ForWindows(ctx, s) })
		if err != nil {
			return notBuilt(err)
		}
	}

	err = OfNodes(ctx, call, to.Own, func(_ string, i *nodeimages.Images) error { return pods.ForOwn(ctx, i) })
	if err != nil {
		return notBuilt(err)
	}

	return notBuilt(OfNodes(ctx, call, to.Linux[:min(len(to.Linux), 1)],
		func(_ string, i *nodeimages.Images) error { return pods.ForLinux(ctx, i) }))
}

// notBuilt gives the lack of a program its remedy and exit code.
func notBuilt(err error) error {
	if _, ok := errors.AsType[*agnhost.NotBuiltError](err); !ok {
		return err
	}
	return &exit.Error{
		Code:   exit.NotFound,
		Err:    err,
		Remedy: "`make agnhost` builds agnhost",
	}
}
