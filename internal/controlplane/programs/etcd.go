package programs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"go.etcd.io/etcd/pkg/v3/flags"
	"go.etcd.io/etcd/server/v3/embed"
)

// runEtcd runs an etcd with flags of etcd's own until ctx is over.
func runEtcd(ctx context.Context, args []string) error {
	cfg, err := etcdConfig(args)
	if err != nil {
		return fmt.Errorf("read etcd's flags: %w", err)
	}
	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("start etcd in %q: %w", cfg.Dir, err)
	}
	defer etcd.Close()
	select {
	case <-ctx.Done():
		return nil
	case err := <-etcd.Err():
		return fmt.Errorf("run etcd: %w", err)
	case <-etcd.Server.StopNotify():
		return errors.New("run etcd: the server stopped by itself")
	}
}

// etcdConfig reads flags the way etcd's main does; those for URLs and logs are not bound by AddFlags:
// https://github.com/etcd-io/etcd/blob/v3.6.8/server/etcdmain/config.go
func etcdConfig(args []string) (*embed.Config, error) {
	cfg := embed.NewConfig()
	fs := flag.NewFlagSet("etcd", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	cfg.AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("%q is not a flag", fs.Arg(0))
	}
	cfg.ListenPeerUrls = flags.UniqueURLsFromFlag(fs, "listen-peer-urls")
	cfg.AdvertisePeerUrls = flags.UniqueURLsFromFlag(fs, "initial-advertise-peer-urls")
	cfg.ListenClientUrls = flags.UniqueURLsFromFlag(fs, "listen-client-urls")
	cfg.ListenClientHttpUrls = flags.UniqueURLsFromFlag(fs, "listen-client-http-urls")
	cfg.AdvertiseClientUrls = flags.UniqueURLsFromFlag(fs, "advertise-client-urls")
	cfg.LogOutputs = []string{embed.StdErrLogOutput}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	return cfg, nil
}
