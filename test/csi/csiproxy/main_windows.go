// Command csiproxy is for the test of upstream's csi-proxy.exe. It calls one method of one of csi-proxy's groups, with
// csi-proxy's own client, or it is a CSI node driver, for shares of SMB servers or for disks of the node, that does all
// that it does on the node by csi-proxy, as kubernetes-csi/csi-driver-smb and the drivers of clouds do. It is built for
// Windows.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"

	disk "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	disk1 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1beta1"
	disk2 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1beta2"
	disk3 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1beta3"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1"
	filesystem2 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v2alpha1"
	iscsi "github.com/kubernetes-csi/csi-proxy/client/groups/iscsi/v1alpha2"
	smb "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1"
	system "github.com/kubernetes-csi/csi-proxy/client/groups/system/v1alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1"
	volume1 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1beta1"
	volume3 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1beta3"
	volume2 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v2alpha1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/protoadapt"

	"mullion.dev/mullion/test/csi/csinode"
)

// patience is how long a call may take: csi-proxy runs up to four scripts in one.
const patience = 2 * time.Minute

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 4 && args[0] == "call":
		return call(args[1], args[2], args[3])
	case len(args) == 2 && args[0] == "serve":
		d := csinode.Driver{Identity: csinode.Identity{Name: driverName}, Registry: driverName}
		return d.Serve(&driver{node: args[1]})
	case len(args) == 2 && args[0] == "serve-disks":
		d := csinode.Driver{Identity: csinode.Identity{Name: diskDriverName}, Registry: diskDriverName}
		return d.Serve(&diskDriver{driver{node: args[1]}})
	}
	return errors.New("usage: csiproxy call GROUP METHOD REQUEST-IN-JSON | csiproxy serve|serve-disks NODE")
}

// closer is a client of one of the groups.
type closer interface{ Close() error }

// clients opens the client of each group.
func clients() map[string]func() (closer, error) {
	return map[string]func() (closer, error){
		"disk":       func() (closer, error) { return disk.NewClient() },
		"filesystem": func() (closer, error) { return filesystem.NewClient() },
		"iscsi":      func() (closer, error) { return iscsi.NewClient() },
		"smb":        func() (closer, error) { return smb.NewClient() },
		"system":     func() (closer, error) { return system.NewClient() },
		"volume":     func() (closer, error) { return volume.NewClient() },
		// older versions, of which csi-proxy.exe serves each
		"disk-v1beta1":   func() (closer, error) { return disk1.NewClient() },
		"disk-v1beta2":   func() (closer, error) { return disk2.NewClient() },
		"disk-v1beta3":   func() (closer, error) { return disk3.NewClient() },
		"volume-v1beta1": func() (closer, error) { return volume1.NewClient() },
		"volume-v1beta3": func() (closer, error) { return volume3.NewClient() },
		// what v1 has not
		"filesystem-v2alpha1": func() (closer, error) { return filesystem2.NewClient() },
		"volume-v2alpha1":     func() (closer, error) { return volume2.NewClient() },
	}
}

// call calls a method of a group, and prints the response as JSON.
func call(group, method, request string) error {
	open, known := clients()[group]
	if !known {
		return fmt.Errorf("no group %q", group)
	}
	client, err := open()
	if err != nil {
		return fmt.Errorf("open the group %s: %w", group, err)
	}
	defer client.Close()

	m := reflect.ValueOf(client).MethodByName(method)
	if !m.IsValid() || m.Type().NumIn() != 3 {
		return fmt.Errorf("no method %s of the group %s", method, group)
	}
	in, is := reflect.New(m.Type().In(1).Elem()).Interface().(protoadapt.MessageV1)
	if !is {
		return fmt.Errorf("the request of %s is no message", method)
	}

	if err := protojson.Unmarshal([]byte(request), protoadapt.MessageV2Of(in)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out := m.Call([]reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(in)})
	if failed, is := out[1].Interface().(error); is {
		return fmt.Errorf("%s: %s", method, status.Convert(failed).Message())
	}

	response, is := out[0].Interface().(protoadapt.MessageV1)
	if !is {
		return fmt.Errorf("the response of %s is no message", method)
	}
	fmt.Println(protojson.MarshalOptions{EmitUnpopulated: true}.Format(protoadapt.MessageV2Of(response)))
	return nil
}
