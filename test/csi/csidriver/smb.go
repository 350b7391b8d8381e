package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path"
	"regexp"
	"strings"
	"time"

	smb2 "github.com/cloudsoda/go-smb2"
	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// smb is the shape of volumes that are folders of a share, which every node can use. The parameter source of their
// StorageClass is the share, as //server/share; the secrets are a username and a password.
type smb struct{}

var source = regexp.MustCompile(`^//[A-Za-z0-9.:-]+/[A-Za-z0-9._$-]+$`)

func (smb) place(r *csi.CreateVolumeRequest, from string) (string, error) {
	place := strings.TrimSuffix(strings.ReplaceAll(r.GetParameters()["source"], `\`, "/"), "/")
	if !source.MatchString(place) {
		return "", status.Errorf(codes.InvalidArgument, "the parameter source is %q, want //server/share", place)
	}
	if from != "" && placeOf(from) != place {
		return "", status.Errorf(codes.InvalidArgument, "%q is not of the share %s", from, place)
	}
	return place, nil
}

// dialTimeout is how long a server has to answer.
const dialTimeout = 10 * time.Second

func (smb) open(ctx context.Context, place string, secrets map[string]string) (store, func() error, error) {
	server, name, _ := strings.Cut(strings.TrimPrefix(place, "//"), "/")
	if !source.MatchString(place) {
		return store{}, nil, status.Errorf(codes.NotFound, "%q is no share", place)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()

	user := &smb2.NTLMInitiator{User: secrets["username"], Password: secrets["password"]}
	session, err := (&smb2.Dialer{Initiator: user}).Dial(ctx, net.JoinHostPort(server, "445"))
	if err != nil {
		return store{}, nil, fmt.Errorf("log on to %s: %w", server, err)
	}
	tree, err := session.Mount(name)
	if err != nil {
		return store{}, nil, errors.Join(fmt.Errorf("use the share %s: %w", place, err), session.Logoff())
	}

	end := func() error { return errors.Join(tree.Umount(), session.Logoff()) }
	return store{files: share{tree}, place: place}, end, nil
}

// describe says to the node part what to map, and which folder of it is the volume.
func (smb) describe(v *csi.Volume) {
	name, place, _ := strings.Cut(v.GetVolumeId(), "@")
	v.VolumeContext["source"] = place + "/" + volumes + "/" + name
}

func (smb) attaches() string { return "" }

// share is a share as folders.
type share struct{ tree *smb2.Share }

func (s share) Make(name string) error { return s.tree.MkdirAll(name, 0o777) }

func (s share) Remove(name string) error { return s.tree.RemoveAll(name) }

func (s share) Read(name string) ([]byte, error) { return s.tree.ReadFile(name) }

func (s share) Write(name string, data []byte) error {
	if err := s.tree.WriteFile(name+".new", data, 0o600); err != nil {
		return err
	}
	return s.tree.Rename(name+".new", name)
}

func (s share) Copy(from, to string) error {
	if err := s.tree.MkdirAll(to, 0o777); err != nil {
		return err
	}
	all, err := s.tree.ReadDir(from)
	if err != nil {
		return err
	}

	for _, info := range all {
		source, target := path.Join(from, info.Name()), path.Join(to, info.Name())
		switch {
		case info.IsDir():
			err = s.Copy(source, target)
		case info.Mode().Type() == fs.ModeSymlink:
			err = fmt.Errorf("copy %s: it is a link", source)
		default:
			err = s.copyFile(source, target)
		}
		if err != nil {
			return err
		}
	}

	return nil
}

func (s share) copyFile(source, target string) (err error) {
	in, err := s.tree.Open(source)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := s.tree.Create(target)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
